import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { tryBackup } from '../../../src/files/backup/drill.ts';
import { keepBackups } from '../../../src/files/backup/keep.ts';
import { sha256Of } from '../../../src/files/backup/manifest.ts';
import { backupsIn, manifestOf, mirrorCopy } from '../../../src/files/backups.ts';
import { notFailing } from '../../../src/files/failing.rules.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { createLog } from '../../../src/kernel/log.ts';
import { Attempts } from '../../../src/says/status/outcomes.store.ts';
import type { FilledUp, Moment, Way } from './full-disk.ts';

/* Runs where the directory of the backups is a small file system. Prints a `FilledUp`. */
const [mirror = '', directory = '', way, moment] = process.argv.slice(2) as [string, string, Way, Moment];
const filler = join(directory, '.filler');
const { signal } = new AbortController();
const backups = keepBackups(
  {
    mirror: { path: mirror, filledAt: () => 1 },
    inbox: { path: join(directory, '..', 'inbox.db') },
    clock: systemClock,
    log: createLog('silent', process.stderr),
    attempts: new Attempts(notFailing, () => undefined),
    drills: new Attempts(notFailing, () => undefined),
  },
  { directory, at: null, zone: 'UTC', keep: 7 },
);

/** Takes what room there is. */
function fill(): void {
  const file = openSync(filler, 'w');
  const piece = Buffer.alloc(4096);
  try {
    for (;;) writeSync(file, piece);
  } catch {
    closeSync(file);
  }
}

/** Holds the process that makes the copy at its moment, as if another program had been quicker. False: it has ended before. */
async function fillAt(working: { ended: boolean }): Promise<boolean> {
  const size = statSync(mirror).size;
  while (!working.ended) {
    const name = readdirSync(directory).find((each) => /^\.backup\.\d+\.tmp$/.test(each));
    if (name !== undefined && isReached(join(directory, name), size)) {
      const pid = Number(name.split('.')[2]);
      process.kill(pid, 'SIGSTOP');
      fill();
      process.kill(pid, 'SIGCONT');
      return true;
    }
    await setImmediate();
  }
  return false;
}

function isReached(unfinished: string, size: number): boolean {
  const written = statSync(join(unfinished, '.mirror.tmp'), { throwIfNoEntry: false })?.size ?? 0;
  const copied = existsSync(mirrorCopy(unfinished));
  return copied || (moment === 'half' && written > size / 2);
}

async function makeWhileFilled(): Promise<void> {
  for (;;) {
    const working = { ended: false };
    const filled = fillAt(working);
    await backups.make(signal);
    working.ended = true;
    if ((await filled) && backups.failing().failure !== null) return;
    // It was whole before the disk was full.
    rmSync(filler, { force: true });
    rmSync(backupsIn(directory).at(-1) ?? '', { recursive: true });
  }
}

/** A backup that has its name from the beginning. */
async function makeStraight(first: string): Promise<void> {
  const half = join(directory, '2099-01-01T000000Z');
  mkdirSync(half);
  cpSync(manifestOf(first), manifestOf(half));
  fill();
  try {
    cpSync(mirrorCopy(first), mirrorCopy(half));
  } catch {
    // It is half there.
  }
}

await backups.make(signal);
const [first = ''] = backupsIn(directory);
const before = sha256Of(mirror);
if (way === 'straight') await makeStraight(first);
else if (way === 'honest') await makeWhileFilled();
else {
  fill();
  await backups.drillDue(signal);
}
const found = {
  failure: way === 'drill' ? backups.drillFailure() : backups.failing().failure,
  since: backups.failing().failing_since,
  left: readdirSync(directory)
    .map((name) => join(directory, name))
    .filter((path) => path !== filler)
    .map((path) => (path === first ? 'first' : 'half'))
    .sort(),
};
rmSync(filler);
const said = join(directory, 'drill.json');
const drill = existsSync(said) ? (JSON.parse(readFileSync(said, 'utf8')) as { failure: string | null }).failure : null;
const last = tryBackup({ backup: first, now: systemClock.now() }).failure;
await backups.make(signal);
const again = { ...backups.failing(), copies: backupsIn(directory).length };
const result: FilledUp = {
  ...found,
  last,
  drill,
  mirror: sha256Of(mirror) === before ? 'as it was' : 'changed',
  again,
};
process.stdout.write(JSON.stringify(result));
