import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Writer } from '../../src/files/writer.ts';
import { testLog } from '../fakes/test-log.ts';
import { virtualClock } from '../fakes/virtual-clock.ts';

const start = Date.parse('2026-11-21T12:00:00Z');
const never = new AbortController().signal;
const mebibyte = 1024 * 1024;

/** A writer of two files that fail as they are told to. */
function testStorage() {
  const clock = virtualClock(start);
  const { log, lines } = testLog('debug');
  const codes: { mirror: string | null; inbox: string | null } = { mirror: null, inbox: null };
  const tries = { mirror: 0, inbox: 0 };
  const waits: number[] = [];
  const space = { size_bytes: 40 * mebibyte, free_bytes: 30 * mebibyte };
  const file = (name: 'mirror' | 'inbox') => ({
    path: `/nowhere/${name}/${name}.db`,
    touch: () => {
      tries[name] += 1;
      failWith(codes[name]);
    },
    waitForLocks: (ms: number) => void waits.push(ms),
  });
  const writer = new Writer({
    mirror: file('mirror'),
    inbox: file('inbox'),
    clock,
    log,
    spaceOf: () => ({ ...space }),
  });
  /** Lets so much time pass, one timer after another. */
  async function pass(ms: number): Promise<void> {
    let isOver = false;
    void clock.sleep(ms).then(() => {
      isOver = true;
    });
    while (!isOver) {
      await settled();
      clock.next();
      await settled();
    }
  }
  return { clock, writer, codes, tries, waits, space, lines, pass };
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 5; turns += 1) await setImmediate();
}

function failWith(code: string | null): void {
  if (code !== null) throw Object.assign(new Error(code), { code });
}

/** Work that counts how often it was begun, and fails as long as the mirror does. */
function counted(codes: { mirror: string | null }) {
  const work = { begun: 0, ended: 0 };
  return {
    work,
    run: async () => {
      work.begun += 1;
      failWith(codes.mirror);
      work.ended += 1;
    },
  };
}

describe('work that meets another writer', () => {
  it('is begun again when the lock is let go of, and not before', async () => {
    const { writer, codes, pass } = testStorage();
    writer.serve();
    codes.mirror = 'SQLITE_BUSY';
    const { work, run } = counted(codes);
    const done = writer.until(never, run);
    await pass(300_000);
    expect(work).toEqual({ begun: 1, ended: 0 });
    expect(writer.status().trouble).toMatchObject({ kind: 'locked', file: 'mirror', since: start });
    codes.mirror = null;
    await pass(300);
    await done;
    expect(work).toEqual({ begun: 2, ended: 1 });
    await pass(1000);
    expect(writer.status().trouble).toBeNull();
  });

  it('is logged once it lasts, and in the status until the lock is let go of; a short one is not logged', async () => {
    const { writer, codes, lines, pass } = testStorage();
    writer.serve();
    codes.inbox = 'SQLITE_BUSY';
    writer.soon('x', () => failWith(codes.inbox));
    await pass(500);
    expect(lines().filter(({ level }) => level !== 'debug')).toEqual([]);
    await pass(58_000);
    expect(lines().filter(({ level }) => level === 'error')).toMatchObject([
      { file: 'inbox', trouble: 'locked', msg: 'another program holds the write lock: waiting for it' },
    ]);
    await pass(2000);
    expect(writer.status().trouble).toMatchObject({ kind: 'locked', since: start });
    codes.inbox = null;
    await pass(2000);
    expect(writer.status().trouble).toBeNull();
    expect(lines().at(-1)).toMatchObject({ level: 'info', msg: 'files are written again' });
  });

  it('never waits inside a statement once it serves; before, what fails is thrown', async () => {
    const { writer, waits } = testStorage();
    const busy = async () => failWith('SQLITE_BUSY');
    await expect(writer.until(never, busy)).rejects.toThrow('SQLITE_BUSY');
    expect(() => writer.soon('x', () => failWith('SQLITE_FULL'))).toThrow('SQLITE_FULL');
    writer.serve();
    expect(waits).toEqual([0, 0]);
  });

  it('is refused for a person after two seconds, with 75', async () => {
    const { writer, codes, pass } = testStorage();
    writer.serve();
    codes.mirror = 'SQLITE_BUSY';
    const refused = expect(writer.by(() => failWith(codes.mirror))).rejects.toMatchObject({
      code: 'locked',
      exitCode: 75,
    });
    await pass(2100);
    await refused;
    const taken = writer.by(() => {
      failWith(codes.mirror);
      return 'taken';
    });
    await pass(500);
    codes.mirror = null;
    await pass(100);
    expect(await taken).toBe('taken');
  });
});

describe('work that meets a full disk', () => {
  it('is tried less and less often, and at once when there is room', async () => {
    const { writer, codes, tries, space, pass } = testStorage();
    writer.serve();
    codes.mirror = 'SQLITE_FULL';
    space.free_bytes = 0;
    const { work, run } = counted(codes);
    void writer.until(never, run);
    await pass(3_600_000);
    // 1, 2, 4, 8, 16 and then every 30 seconds.
    expect(tries.mirror).toBeGreaterThan(115);
    expect(tries.mirror).toBeLessThan(130);
    expect(work.begun).toBe(1);
    expect(writer.status().trouble).toMatchObject({ kind: 'disk-full', missing_bytes: 2 * mebibyte });
    space.free_bytes = 20 * mebibyte;
    codes.mirror = null;
    await pass(1100);
    expect(work).toEqual({ begun: 2, ended: 1 });
    await pass(10_000);
    expect(writer.status().trouble).toBeNull();
  });

  it('which takes a tiny write and not the work, is not hammered, and lasts since its beginning', async () => {
    const { writer, tries, space, pass } = testStorage();
    writer.serve();
    space.free_bytes = 0;
    let begun = 0;
    const work = writer.until(never, async () => {
      begun += 1;
      if (space.free_bytes === 0) failWith('SQLITE_FULL');
    });
    await pass(600_000);
    expect(begun).toBeLessThan(30);
    expect(tries.mirror).toBeGreaterThan(0);
    expect(writer.status()).toMatchObject({
      trouble: { kind: 'disk-full', since: start },
      low_since: expect.any(Number),
    });
    space.free_bytes = 30 * mebibyte;
    await pass(1100);
    await work;
  });

  it('is refused for a person at once, with 74', async () => {
    const { writer } = testStorage();
    writer.serve();
    await expect(writer.by(() => failWith('SQLITE_FULL'))).rejects.toMatchObject({
      code: 'disk-full',
      exitCode: 74,
    });
  });

  it('is written soon: all of it, and of what has one name, the last', async () => {
    const { writer, codes, pass } = testStorage();
    writer.serve();
    const written: number[] = [];
    const write = (value: number) => () => {
      failWith(codes.mirror);
      written.push(value);
    };
    codes.mirror = 'SQLITE_FULL';
    writer.soon('budget', write(1));
    writer.soon('budget', write(2));
    writer.soon('clock', write(3));
    await pass(10_000);
    codes.mirror = null;
    await pass(31_000);
    expect(written).toEqual([2, 3]);
  });
});

describe('space', () => {
  it('is low below a twentieth of a small disk, and enough again only with a quarter more', async () => {
    const { writer, space, pass } = testStorage();
    const look = async (free: number): Promise<boolean> => {
      space.free_bytes = free * mebibyte;
      await pass(31_000);
      writer.look();
      return writer.isLow;
    };
    expect(await look(2.1)).toBe(false);
    expect(await look(1.9)).toBe(true);
    expect(writer.status().low_since).not.toBeNull();
    expect(await look(2.4)).toBe(true);
    expect(await look(2.6)).toBe(false);
    expect(writer.status().low_since).toBeNull();
  });
});

it('a failed fsync is not waited for: the writer is broken', async () => {
  const { writer, codes, pass } = testStorage();
  writer.serve();
  codes.mirror = 'SQLITE_IOERR_FSYNC';
  const { run } = counted(codes);
  await expect(writer.until(never, run)).rejects.toThrow('SQLITE_IOERR_FSYNC');
  // Also where only a probe meets it.
  writer.soon('x', () => failWith('SQLITE_BUSY'));
  await pass(10);
  await expect(writer.broken).rejects.toThrow('SQLITE_IOERR_FSYNC');
});

it('closing gives up what waits, and writes what it can', async () => {
  const { writer, codes, waits, pass } = testStorage();
  writer.serve();
  codes.mirror = 'SQLITE_BUSY';
  const written: string[] = [];
  writer.soon('budget', () => {
    failWith(codes.mirror);
    written.push('budget');
  });
  const { run, work } = counted(codes);
  const waiting = writer.until(never, run);
  await pass(100);
  codes.mirror = null;
  await close(writer);
  expect(await waiting).toBeNull();
  expect({ work, written }).toEqual({ work: { begun: 0, ended: 0 }, written: ['budget'] });
  expect(waits.slice(-2)).toEqual([1000, 1000]);
});

function close(writer: Writer): Promise<void> {
  return Promise.resolve(writer[Symbol.asyncDispose]());
}
