import { describe, expect, it } from 'vitest';
import { hangingJobs, type WatchedJob, waitsFor } from '../../src/daemon/hang.rules.ts';
import { type Supervised, superviseAs } from '../../src/daemon/process/supervision.ts';
import { notifyProgram } from '../fakes/notify-program.ts';
import { testLog } from '../fakes/test-log.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { manualClock } from '../service/manual-clock.ts';

const job: WatchedJob = { name: 'pass', running: 0, overdue: 1, asks_service: false };

describe('a job that is overdue', () => {
  it.each([
    ['hangs where it has no reason', {}, false, null],
    ['hangs where it asks the service, and has not begun', { asks_service: true }, false, null],
    ['waits for the service while it asks', { asks_service: true, running: 1 }, false, 'for-the-service'],
    ['waits for the files while the disk is full', { running: 1 }, true, 'for-the-files'],
  ] as const)('%s', (_, more, filesStopped, reason) => {
    const given = { ...job, ...more };
    expect(waitsFor(given, { filesStopped })).toBe(reason);
    expect(hangingJobs([given], { filesStopped })).toEqual(reason === null ? ['pass'] : []);
  });

  it('is the only one that hangs', () => {
    expect(hangingJobs([{ ...job, overdue: 0 }], { filesStopped: false })).toEqual([]);
  });
});

function stage(some: Partial<Supervised> = {}, env: Record<string, string> = { WATCHDOG_USEC: '20000000' }) {
  const directory = temporaryDirectory();
  const program = notifyProgram(directory.path);
  const clock = manualClock();
  const { log, lines } = testLog();
  const daemon = { jobs: () => [], filesStopped: () => false, line: async () => 'true: 5 products', ...some };
  let current: Supervised | null = daemon;
  const supervision = superviseAs({ env: { ...program.env, ...env }, clock, log, current: () => current });
  return {
    ...program,
    clock,
    lines,
    supervision,
    replaces: (next: Supervised | null) => {
      current = next;
    },
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

describe('systemd', () => {
  it('is told when the daemon is ready, how true the mirror is, and at half of its interval that the loop turns', async () => {
    using world = stage();
    world.supervision.say('ready');
    using _ = world.supervision.watch();
    await world.was('STATUS=true: 5 products');
    expect(world.told().slice(0, 2)).toEqual(['READY=1', 'WATCHDOG=1']);
    await world.clock.advance(9000);
    expect(world.told().filter((word) => word === 'WATCHDOG=1')).toHaveLength(1);
    await world.clock.advance(1000);
    await world.was('WATCHDOG=1', 2);
    // It knows the line already.
    expect(world.told().filter((word) => word.startsWith('STATUS='))).toHaveLength(1);
  });

  it('is still fed while the mirror cannot be asked, and while the disk is full', async () => {
    using world = stage({ jobs: () => [job], filesStopped: () => true, line: () => new Promise(() => undefined) });
    using _ = world.supervision.watch();
    await world.was('WATCHDOG=1');
    for (const times of [2, 3]) {
      await world.clock.advance(10_000);
      await world.was('WATCHDOG=1', times);
    }
  });

  it('is not fed when a job hangs at two looks in a row, and again once it goes on', async () => {
    let overdue: 0 | 1 = 1;
    using world = stage({ jobs: () => [{ ...job, overdue }] });
    using _ = world.supervision.watch();
    await world.was('WATCHDOG=1');
    await world.clock.advance(10_000);
    await world.clock.advance(10_000);
    expect(world.lines()).toContainEqual(expect.objectContaining({ jobs: ['pass'], level: 'error' }));
    overdue = 0;
    await world.clock.advance(10_000);
    await world.was('WATCHDOG=1', 2);
    expect(world.told().filter((word) => word === 'WATCHDOG=1')).toHaveLength(2);
  });

  it('is not fed when a reload does not end', async () => {
    using world = stage();
    using _ = world.supervision.watch();
    await world.was('WATCHDOG=1');
    world.replaces(null);
    await world.clock.advance(10_000);
    await world.was('WATCHDOG=1', 2);
    await world.clock.advance(10_000);
    expect(world.lines()).toContainEqual(expect.objectContaining({ jobs: ['reload'] }));
  });

  it('is left alone, with one line in the log, where its program is missing', async () => {
    using world = stage({}, { PATH: '/nonexistent' });
    world.supervision.say('ready');
    using _ = world.supervision.watch();
    while (world.lines().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await world.clock.advance(60_000);
    expect(world.lines().map(({ msg }) => msg)).toEqual(['systemd-notify cannot be run: systemd is told nothing']);
  });
});
