import type { Clock } from '../clock.ts';
import { isOverdue, type JobRuns } from '../domain/schedule/job-runs.ts';
import { firstInstant, type WallClock } from '../domain/time/wall-clock.ts';

/** One piece of the daemon's regular work. Ticks are frequent and stupid: what is due is asked of the files each time. */
export type Job = {
  readonly name: string;
  /** Runs at the start as well, before its first tick. */
  readonly at_start?: true;
  /** How long a run takes is up to the service. */
  readonly asks_service?: true;
  run(signal: AbortSignal): Promise<void>;
  /**
   * Returns when it next has work, as far as the files tell; null: it only looks after what other jobs bring about.
   * Without it there may be work at each tick. A daemon ticks all the same; whoever moves the clock by himself skips the
   * ticks before it.
   */
  workAt?(): number | null;
  /** Returns why its work fails where it says so instead of throwing; null: it does not. */
  trouble?(): string | null;
} & (
  | {
      /** Milliseconds: ticks are at whole multiples of it, UTC. */
      readonly every: number;
    }
  | {
      readonly at: WallClock;
      /** Returns when it was done last, as far as the files tell: what was missed while no daemon ran is made up. */
      doneAt(): number | null;
    }
);

export interface ScheduleOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  readonly signal: AbortSignal;
  /** Told of what a job throws, unless the signal is aborted: it decides whether the daemon goes on. */
  failed(error: unknown, name: string): void;
}

/** What came of a job that somebody asked for. */
export interface RunByHand extends JobRuns {
  /** It was under way already. */
  readonly joined: 0 | 1;
}

/** Runs a list of jobs, each by itself and never twice at once. */
export interface Schedule {
  /** Ticks by the clock until the signal is aborted; disposing waits for the jobs that run. */
  start(): AsyncDisposable;
  /** Runs a job once, or joins the run that is under way; null: there is no such job. Never rejects. */
  run(name: string): Promise<RunByHand | null>;
  list(): JobRuns[];
  /** For whoever moves the clock by himself: the first tick at which a job has work. One that runs is not asked. */
  wakeAt(): number;
  /**
   * For the same: runs every job whose tick has come and that does not run, in the order of the list and one after
   * another. Where one waits for the clock, whoever moves it calls again meanwhile: the others go on, as in a daemon.
   */
  runDue(): Promise<void>;
}

/** Longer sleeps are cut: while one lasts the wall clock may be set, or the machine be suspended. */
const longestSleepMs = 30_000;

interface Entry {
  readonly job: Job;
  next_at: number;
  running: Promise<void> | null;
  runs: number;
  failures: number;
  last_run_at: number | null;
  last_ms: number | null;
  failure: string | null;
}

/** Wires jobs to a clock. Two of one name are a bug. */
export function createSchedule(jobs: readonly Job[], { clock, signal, failed }: ScheduleOptions): Schedule {
  const none = { running: null, runs: 0, failures: 0, last_run_at: null, last_ms: null, failure: null };
  const entries = jobs.map((job): Entry => ({ job, next_at: firstTick(job, clock.now()), ...none }));
  const byName = new Map(entries.map((entry) => [entry.job.name, entry]));
  if (byName.size < jobs.length) throw new Error('two jobs have one name');

  function runOnce(entry: Entry): Promise<void> {
    entry.running ??= attempt(entry).finally(() => {
      entry.running = null;
    });
    return entry.running;
  }

  async function attempt(entry: Entry): Promise<void> {
    const began = clock.monotonic();
    entry.last_run_at = clock.now();
    entry.last_ms = null;
    entry.runs += 1;
    try {
      await entry.job.run(signal);
      entry.failure = null;
    } catch (error) {
      if (signal.aborted) return;
      entry.failures += 1;
      entry.failure = error instanceof Error ? error.message : String(error);
      failed(error, entry.job.name);
    } finally {
      entry.last_ms = Math.round(clock.monotonic() - began);
    }
  }

  /** Whether its tick has come. A clock that was set back makes it sooner, never later than from now on. */
  function isDue(entry: Entry): boolean {
    const now = clock.now();
    entry.next_at = Math.min(entry.next_at, tickAfter(entry.job, now));
    return entry.next_at <= now;
  }

  async function tick(entry: Entry): Promise<void> {
    entry.next_at = tickAfter(entry.job, clock.now());
    await runOnce(entry);
    // Ticks that went by meanwhile are left out.
    entry.next_at = tickAfter(entry.job, clock.now());
  }

  async function loop(entry: Entry): Promise<void> {
    while (!signal.aborted) {
      if (isDue(entry)) await tick(entry);
      else await clock.sleep(Math.min(entry.next_at - clock.now(), longestSleepMs), signal).catch(unlessAborted);
    }
  }

  function unlessAborted(error: unknown): void {
    if (!signal.aborted) throw error;
  }

  function look({ job, next_at, last_run_at, ...entry }: Entry): JobRuns {
    const running = entry.running === null ? 0 : 1;
    const asked = { asksService: job.asks_service === true };
    return {
      name: job.name,
      every_ms: 'every' in job ? job.every : null,
      at: 'at' in job ? job.at.pattern : null,
      zone: 'at' in job ? job.at.zone : null,
      next_at,
      running,
      overdue: isOverdue({ next_at, running, last_run_at }, asked, clock.now()) ? 1 : 0,
      runs: entry.runs,
      failures: entry.failures,
      last_run_at,
      last_ms: entry.last_ms,
      failure: entry.failure ?? job.trouble?.() ?? null,
    };
  }

  return {
    start: () => {
      const loops = Promise.all(entries.map(loop));
      return { [Symbol.asyncDispose]: async () => void (await loops) };
    },
    run: async (name) => {
      const entry = byName.get(name);
      if (entry === undefined) return null;
      const joined = entry.running === null ? 0 : 1;
      await runOnce(entry);
      return { ...look(entry), joined };
    },
    list: () => entries.map(look),
    wakeAt: () =>
      Math.min(
        ...entries.map(({ job, next_at, running }) => {
          if (running !== null) return Number.POSITIVE_INFINITY;
          const work = job.workAt === undefined ? next_at : job.workAt();
          if (work === null) return Number.POSITIVE_INFINITY;
          return work <= next_at ? next_at : tickAfter(job, work - 1);
        }),
      ),
    runDue: async () => {
      for (const entry of entries) if (!signal.aborted && entry.running === null && isDue(entry)) await tick(entry);
    },
  };
}

/** The first tick after an instant. */
function tickAfter(job: Job, from: number): number {
  return 'every' in job ? (Math.floor(from / job.every) + 1) * job.every : job.at.next(from);
}

function firstTick(job: Job, now: number): number {
  if (job.at_start === true) return now;
  return 'every' in job ? tickAfter(job, now) : firstInstant(job.at, job.doneAt(), now);
}
