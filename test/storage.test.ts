import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createStorage, type Storage } from '../src/files/storage.ts';
import { virtualClock } from '../src/sandbox/virtual-clock.ts';
import { testLog } from './fakes/test-log.ts';

const start = Date.parse('2026-11-21T12:00:00Z');
const never = new AbortController().signal;
const mebibyte = 1024 * 1024;

/** Storage over two files that fail as they are told to. */
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
  const storage = createStorage({
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
  return { clock, storage, codes, tries, waits, space, lines, pass };
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
    const { storage, codes, pass } = testStorage();
    storage.serve();
    codes.mirror = 'SQLITE_BUSY';
    const { work, run } = counted(codes);
    const done = storage.keepTrying(run, never);
    await pass(300_000);
    expect(work).toEqual({ begun: 1, ended: 0 });
    expect(storage.status().trouble).toMatchObject({ kind: 'locked', file: 'mirror', since: start });
    codes.mirror = null;
    await pass(300);
    await done;
    expect(work).toEqual({ begun: 2, ended: 1 });
    await pass(1000);
    expect(storage.status().trouble).toBeNull();
  });

  it('is logged once it lasts, and in the status until the lock is let go of; a short one is not logged', async () => {
    const { storage, codes, lines, pass } = testStorage();
    storage.serve();
    codes.inbox = 'SQLITE_BUSY';
    storage.soon('x', () => failWith(codes.inbox));
    await pass(500);
    expect(lines().filter(({ level }) => level !== 'debug')).toEqual([]);
    await pass(58_000);
    expect(lines().filter(({ level }) => level === 'error')).toMatchObject([
      { file: 'inbox', trouble: 'locked', msg: 'another program holds the write lock: waiting for it' },
    ]);
    await pass(2000);
    expect(storage.status().trouble).toMatchObject({ kind: 'locked', since: start });
    codes.inbox = null;
    await pass(2000);
    expect(storage.status().trouble).toBeNull();
    expect(lines().at(-1)).toMatchObject({ level: 'info', msg: 'files are written again' });
  });

  it('never waits inside a statement once it serves; before, what fails is thrown', async () => {
    const { storage, waits } = testStorage();
    const busy = async () => failWith('SQLITE_BUSY');
    await expect(storage.keepTrying(busy, never)).rejects.toThrow('SQLITE_BUSY');
    expect(() => storage.soon('x', () => failWith('SQLITE_FULL'))).toThrow('SQLITE_FULL');
    storage.serve();
    expect(waits).toEqual([0, 0]);
  });

  it('is refused for a person after two seconds, with 75', async () => {
    const { storage, codes, pass } = testStorage();
    storage.serve();
    codes.mirror = 'SQLITE_BUSY';
    const refused = expect(storage.promptly(() => failWith(codes.mirror))).rejects.toMatchObject({
      code: 'locked',
      exitCode: 75,
    });
    await pass(2100);
    await refused;
    const taken = storage.promptly(() => {
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
    const { storage, codes, tries, space, pass } = testStorage();
    storage.serve();
    codes.mirror = 'SQLITE_FULL';
    space.free_bytes = 0;
    const { work, run } = counted(codes);
    void storage.keepTrying(run, never);
    await pass(3_600_000);
    // 1, 2, 4, 8, 16 and then every 30 seconds.
    expect(tries.mirror).toBeGreaterThan(115);
    expect(tries.mirror).toBeLessThan(130);
    expect(work.begun).toBe(1);
    expect(storage.status().trouble).toMatchObject({ kind: 'disk-full', missing_bytes: 2 * mebibyte });
    space.free_bytes = 20 * mebibyte;
    codes.mirror = null;
    await pass(1100);
    expect(work).toEqual({ begun: 2, ended: 1 });
    await pass(10_000);
    expect(storage.status().trouble).toBeNull();
  });

  it('which takes a tiny write and not the work, is not hammered, and lasts since its beginning', async () => {
    const { storage, tries, space, pass } = testStorage();
    storage.serve();
    space.free_bytes = 0;
    let begun = 0;
    const work = storage.keepTrying(async () => {
      begun += 1;
      if (space.free_bytes === 0) failWith('SQLITE_FULL');
    }, never);
    await pass(600_000);
    expect(begun).toBeLessThan(30);
    expect(tries.mirror).toBeGreaterThan(0);
    expect(storage.status()).toMatchObject({
      trouble: { kind: 'disk-full', since: start },
      low_since: expect.any(Number),
    });
    space.free_bytes = 30 * mebibyte;
    await pass(1100);
    await work;
  });

  it('is refused for a person at once, with 74', async () => {
    const { storage } = testStorage();
    storage.serve();
    await expect(storage.promptly(() => failWith('SQLITE_FULL'))).rejects.toMatchObject({
      code: 'disk-full',
      exitCode: 74,
    });
  });

  it('is written soon: all of it, and of what has one name, the last', async () => {
    const { storage, codes, pass } = testStorage();
    storage.serve();
    const written: number[] = [];
    const write = (value: number) => () => {
      failWith(codes.mirror);
      written.push(value);
    };
    codes.mirror = 'SQLITE_FULL';
    storage.soon('budget', write(1));
    storage.soon('budget', write(2));
    storage.soon('clock', write(3));
    await pass(10_000);
    codes.mirror = null;
    await pass(31_000);
    expect(written).toEqual([2, 3]);
  });
});

describe('space', () => {
  it('is low below a twentieth of a small disk, and enough again only with a quarter more', async () => {
    const { storage, space, pass } = testStorage();
    const look = async (free: number): Promise<boolean> => {
      space.free_bytes = free * mebibyte;
      await pass(31_000);
      storage.look();
      return storage.isLow;
    };
    expect(await look(2.1)).toBe(false);
    expect(await look(1.9)).toBe(true);
    expect(storage.status().low_since).not.toBeNull();
    expect(await look(2.4)).toBe(true);
    expect(await look(2.6)).toBe(false);
    expect(storage.status().low_since).toBeNull();
  });
});

it('a failed fsync is not waited for: the storage is broken', async () => {
  const { storage, codes, pass } = testStorage();
  storage.serve();
  codes.mirror = 'SQLITE_IOERR_FSYNC';
  const { run } = counted(codes);
  await expect(storage.keepTrying(run, never)).rejects.toThrow('SQLITE_IOERR_FSYNC');
  // Also where only a probe meets it.
  storage.soon('x', () => failWith('SQLITE_BUSY'));
  await pass(10);
  await expect(storage.broken).rejects.toThrow('SQLITE_IOERR_FSYNC');
});

it('closing gives up what waits, and writes what it can', async () => {
  const { storage, codes, waits, pass } = testStorage();
  storage.serve();
  codes.mirror = 'SQLITE_BUSY';
  const written: string[] = [];
  storage.soon('budget', () => {
    failWith(codes.mirror);
    written.push('budget');
  });
  const { run, work } = counted(codes);
  const waiting = storage.keepTrying(run, never);
  await pass(100);
  codes.mirror = null;
  await close(storage);
  expect(await waiting).toBeNull();
  expect({ work, written }).toEqual({ work: { begun: 0, ended: 0 }, written: ['budget'] });
  expect(waits.slice(-2)).toEqual([1000, 1000]);
});

function close(storage: Storage): Promise<void> {
  return Promise.resolve(storage[Symbol.asyncDispose]());
}
