import { describe, expect, it } from 'vitest';
import type { Need } from '../../src/daemon/needs.ts';
import type { Job } from '../../src/daemon/schedule.ts';
import { wallClock } from '../../src/kernel/time/wall-clock.ts';
import { type TestScheduleOptions, testSchedule } from '../fakes/test-schedule.ts';
import { virtualClock } from '../fakes/virtual-clock.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const usual = Date.parse('2026-11-21T12:30:15.500Z');

function scheduleOf(
  jobs: (ran: (name: string) => void) => Job[],
  { from = usual, ...options }: Partial<TestScheduleOptions> & { readonly from?: number } = {},
) {
  const clock = virtualClock(from);
  const stopping = new AbortController();
  const ran: string[] = [];
  const failures: string[] = [];
  const schedule = testSchedule(
    jobs((name) => ran.push(`${name} ${new Date(clock.now()).toISOString().slice(11, 23)}`)),
    {
      clock,
      signal: stopping.signal,
      failed: (error, name) => failures.push(`${name}: ${(error as Error).message}`),
      ...options,
    },
  );
  const start = () => {
    const running = schedule.start();
    return {
      [Symbol.asyncDispose]: () => {
        stopping.abort();
        return running[Symbol.asyncDispose]();
      },
    };
  };
  return { clock, start, schedule, ran, failures };
}

describe('the schedule of a daemon', () => {
  it('ticks each job at whole multiples of its period, in the order of the list', async () => {
    const { clock, start, ran } = scheduleOf((note) => [
      { name: 'b', needs: [], every: 20 * second, run: async () => note('b') },
      { name: 'a', needs: [], every: minute, at_start: true, run: async () => note('a') },
    ]);
    const running = start();
    await clock.advance(minute);
    expect(ran).toEqual(['a 12:30:15.500', 'b 12:30:20.000', 'b 12:30:40.000', 'b 12:31:00.000', 'a 12:31:00.000']);
    await running[Symbol.asyncDispose]();
    expect(clock.pending()).toBe(0);
  });

  it('goes on after a need that throws, which is a failure of the job', async () => {
    let broken = true;
    const unmet = () => {
      if (broken) throw new Error('the disk is full');
      return null;
    };
    const { clock, start, schedule, ran, failures } = scheduleOf(
      (note) => [{ name: 'reads', needs: ['time'], every: minute, run: async () => note('reads') }],
      { unmet },
    );
    await using _ = start();
    await clock.advance(minute);
    expect([ran, failures]).toEqual([[], ['reads: the disk is full']]);
    expect(schedule.list()).toMatchObject([{ runs: 0, failures: 1, failure: 'the disk is full' }]);
    broken = false;
    await clock.advance(minute);
    expect(ran).toEqual(['reads 12:32:00.000']);
    expect(schedule.list()).toMatchObject([{ runs: 1, failures: 1, failure: null }]);
  });

  it('makes nothing up for that was run by hand meanwhile, unless that failed', async () => {
    const maintenance = wallClock({ at: '0 4 * * *', zone: 'UTC' });
    let fails = true;
    const { clock, start, schedule, ran } = scheduleOf((note) => [
      {
        name: 'missed',
        needs: [],
        at: maintenance,
        doneAt: () => usual - 3 * 24 * hour,
        run: async () => {
          note('missed');
          if (fails) throw new Error('not today');
        },
      },
    ]);
    const [made_up, regular] = [usual + hour, Date.parse('2026-11-22T04:00:00Z')];
    expect(schedule.list()).toMatchObject([{ next_at: made_up }]);
    expect(await schedule.run('missed')).toMatchObject({ failure: 'not today', next_at: made_up });
    fails = false;
    expect(await schedule.run('missed')).toMatchObject({ failure: null, next_at: regular });
    await using _ = start();
    await clock.advance(2 * hour);
    expect(ran).toHaveLength(2);
    await clock.advance(regular - clock.now());
    expect(ran.at(-1)).toBe('missed 04:00:00.000');
  });

  it('runs no job while a need of it is not met, reports the first such need, and counts no failure', async () => {
    const missing = new Set<Need>(['key', 'time']);
    const { clock, start, schedule, ran, failures } = scheduleOf(
      (note) => [
        { name: 'reads', every: second, needs: ['mirror', 'time', 'key'], run: async () => note('reads') },
        { name: 'counts', every: second, needs: ['mirror'], run: async () => note('counts') },
      ],
      { unmet: (need) => (missing.has(need) ? `no ${need}` : null) },
    );
    await using _ = start();
    await clock.advance(second);
    expect(ran).toEqual(['counts 12:30:16.000']);
    expect(await schedule.run('reads')).toMatchObject({ kept_from: 'no time', failure: null, runs: 0 });
    missing.delete('time');
    await clock.advance(second);
    expect(schedule.list()).toMatchObject([{ name: 'reads', kept_from: 'no key', overdue: 0 }, { kept_from: null }]);
    missing.clear();
    await clock.advance(second);
    expect(schedule.list()).toMatchObject([{ kept_from: null, runs: 1, failures: 0 }, { runs: 3 }]);
    expect(failures).toEqual([]);
  });

  it('never runs a job twice at once: ticks that a long run outlasts are left out, a run by hand joins', async () => {
    const gate = Promise.withResolvers<void>();
    const { clock, start, schedule, ran } = scheduleOf((note) => [
      {
        name: 'long',
        needs: [],
        every: second,
        run: async () => {
          note('long');
          await gate.promise;
        },
      },
    ]);
    await using _ = start();
    await clock.advance(5 * second);
    expect(ran).toEqual(['long 12:30:16.000']);
    expect(schedule.list()).toMatchObject([{ running: 1, runs: 1, last_ms: null }]);
    const byHand = schedule.run('long');
    gate.resolve();
    expect(await byHand).toMatchObject({ runs: 1, last_ms: 4500 });
    await clock.advance(second);
    expect(ran.at(-1)).toBe('long 12:30:21.000');
  });

  it('keeps ticking after a clock was set back an hour, and does not storm after it was set forward', async () => {
    const { clock, start, ran } = scheduleOf((note) => [
      { name: 'a', needs: [], every: minute, run: async () => note('a') },
    ]);
    await using _ = start();
    await clock.advance(minute);
    clock.jump(-hour);
    await clock.advance(2 * minute);
    clock.jump(24 * hour);
    await clock.advance(minute);
    expect(ran.map((each) => each.slice(2, 7))).toEqual(['12:31', '11:32', '11:33', '11:33', '11:34']);
  });

  it('tells of a failure once, keeps it until the next run, and goes on', async () => {
    let well = false;
    const { clock, start, schedule, failures } = scheduleOf(() => [
      {
        name: 'a',
        needs: [],
        every: second,
        run: async () => {
          if (!well) throw new Error('no disk');
        },
      },
    ]);
    await using _ = start();
    await clock.advance(second);
    expect(failures).toEqual(['a: no disk']);
    expect(schedule.list()).toMatchObject([{ failure: 'no disk', failures: 1 }]);
    well = true;
    await clock.advance(second);
    expect(schedule.list()).toMatchObject([{ failure: null, failures: 1, runs: 2 }]);
    expect(await schedule.run('b')).toBeNull();
  });

  it('shows a failure that a job tells of itself, and a job whose tick has gone by without a run', async () => {
    const { clock, schedule } = scheduleOf(() => [
      { name: 'tells', needs: [], every: hour, trouble: () => 'no directory', run: async () => {} },
    ]);
    expect(schedule.list()).toMatchObject([{ failure: 'no directory', failures: 0, overdue: 0 }]);
    // Nobody has started it.
    await clock.advance(hour);
    expect(schedule.list()).toMatchObject([{ overdue: 1, runs: 0 }]);
    expect(await schedule.run('tells')).toMatchObject({ runs: 1, joined: 0 });
  });
});

describe('a job that is tied to a wall clock', () => {
  const amsterdam = wallClock({ at: '30 2 * * *', zone: 'Europe/Amsterdam' });

  it.each([
    ['02:30 does not exist', '2027-03-26T12:00Z', ['01:30', '01:00', '00:30']],
    ['02:30 exists twice', '2026-10-23T12:00Z', ['00:30', '00:30', '01:30']],
  ])('runs once a day, also on the day on which %s', async (__, from, times) => {
    const started = Date.parse(from);
    const { clock, start, schedule, ran } = scheduleOf(
      (note) => [{ name: 'a', needs: [], at: amsterdam, doneAt: () => started, run: async () => note('a') }],
      { from: started },
    );
    await using _ = start();
    expect(schedule.list()).toMatchObject([{ every_ms: null, at: '30 2 * * *', zone: 'Europe/Amsterdam', runs: 0 }]);
    await clock.advance(3 * 24 * hour);
    expect(ran).toEqual(times.map((time) => `a ${time}:00.000`));
  });

  it('runs as soon as a machine that was suspended over its instant is awake, and once', async () => {
    const { clock, start, ran } = scheduleOf((note) => [
      { name: 'a', needs: [], at: amsterdam, doneAt: () => usual, run: async () => note('a') },
    ]);
    await using _ = start();
    await clock.advance(minute);
    clock.jump(5 * 24 * hour);
    await clock.advance(minute);
    expect(ran).toEqual(['a 12:31:45.500']);
  });

  it('is made up an hour after the start where nobody knows when it was done', async () => {
    const { clock, start, ran } = scheduleOf((note) => [
      { name: 'a', needs: [], at: amsterdam, doneAt: () => null, run: async () => note('a') },
    ]);
    await using _ = start();
    await clock.advance(24 * hour);
    expect(ran).toEqual(['a 13:30:15.500', 'a 01:30:00.000']);
  });
});
