import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { faketimeLibrary } from '../../faults/faketime.ts';
import { asNamed, configure, run, start } from '../program.ts';
import type { Finding, RoughCase, Subject } from '../rough-case.ts';

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
    const one = (sql: string) => Number(db.prepare(asNamed(db, sql)).pluck().get());
    return {
      images: one('SELECT count(*) FROM images'),
      bookable: one('SELECT count(*) FROM bookable_days'),
      next_read: Math.round((one('SELECT max(due_at) FROM _record') - Date.now()) / day),
    };
  } finally {
    db.close();
  }
}

async function until<Value>(ms: number, ask: () => Value | null | Promise<Value | null>): Promise<Value | null> {
  for (const end = performance.now() + ms; performance.now() < end; await delay(250)) {
    const answer = await ask();
    if (answer !== null) return answer;
  }
  return null;
}

const words = ({ images, bookable, next_read }: Seen) =>
  `${images} images, ${bookable} bookable days, last read in ${next_read} days`;

/** A daemon whose wall clock is wrong for 15 seconds, or (as control) from then on, while the world's is right. */
export async function wrongClock(subject: Subject, course: 'set right' | 'left wrong'): Promise<Finding> {
  const library = faketimeLibrary();
  if (library === null) throw new Error('faketime is not installed');
  const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 5 }));
  const config = configure(subject, sandbox.url, { budget: { requests_per_second: 50, concurrency: 4 } });
  const offset = join(subject.directory, 'offset');
  writeFileSync(offset, '+0\n');
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  const daemon = start(subject, ['--config', config, 'run'], { env });
  await daemon.said(/daemon (started|runs)|listening|ready/i);
  const mirror = join(subject.directory, 'mirror', 'mirror.db');
  const status = async () =>
    JSON.parse((await run(subject, ['--config', config, 'status', '--json'])).stdout || '{}') as {
      filled_at?: number | null;
      alarms?: { kind: string }[];
    };
  if ((await until(60_000, async () => ((await status()).filled_at ? true : null))) === null)
    throw new Error('it is never filled');
  const before = look(mirror);
  // Between two minutes, so that no minute's chores see it.
  await until(60_000, () => (new Date().getSeconds() % 60 === 5 ? true : null));
  writeFileSync(offset, '+4100d\n');
  const began = performance.now();
  const raised = async () => (await status()).alarms?.some(({ kind }) => kind === 'clock-doubted') || null;
  const alarm = (await until(12_000, raised)) !== null;
  await delay(Math.max(0, began + 15_000 - performance.now()));
  if (course === 'set right') writeFileSync(offset, '+0\n');
  const ended = performance.now();
  const healthy = (seen: Seen) =>
    seen.images === before.images && seen.bookable >= before.bookable && seen.next_read < 100;
  const after = await until(70_000, () => (healthy(look(mirror)) ? look(mirror) : null));
  const seconds = Math.round((performance.now() - ended) / 1000);
  const calm = await until(10_000, async () => ((await status()).alarms?.length === 0 ? true : null));
  const green = after !== null && alarm && calm !== null;
  return {
    green,
    said: `before ${words(before)}; ${seconds} s after ${words(after ?? look(mirror))}; alarm meanwhile ${alarm ? 'on' : 'off'}, then ${calm === null ? 'on' : 'off'}`,
  };
}

export const cases: readonly RoughCase[] = [
  {
    point: '3',
    claim: 'a clock that was 4,100 days ahead for 15 seconds is repaired without a restart',
    run: (subject) => wrongClock(subject, 'set right'),
  },
];
