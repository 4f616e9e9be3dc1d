import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { thorough } from '../fakes/thorough.ts';

const path = join(import.meta.dirname, '../../node_modules/.cache/test-durations.json');

/** In the environment of a run: test files that begin before all others, separated by commas. */
export const firstFiles = 'CATALOGUED_TEST_FIRST';

/** The usual run and the strict one take different times. */
const suite = thorough ? 'strict' : 'usual';

/** Test files that take more than five seconds, for a checkout that remembers no run yet. */
export const slow: Readonly<Record<string, Readonly<Record<typeof suite, number>>>> = {
  'admin/openapi.test.ts': { usual: 14, strict: 14 },
  'admin/page-resync.test.ts': { usual: 9, strict: 4 },
  'backup/backup.test.ts': { usual: 4, strict: 10 },
  'backup/week.test.ts': { usual: 0, strict: 13 },
  'beliefs.test.ts': { usual: 18, strict: 34 },
  'commands/check.test.ts': { usual: 6, strict: 7 },
  'commands/daemon.test.ts': { usual: 27, strict: 52 },
  'commands/demo.test.ts': { usual: 1, strict: 14 },
  'commands/kill.test.ts': { usual: 6, strict: 21 },
  'commands/lost-files.test.ts': { usual: 10, strict: 8 },
  'commands/packaging.test.ts': { usual: 0, strict: 12 },
  'commands/probe.test.ts': { usual: 14, strict: 14 },
  'commands/resync.test.ts': { usual: 15, strict: 15 },
  'commands/short-list.test.ts': { usual: 5, strict: 5 },
  'commands/silent-daemon.test.ts': { usual: 0, strict: 17 },
  'commands/stopped.test.ts': { usual: 10, strict: 22 },
  'conditions/planted.test.ts': { usual: 0, strict: 14 },
  'copies.test.ts': { usual: 8, strict: 35 },
  'database/lease.test.ts': { usual: 0, strict: 15 },
  'database/states.test.ts': { usual: 0, strict: 10 },
  'deviations.test.ts': { usual: 7, strict: 10 },
  'doctor-reader.test.ts': { usual: 12, strict: 17 },
  'faults/kill-images.test.ts': { usual: 6, strict: 18 },
  'faults/kill.test.ts': { usual: 7, strict: 24 },
  'faults/quota.test.ts': { usual: 3, strict: 23 },
  'faults/rotation.test.ts': { usual: 4, strict: 57 },
  'follow/follow.test.ts': { usual: 5, strict: 5 },
  'inbox/storing.test.ts': { usual: 6, strict: 5 },
  'instances/failover.test.ts': { usual: 0, strict: 18 },
  'instances/partition.test.ts': { usual: 0, strict: 37 },
  'instances/takeover.test.ts': { usual: 0, strict: 45 },
  'instances/unwritable.test.ts': { usual: 0, strict: 91 },
  'jobs.test.ts': { usual: 6, strict: 142 },
  'mirror/passed-times.test.ts': { usual: 5, strict: 15 },
  'snapshot.test.ts': { usual: 6, strict: 7 },
  'storefront/daemon.test.ts': { usual: 5, strict: 6 },
  'storefront/exact.test.ts': { usual: 5, strict: 5 },
  'storefronts/readers-under-load.test.ts': { usual: 9, strict: 15 },
  'sync/absence.test.ts': { usual: 13, strict: 11 },
  'sync/apply.test.ts': { usual: 5, strict: 14 },
  'sync/check.test.ts': { usual: 7, strict: 13 },
  'sync/failed-reads.test.ts': { usual: 8, strict: 22 },
  'sync/fill-faults.test.ts': { usual: 0, strict: 17 },
  'sync/fill.test.ts': { usual: 5, strict: 19 },
  'sync/quirks.test.ts': { usual: 10, strict: 15 },
  'sync/image-files.test.ts': { usual: 12, strict: 20 },
  'sync/images-month.test.ts': { usual: 0, strict: 40 },
  'sync/images.test.ts': { usual: 4, strict: 28 },
  'sync/lists.test.ts': { usual: 4, strict: 16 },
  'sync/moved-dates.test.ts': { usual: 6, strict: 5 },
  'sync/notified.test.ts': { usual: 13, strict: 23 },
  'sync/offers.test.ts': { usual: 5, strict: 6 },
  'sync/one-seed.test.ts': { usual: 4, strict: 56 },
  'sync/other-dates.test.ts': { usual: 11, strict: 10 },
  'sync/quick-push.test.ts': { usual: 7, strict: 11 },
  'sync/rough-lists.test.ts': { usual: 4, strict: 11 },
  'sync/short-lists.test.ts': { usual: 6, strict: 9 },
  'sync/wrong-clock.test.ts': { usual: 9, strict: 41 },
  'worlds/seeds.test.ts': { usual: 0, strict: 51 },
};

/** Seconds of any other file there. */
const usual = 1;

type Remembered = Readonly<Record<string, Readonly<Record<string, number>>>>;

function remembered(): Remembered {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Remembered;
  } catch {
    return {};
  }
}

/** Returns how many seconds a test file, by its path below test/, took when it ran last; before that an estimate. */
export function durations(): (file: string) => number {
  const last = remembered()[suite] ?? {};
  return (file) => last[file] ?? slow[file]?.[suite] ?? usual;
}

/** Remembers seconds of test files, beside those of other files. */
export function remember(seconds: Readonly<Record<string, number>>): void {
  const before = remembered();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ ...before, [suite]: { ...before[suite], ...seconds } }));
}
