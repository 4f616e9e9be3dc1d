import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { blockedMs, endure, endured, filler, foreignLock, grows, startLocked } from './daemon-disk.ts';
import { diskRuns } from './disk/runs.ts';
import { flood } from './flood.ts';
import { fullDisk } from './full-disk.ts';
import { type Injected, inject } from './inject.ts';
import { killRounds } from './kill.ts';
import { littleMemory } from './little-memory.ts';
import { judgeMutations } from './mutations/judge.ts';
import { plantedDeletion } from './mutations/planted-deletion.ts';
import { powerLoss } from './power-loss.ts';
import { readersOfCopy, readersOfHastyCopy, readersOfMirror } from './readers.ts';
import { control, type FaultOptions, type Outcome, type Run } from './run.ts';
import { slowDisk } from './slow-disk.ts';
import { bootedSystemd } from './systemd.ts';
import { upgradeRuns } from './upgrade/runs.ts';
import { wrongClock } from './wrong-clock.ts';

/** Numbers from 1 to `last`, thinned out. */
const positions = (last: number, step = 1) =>
  Array.from({ length: Math.floor(last / step) }, (_, index) => 1 + index * step);

/** What needs processes, strace and namespaces of its own, by the row that it belongs to; a row may have several. */
export function runsOf(options: FaultOptions): Readonly<Record<string, readonly Run[]>> {
  const { kills, images, reads, seed, all, long } = options;
  const every = all ? 1 : 3;
  const filled = { products: 30, when: 'filled' } as const;
  const locked = (lasts_ms: number): Run => ({
    what: `another program writes the mirror for ${lasts_ms / 1000} s`,
    beside: 'daemons',
    run: () => endured({ ...filled, fault: foreignLock('mirror/mirror.db'), lasts_ms }),
  });
  return {
    D1: [
      {
        what: 'kill -9 while deliveries arrive',
        run: async () => {
          const { acknowledged, lost, damage } = await killRounds(kills, 'honest', seed);
          return {
            passed: lost === 0 && damage === null && acknowledged > kills,
            numbers: `${kills} kills, ${acknowledged} acknowledged, ${lost} lost, integrity ${damage ?? 'ok'}`,
          };
        },
      },
    ],
    D2: [
      control('answers before it commits', [], async () => {
        const { acknowledged, lost } = await killRounds(10, 'early', seed);
        return { passed: lost > 0, numbers: `10 kills, ${acknowledged} acknowledged, ${lost} lost` };
      }),
    ],
    D3: [
      {
        what: 'power cut',
        needs: ['strace'],
        run: async () => {
          const { acknowledged, corrupt, lost } = await powerLoss(images, 'traced', seed);
          const numbers = `${images} images of ${acknowledged} acknowledged deliveries: ${corrupt} corrupt, ${lost} lost some`;
          return { passed: corrupt === 0 && lost === 0, numbers };
        },
      },
      control('synchronous=NORMAL', ['strace'], async () => {
        const { corrupt, lost } = await powerLoss(500, 'traced-normal', seed);
        return { passed: lost > 0, numbers: `500 images: ${corrupt} corrupt, ${lost} lost some` };
      }),
    ],
    D4: [
      sweep(
        'kill at the n-th write',
        positions(200, every),
        (n) => `pwrite64:signal=KILL:when=${n}`,
        ({ ended }) => ended === 'SIGKILL',
      ),
    ],
    D5: [
      sweep(
        'EIO at the n-th write, once',
        positions(60, every),
        (n) => `pwrite64:error=EIO:when=${n}`,
        // While the file is made, a failed write is the end (74); later it is a 503, and the next delivery is stored.
        ({ ended, refused, after }) => (ended === null ? refused > 0 && after > 0 : ended === 74),
      ),
      sweep(
        'EIO from the n-th write on',
        positions(60, every),
        (n) => `pwrite64:error=EIO:when=${n}+`,
        ({ ended, refused, after }) => (ended === null ? refused > 0 && after === 0 : ended === 74),
      ),
      ...diskRuns(all),
    ],
    D6: [
      sweep(
        'EIO at the k-th fsync',
        positions(20),
        (k) => `fsync:error=EIO:when=${k}`,
        // The first ones fall into the making of the file.
        ({ ended, acknowledged, refused, after }) => ended === 74 && after === 0 && (refused > 0 || acknowledged === 0),
      ),
      control('hides that it could not store', ['strace'], async () => {
        const { acknowledged, lost } = await inject('pwrite64:error=EIO:when=60+', 'deaf');
        return { passed: lost > 0, numbers: `${acknowledged} acknowledged, ${lost} lost` };
      }),
    ],
    D7: [{ what: 'disk full, then grown', needs: ['unshare', 'nsenter'], run: fullDisk }],
    D8: [{ what: '500 deliveries over 50 connections, each fsync taking 200 ms', needs: ['strace'], run: slowDisk }],
    D21: [
      {
        what: 'the disk of a running daemon is full in its first fill, then grown',
        needs: ['unshare', 'nsenter'],
        beside: 'daemons',
        run: () => endured({ products: 200, megabytes: 8, when: 'filling', fault: grows(120), lasts_ms: 15_000 }),
      },
      {
        what: 'somebody fills the disk of a running daemon, then frees it',
        needs: ['unshare', 'nsenter'],
        beside: 'daemons',
        run: () => endured({ products: 100, megabytes: 40, when: 'filled', fault: filler, lasts_ms: 15_000 }),
      },
    ],
    D22: [
      ...[1000, 5000, ...(long ? [300_000] : [])].map(locked),
      {
        what: 'another program writes the inbox for 5 s',
        beside: 'daemons',
        run: () => endured({ ...filled, fault: foreignLock('state/inbox.db'), lasts_ms: 5000 }),
      },
      { what: 'another program writes the mirror at the start', beside: 'daemons', run: startLocked },
      {
        ...control('waits for the lock inside a statement', [], async () => {
          const fault = foreignLock('mirror/mirror.db');
          const { loop_p99_ms } = await endure({ ...filled, child: 'blocking', fault, lasts_ms: 5000 });
          return { passed: loop_p99_ms > blockedMs, numbers: `event loop p99 ${loop_p99_ms.toFixed(0)} ms` };
        }),
        beside: 'daemons',
      },
    ],
    D24: [
      {
        what: 'flood: 400 kB bodies, 36 MB/s for a minute, of which 64 MiB may be stored',
        beside: 'daemons',
        run: async () => {
          using directory = temporaryDirectory();
          const config = { retention: { deliveries_bytes: '64MiB' } };
          const flooded = await flood({ directory: directory.path, config, ends: { seconds: 60 } });
          const { acknowledged, refused, rate, file, peak, honest, tries } = flooded;
          return {
            // Wanted are 256 MiB; 250 to 300 were measured, and this decides whether a change lands: what piles up takes gigabytes.
            passed: honest === 200 && acknowledged > 0 && file < 2 ** 27 && peak < 350,
            numbers: `${acknowledged} stored, ${refused} answered 503, ${rate.toFixed(0)} MB/s, ${Math.round(file / 2 ** 20)} MiB on the disk, ${peak} MiB of memory at most, an honest delivery got ${honest} at try ${tries}`,
          };
        },
      },
    ],
    D25: upgradeRuns(all),
    T2: [
      {
        what: 'wall clock 4,100 days ahead for 15 s',
        needs: ['faketime'],
        beside: 'clock',
        run: () => wrongClock('set right'),
      },
      {
        ...control('it is never set right', ['faketime'], async () => {
          const { passed, numbers } = await wrongClock('left wrong');
          return { passed: !passed, numbers };
        }),
        beside: 'clock',
      },
    ],
    memory: [{ what: '7,500 products filled within 512 MiB', needs: ['root'], form: 'long', run: littleMemory }],
    systemd: [
      {
        what: 'the documented installation in a booted systemd',
        needs: ['root', 'systemd-nspawn'],
        beside: 'systemd',
        run: bootedSystemd,
      },
    ],
    readers: [
      {
        what: `${reads.toLocaleString('en')} reads in PHP, Python and Node during resyncs and a migration`,
        needs: ['php', 'python3'],
        form: 'long',
        run: (say) => readersOfMirror(reads, say),
      },
    ],
    followed: [
      {
        what: `${reads.toLocaleString('en')} reads of a followed copy, the daemon killed three times`,
        needs: ['php', 'python3'],
        form: 'long',
        run: (say) => readersOfCopy(reads, say),
      },
      {
        ...control('a follower that commits row by row', ['php', 'python3'], readersOfHastyCopy),
        form: 'long',
      },
    ],
    mutations: [
      { what: 'drawn lines changed', form: 'long', run: (say) => judgeMutations('drawn', options, say) },
      { what: 'control: a test is deleted without an heir', run: plantedDeletion },
    ],
    promises: [
      {
        what: 'lines changed that keep promises',
        form: 'long',
        run: (say) => judgeMutations('of promises', options, say),
      },
    ],
  };
}

/** A receiver for each position, two at a time, at which a system call on its inbox fails or kills; nothing may be lost. */
function sweep(
  what: string,
  at: readonly number[],
  expression: (position: number) => string,
  expected: (injected: Injected) => boolean,
): Run {
  const run = async (): Promise<Outcome> => {
    const results = new Map<string, Injected>();
    const left = at.map(expression).values();
    const work = async () => {
      for (const next of left) results.set(next, await inject(next));
    };
    await Promise.all([work(), work()]);
    const bad = [...results].filter(([, each]) => each.lost > 0 || each.damage !== null || !expected(each));
    const total = (of: (each: Injected) => number) => [...results.values()].reduce((sum, each) => sum + of(each), 0);
    const numbers = `${at.length} positions up to ${at.at(-1)}, ${total(({ acknowledged }) => acknowledged)} acknowledged, ${total(({ lost }) => lost)} lost, ${total(({ refused }) => refused)} answered 503`;
    const first = bad.slice(0, 1).map((each) => `${bad.length} not as expected, first ${JSON.stringify(each)}`);
    return { passed: bad.length === 0, numbers: [numbers, ...first].join('; ') };
  };
  return { what, needs: ['strace'], run };
}
