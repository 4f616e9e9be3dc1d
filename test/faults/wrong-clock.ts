import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { runCli, startCli } from '../fakes/run-cli.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { until } from './daemon-disk.ts';
import { faketimeLibrary } from './faketime.ts';
import type { Outcome } from './run.ts';

const day = 86_400_000;

interface Seen {
  readonly images: number;
  readonly bookable: number;
  /** In days from now, the latest. */
  readonly next_read: number;
}

/** What a storefront on another host sees, whose clock is right. */
function look(path: string): Seen {
  const db = new Database(path, { readonly: true });
  try {
    const one = (sql: string) => Number(db.prepare(sql).pluck().get());
    return {
      images: one('SELECT count(*) FROM images'),
      bookable: one('SELECT count(*) FROM bookable_days'),
      next_read: Math.round((one('SELECT max(due_at) FROM _record') - Date.now()) / day),
    };
  } finally {
    db.close();
  }
}

const words = ({ images, bookable, next_read }: Seen) =>
  `${images} images, ${bookable} bookable days, last read in ${next_read} days`;

/** Runs a daemon whose wall clock is wrong for 15 seconds, or (as control) from then on, while the world's is right. */
export async function wrongClock(course: 'set right' | 'left wrong'): Promise<Outcome> {
  using directory = temporaryDirectory();
  const cwd = directory.path;
  await using sandbox = await startSandbox({ products: 5 });
  const [config, offset] = [join(cwd, 'catalogued.yaml'), join(cwd, 'offset')];
  const budget = { requests_per_second: 50, concurrency: 4 };
  writeFileSync(config, testConfigText(cwd, sandbox.url, { budget }), { mode: 0o600 });
  writeFileSync(offset, '+0\n');
  const env = {
    LD_PRELOAD: faketimeLibrary() ?? '',
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  await using daemon = startCli(['--config', config, 'run'], { cwd, env });
  await daemon.said('daemon started');
  const mirror = join(cwd, 'mirror', 'mirror.db');
  const status = async () =>
    JSON.parse((await runCli(['--config', config, 'status', '--json'], { cwd })).stdout) as {
      filled_at: number | null;
      outcomes: { operation: string; failed_at: number | null }[];
    };
  if (!(await until(async () => (await status()).filled_at !== null, 60_000))) throw new Error('it is never filled');
  const before = look(mirror);
  // Between two minutes, so that no minute's chores see it.
  await until(async () => new Date().getSeconds() === 5, 70_000);
  writeFileSync(offset, '+4100d\n');
  const isDoubted = (each: { operation: string; failed_at: number | null }) =>
    each.operation === 'clock' && each.failed_at !== null;
  const began = performance.now();
  const alarm = await until(async () => (await status()).outcomes.some(isDoubted), 12_000);
  await setTimeout(Math.max(0, began + 15_000 - performance.now()));
  if (course === 'set right') writeFileSync(offset, '+0\n');
  const ended = performance.now();
  let after = before;
  const healthy = await until(async () => {
    after = look(mirror);
    return after.images === before.images && after.bookable >= before.bookable && after.next_read < 100;
  }, 70_000);
  const seconds = Math.round((performance.now() - ended) / 1000);
  const calm = await until(async () => !(await status()).outcomes.some(isDoubted), 10_000);
  return {
    passed: healthy && alarm && calm,
    numbers: `before ${words(before)}; ${seconds} s after ${words(after)}; alarm meanwhile ${alarm ? 'on' : 'off'}, then ${calm ? 'off' : 'on'}`,
  };
}
