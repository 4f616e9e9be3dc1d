import { spawn } from 'node:child_process';
import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openMirroring } from '../../src/daemon/mirroring.ts';
import { judgeFeed } from '../../src/feed/feed.rules.ts';
import { repairFiles } from '../../src/files/repair.ts';
import { instant } from '../../src/kernel/clock.ts';
import { openMirror } from '../../src/mirror/mirror.ts';
import { openReader } from '../fakes/reader.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory, testMirrorOptions } from '../fakes/test-mirror.ts';

const child = fileURLToPath(new URL('../faults/feed-child.ts', import.meta.url));
const by = { sent_at: instant(1000), reason: 'requested' } as const;
const change = { product_id: 1, kind: 'sale_enabled', detail: {} } as const;
const configIn = (directory: string) => testConfig(directory, 'http://127.0.0.1:1').config;

/** A start that adds so many changes and stops in order: the feed, and the numbers that a reader has seen in it. */
async function run(directory: string, count: number): Promise<{ feed: string; numbers: number[] }> {
  await using mirroring = await openMirroring(testMachine(), testConfig(directory, 'http://127.0.0.1:1'));
  const { mirror } = mirroring;
  const numbers = Array.from({ length: count }, () => {
    mirror.transaction(() => mirror.changes.add(change, by));
    return mirror.changes.newest();
  });
  using reader = openReader(mirror.path);
  return { feed: reader.info().feed_id ?? '', numbers };
}

/** The same by a process that is killed: the last number that it has printed. */
async function killed(directory: string, count: number): Promise<number> {
  const running = spawn(process.execPath, [child, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  let last = 0;
  let seen = 0;
  let rest = '';
  for await (const chunk of running.stdout as AsyncIterable<Buffer>) {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (/^\d+$/.test(line)) [last, seen] = [Number(line), seen + 1];
    if (seen >= count) running.kill('SIGKILL');
  }
  return last;
}

it('a mirror is refused beside another inbox than its own, and keeps its pair', () => {
  using directory = temporaryDirectory();
  const options = testMirrorOptions(directory.path);
  openMirror(options)[Symbol.dispose]();
  expect(() => openMirror({ ...options, pair_id: 'another' })).toThrow(expect.objectContaining({ exitCode: 78 }));
  openMirror(options)[Symbol.dispose]();
});

describe('whether a feed goes on', () => {
  const known = { identified: true, paired: true, same_file: true, newest: 500, witnessed: 400, ceiling: 10_400 };
  it.each<[string, Partial<typeof known>, ReturnType<typeof judgeFeed>]>([
    ['after a kill, which may have been before anything was noted', {}, { feed: 'goes-on' }],
    [
      'not in a file that was just made',
      { identified: false, paired: false, newest: 0 },
      { feed: 'new', reason: 'first-fill', above: 10_400 },
    ],
    ['not in one that is paired again', { paired: false }, { feed: 'new', reason: 'paired-again', above: 10_400 }],
    [
      'not in one that is paired again beside a new inbox, where numbers go on',
      { paired: false, ceiling: 500 },
      { feed: 'new', reason: 'paired-again', above: null },
    ],
    [
      'not in a copy that lacks what was given out',
      { newest: 399 },
      { feed: 'new', reason: 'older-copy', above: 10_400 },
    ],
    [
      'not in another file, which may be such a copy',
      { same_file: false },
      { feed: 'new', reason: 'older-copy', above: 10_400 },
    ],
    [
      'with a name at last, in a file that has none',
      { identified: false },
      { feed: 'new', reason: 'first-fill', above: null },
    ],
  ])('%s', (_, facts, decision) => {
    expect(judgeFeed({ ...known, ...facts })).toEqual(decision);
  });
});

describe('the change feed', () => {
  it('begins anew in a copy that stands in the place of the file, though the copy lacks nothing', async () => {
    using directory = temporaryDirectory();
    const first = await run(directory.path, 3);
    const mirror = join(directory.path, 'mirror', 'mirror.db');
    cpSync(mirror, `${mirror}.copy`);
    renameSync(`${mirror}.copy`, mirror);
    expect((await run(directory.path, 1)).feed).not.toBe(first.feed);
  });

  it('goes on without a gap and under the same id, however often the process is killed', async () => {
    using directory = temporaryDirectory();
    const first = await run(directory.path, 3);
    for (let times = 0; times < 3; times += 1) {
      const seen = await killed(directory.path, 20);
      const next = await run(directory.path, 1);
      expect(next.feed).toBe(first.feed);
      expect(next.numbers[0]).toBeGreaterThan(seen);
    }
    using reader = openReader(configIn(directory.path).mirror.path);
    const { changes } = reader.changes(0, { limit: 10_000, feed: first.feed });
    expect(changes.map(({ seq }) => seq)).toEqual(changes.map((_, index) => index + 1));
  });

  it('goes on above every number that was given out where the mirror is lost, and under another id', async () => {
    using directory = temporaryDirectory();
    const config = configIn(directory.path);
    const first = await run(directory.path, 40);
    rmSync(dirname(config.mirror.path), { recursive: true });
    repairFiles(config, { now: instant(0), dry: false });
    const second = await run(directory.path, 2);
    expect(second.feed).not.toBe(first.feed);
    expect(second.numbers[0]).toBeGreaterThan(40);
    using reader = openReader(config.mirror.path);
    // A reader that does not know of feeds is told by its number.
    expect(() => reader.changes(40)).toThrow(expect.objectContaining({ code: 'cursor-too-old' }));
    expect(() => reader.changes(40, { feed: first.feed })).toThrow(
      expect.objectContaining({ code: 'feed-changed', feed: second.feed, next: second.numbers[1] }),
    );
    expect(reader.changes((second.numbers[0] ?? 0) - 1, { feed: second.feed }).changes).toHaveLength(2);
  });

  it('goes on without a gap where the inbox is lost, under another id', async () => {
    using directory = temporaryDirectory();
    const config = configIn(directory.path);
    const first = await run(directory.path, 40);
    rmSync(dirname(config.mirror.inbox_path), { recursive: true });
    repairFiles(config, { now: instant(0), dry: false });
    const second = await run(directory.path, 2);
    expect(second).toEqual({ feed: expect.not.stringMatching(first.feed), numbers: [41, 42] });
    using reader = openReader(config.mirror.path);
    expect(reader.changes(39).changes.map(({ seq }) => seq)).toEqual([40, 41, 42]);
  });

  it('has another id where both are lost', async () => {
    using directory = temporaryDirectory();
    const config = configIn(directory.path);
    const first = await run(directory.path, 5);
    for (const name of readdirSync(directory.path)) rmSync(join(directory.path, name), { recursive: true });
    const second = await run(directory.path, 5);
    expect(second.numbers).toEqual(first.numbers);
    expect(second.feed).not.toBe(first.feed);
    using reader = openReader(config.mirror.path);
    expect(() => reader.changes(3, { feed: first.feed })).toThrow(expect.objectContaining({ code: 'feed-changed' }));
  });

  it('knows an older copy of the mirror that somebody has put back, also in the place of the same file', async () => {
    using directory = temporaryDirectory();
    using aside = temporaryDirectory();
    const { path } = configIn(directory.path).mirror;
    const first = await run(directory.path, 10);
    cpSync(path, join(aside.path, 'copy.db'));
    const second = await run(directory.path, 10);
    expect(second.feed).toBe(first.feed);
    cpSync(join(aside.path, 'copy.db'), path);
    const third = await run(directory.path, 1);
    expect(third.feed).not.toBe(first.feed);
    expect(third.numbers[0]).toBeGreaterThan(20);
  });

  it('uses numbers twice where nothing outlives the mirror (control)', () => {
    using directory = temporaryDirectory();
    const options = testMirrorOptions(directory.path);
    const last = () => {
      using mirror = openMirror(options);
      mirror.transaction(() => mirror.changes.add(change, by));
      return mirror.changes.newest();
    };
    const before = last();
    rmSync(dirname(options.path), { recursive: true });
    expect(last()).toBe(before);
  });
});
