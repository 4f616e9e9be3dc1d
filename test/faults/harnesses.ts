import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { wrongClock } from '../rough/cases/03-wrong-clock.ts';
import { type Endured, endure, foreignLock, type Place, startLocked } from './daemon-disk.ts';
import { diskFaults } from './disk/faults.ts';
import type { Fault, Outcome } from './fault.ts';
import { flood } from './flood.ts';
import { fullDisk } from './full-disk.ts';
import { type Injected, inject } from './inject.ts';
import { killRounds } from './kill.ts';
import { powerLoss } from './power-loss.ts';
import { upgradeFaults } from './upgrade/faults.ts';

export interface HarnessOptions {
  readonly kills: number;
  readonly images: number;
  readonly seed: number;
  /** Every call and write is tried, none is passed over. */
  readonly all: boolean;
  /** Five minutes of a foreign lock. */
  readonly long: boolean;
}

/** Numbers from 1 to `last`, thinned out. */
const positions = (last: number, step = 1) =>
  Array.from({ length: Math.floor(last / step) }, (_, index) => 1 + index * step);

/** What needs processes, strace and namespaces of its own: a fault may have several, and those that must fail. */
export function harnesses({ kills, images, seed, all, long }: HarnessOptions): readonly Fault[] {
  const every = all ? 1 : 3;
  return [
    {
      id: 'D1',
      what: 'kill -9 while deliveries arrive',
      needs: [],
      run: async () => {
        const { acknowledged, lost, damage } = await killRounds(kills, 'honest', seed);
        return {
          passed: lost === 0 && damage === null && acknowledged > kills,
          numbers: `${kills} kills, ${acknowledged} acknowledged, ${lost} lost, integrity ${damage ?? 'ok'}`,
        };
      },
    },
    {
      id: 'D2',
      what: 'control: answers before it commits',
      needs: [],
      run: async () => {
        const { acknowledged, lost } = await killRounds(10, 'early', seed);
        return {
          passed: lost > 0,
          numbers: `10 kills, ${acknowledged} acknowledged, ${lost} lost: the harness sees it`,
        };
      },
    },
    {
      id: 'D3',
      what: 'power cut',
      needs: ['strace'],
      run: async () => {
        const { acknowledged, corrupt, lost } = await powerLoss(images, 'traced', seed);
        const numbers = `${images} images of ${acknowledged} acknowledged deliveries: ${corrupt} corrupt, ${lost} lost some`;
        return { passed: corrupt === 0 && lost === 0, numbers };
      },
    },
    {
      id: 'D3',
      what: 'control: synchronous=NORMAL',
      needs: ['strace'],
      run: async () => {
        const { corrupt, lost } = await powerLoss(500, 'traced-normal', seed);
        return {
          passed: lost > 0,
          numbers: `500 images: ${corrupt} corrupt, ${lost} lost some: the harness sees it`,
        };
      },
    },
    {
      id: 'D4',
      what: 'kill at the n-th write',
      needs: ['strace'],
      run: () =>
        sweep(
          positions(200, every),
          (n) => inject(`pwrite64:signal=KILL:when=${n}`),
          ({ ended }) => ended === 'SIGKILL',
        ),
    },
    {
      id: 'D5',
      what: 'EIO at the n-th write, once',
      needs: ['strace'],
      // While the file is made, a failed write is the end (74); later it is a 503, and the next delivery is stored.
      run: () =>
        sweep(
          positions(60, every),
          (n) => inject(`pwrite64:error=EIO:when=${n}`),
          ({ ended, refused, after }) => (ended === null ? refused > 0 && after > 0 : ended === 74),
        ),
    },
    {
      id: 'D5',
      what: 'EIO from the n-th write on',
      needs: ['strace'],
      run: () =>
        sweep(
          positions(60, every),
          (n) => inject(`pwrite64:error=EIO:when=${n}+`),
          ({ ended, refused, after }) => (ended === null ? refused > 0 && after === 0 : ended === 74),
        ),
    },
    {
      id: 'D6',
      what: 'EIO at the k-th fsync',
      needs: ['strace'],
      run: () =>
        sweep(
          positions(20),
          (k) => inject(`fsync:error=EIO:when=${k}`),
          // The first ones fall into the making of the file.
          ({ ended, acknowledged, refused, after }) =>
            ended === 74 && after === 0 && (refused > 0 || acknowledged === 0),
        ),
    },
    {
      id: 'D6',
      what: 'control: hides that it could not store',
      needs: ['strace'],
      run: async () => {
        const { acknowledged, lost } = await inject('pwrite64:error=EIO:when=60+', 'deaf');
        return { passed: lost > 0, numbers: `${acknowledged} acknowledged, ${lost} lost: the harness sees it` };
      },
    },
    ...diskFaults(all),
    {
      id: 'D7',
      what: 'disk full, then grown',
      needs: ['unshare', 'nsenter'],
      run: async () => {
        const { acknowledged, refused, recovered, lost, damage } = await fullDisk();
        return {
          passed: lost === 0 && damage === null && refused > 0 && acknowledged > 0 && recovered === 100,
          numbers: `${acknowledged} acknowledged, ${refused} answered 503, ${recovered} of 100 stored once it had grown, ${lost} lost, integrity ${damage ?? 'ok'}`,
        };
      },
    },
    ...upgradeFaults(all),
    {
      id: 'D24',
      what: 'flood: 400 kB bodies, 36 MB/s for a minute, of which 64 MiB may be stored',
      needs: [],
      run: async () => {
        using directory = temporaryDirectory();
        const config = { retention: { deliveries_bytes: '64MiB' } };
        const options = { cli: join(import.meta.dirname, '../../src/cli.ts'), directory: directory.path, config };
        const { acknowledged, refused, rate, file, peak, honest } = await flood({ ...options, ends: { seconds: 60 } });
        return {
          // Wanted are 256 MiB; 250 to 300 were measured, and this decides whether a change lands: what piles up takes gigabytes.
          passed: honest === 200 && acknowledged > 0 && file < 2 ** 27 && peak < 350,
          numbers: `${acknowledged} stored, ${refused} answered 503, ${rate.toFixed(0)} MB/s, ${Math.round(file / 2 ** 20)} MiB on the disk, ${peak} MiB of memory at most, an honest delivery got ${honest}`,
        };
      },
    },
    {
      id: 'D21',
      what: 'the disk of a running daemon is full in its first fill, then grown',
      needs: ['unshare', 'nsenter'],
      run: async () =>
        enduredWell(await endure({ products: 200, megabytes: 6, when: 'filling', ...grows(6), lasts_ms: 15_000 })),
    },
    {
      id: 'D21',
      what: 'somebody fills the disk of a running daemon, then frees it',
      needs: ['unshare', 'nsenter'],
      run: async () =>
        enduredWell(await endure({ products: 100, megabytes: 40, when: 'filled', ...filler, lasts_ms: 15_000 })),
    },
    ...[1000, 5000, ...(long ? [300_000] : [])].map((lasts_ms) => ({
      id: 'D22',
      what: `another program writes the mirror for ${lasts_ms / 1000} s`,
      needs: [],
      run: async () =>
        enduredWell(
          await endure({ products: 30, when: 'filled', ...foreignLock('mirror/mirror.db'), lasts_ms }),
          lasts_ms,
        ),
    })),
    {
      id: 'D22',
      what: 'another program writes the inbox for 5 s',
      needs: [],
      run: async () =>
        enduredWell(await endure({ products: 30, when: 'filled', ...foreignLock('state/inbox.db'), lasts_ms: 5000 })),
    },
    {
      id: 'D22',
      what: 'another program writes the mirror at the start',
      needs: [],
      run: async () => {
        const { code, said } = await startLocked();
        return { passed: code === 75 && said.includes('another program is writing'), numbers: `${code}: ${said}` };
      },
    },
    {
      id: 'D22',
      what: 'control: waits for the lock inside a statement',
      needs: [],
      run: async () => {
        const lock = foreignLock('mirror/mirror.db');
        const endured = await endure({ products: 30, child: 'blocking', when: 'filled', ...lock, lasts_ms: 5000 });
        const { loop_p99_ms } = endured;
        return {
          passed: loop_p99_ms > 20,
          numbers: `event loop p99 ${loop_p99_ms.toFixed(0)} ms: the harness sees it`,
        };
      },
    },
    {
      id: 'T2',
      what: 'wall clock 4,100 days ahead for 15 s',
      needs: ['faketime'],
      run: async () => {
        const { green, said } = await wallClock('set right');
        return { passed: green, numbers: said };
      },
    },
    {
      id: 'T2',
      what: 'control: it is never set right',
      needs: ['faketime'],
      run: async () => {
        const { green, said } = await wallClock('left wrong');
        return { passed: !green, numbers: `${said}: the harness sees it` };
      },
    },
  ];
}

/** A disk that is too small, until it grows. */
function grows(megabytes: number) {
  const remount = ({ path, inside }: Place) => inside('mount', '-o', `remount,size=${20 * megabytes}m`, path);
  return { begin: async () => undefined, end: async (place: Place) => remount(place) };
}

/** A file that takes all that is left. */
const filler = {
  begin: async ({ path, inside }: Place) => {
    inside('dd', 'if=/dev/zero', `of=${path}/filler`, 'bs=16k');
    // The daemon helps itself by cutting its log: that room goes too.
    for (let times = 0; times < 5; times += 1) {
      await setTimeout(1000);
      inside('dd', 'if=/dev/zero', `of=${path}/filler${times}`, 'bs=4k');
    }
  },
  end: async ({ path, inside }: Place) => inside('sh', '-c', `rm ${path}/filler*`),
};

function enduredWell(endured: Endured, lasts_ms = 0): Outcome {
  const { ended, said, alarms, ready, acknowledged, refused, lost, checks, decided, recovered } = endured;
  const named = said !== null || alarms.length > 0;
  // A second has too few looks for a percentile; a machine that is busy with others has a slow loop anyway.
  const brief = lasts_ms === 1000;
  const quick = endured.loop_p99_ms < Math.max(20, 1.5 * endured.calm_p99_ms);
  const told = lasts_ms < 70_000 || alarms.includes('file-locked');
  return {
    passed: ended === null && named && told && ready && lost === 0 && recovered && (brief || quick),
    numbers: `${ended === null ? 'goes on' : `ended with ${ended}`}, said ${said ?? 'nothing'} (alarms: ${alarms.join(', ') || 'none'}), ready ${ready}; ${acknowledged} deliveries stored, ${refused} answered 503, ${lost} lost; ${decided} of ${checks} checks decided; event loop p99 ${endured.loop_p99_ms.toFixed(1)} ms (${endured.calm_p99_ms.toFixed(1)} before), at most ${endured.loop_max_ms.toFixed(0)} ms; ${recovered ? 'recovered' : 'NOT recovered'}`,
  };
}

async function wallClock(course: 'set right' | 'left wrong') {
  const root = join(import.meta.dirname, '../..');
  // The program as it is built: a clock is faked for a whole process.
  if (!existsSync(join(root, 'dist/cli.js'))) spawnSync('npm', ['run', 'build'], { cwd: root });
  using directory = temporaryDirectory();
  await using stack = new AsyncDisposableStack();
  return await wrongClock({ root, directory: directory.path, stack }, course);
}

/** Runs a fault at each position, two at a time, and says at which ones it was not survived as it should be. */
async function sweep(
  at: readonly number[],
  run: (position: number) => Promise<Injected>,
  expected: (injected: Injected) => boolean,
): Promise<Outcome> {
  const results = new Map<number, Injected>();
  const left = [...at];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) results.set(next, await run(next));
  };
  await Promise.all([work(), work()]);
  const bad = [...results].filter(([, each]) => each.lost > 0 || each.damage !== null || !expected(each));
  const total = (of: (each: Injected) => number) => [...results.values()].reduce((sum, each) => sum + of(each), 0);
  const numbers = `${at.length} positions up to ${at.at(-1)}, ${total(({ acknowledged }) => acknowledged)} acknowledged, ${total(({ lost }) => lost)} lost, ${total(({ refused }) => refused)} answered 503`;
  const [first] = bad;
  return {
    passed: bad.length === 0,
    numbers:
      first === undefined ? numbers : `${numbers}; ${bad.length} not as expected, first ${JSON.stringify(first)}`,
  };
}
