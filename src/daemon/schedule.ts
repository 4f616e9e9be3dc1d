import type { Clock } from '../kernel/clock.ts';
import { firstInstant, type WallClock } from '../kernel/time/wall-clock.ts';
import type { WatchedJob } from './hang.rules.ts';
import { isOverdue, type JobRuns } from './job-runs.rules.ts';
import type { Need, Unmet } from './needs.ts';

/** One piece of the daemon's regular work. Ticks are frequent and simple: each reads from the files what is due. */
export type Job = {
  readonly name: string;
  /**
   * The needs without which it does nothing. They are checked in this order, before each run and after each wait for
   * the files.
   */
  readonly needs: readonly Need[];
  /** True if it also runs at the start, before its first tick. */
  readonly at_start?: true;
  /** True if the service decides how long a run takes. */
  readonly asks_service?: true;
  run(signal: AbortSignal): Promise<void>;
  /**
   * Returns when it next has work, according to the files; null: it only reacts to other jobs. Without this function
   * there may be work at each tick. A daemon ticks anyway; a virtual clock skips the ticks before it.
   */
  workAt?(): number | null;
  /** Returns the reason why its work fails, for a job that does not throw; null: it does not fail. */
  trouble?(): string | null;
} & (
  | {
      /** The period in milliseconds; ticks are at whole multiples of it, UTC. */
      readonly every: number;
    }
  | {
      readonly at: WallClock;
      /** Returns when it was last done, according to the files. A run missed while no daemon ran is made up for. */
      doneAt(): number | null;
    }
);

export interface ScheduleOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Runs the work of a job that needs `writing` when the files can be written, and repeats it after each failure to
   * write.
   */
  writing(work: () => Promise<void>, signal: AbortSignal): Promise<unknown>;
  /** Called with the error of a job, unless the signal is aborted. Decides whether the daemon continues. */
  failed(error: unknown, name: string): void;
}

/** The result of a job run by hand. */
export interface RunByHand extends JobRuns {
  /** 1 if it was already running. */
  readonly joined: 0 | 1;
}

/** Runs a list of jobs, each independently and never concurrently with itself. */
export interface Schedule {
  /** Adds jobs after those it has. `unmet` tells which of their needs are not met. Two jobs with one name are a bug. */
  add(jobs: readonly Job[], unmet: Unmet): void;
  /** Ticks by the clock until the signal aborts. Disposing waits for running jobs. */
  start(): AsyncDisposable;
  /** Runs a job once, or joins the run under way; null: there is no such job. Never rejects. */
  run(name: string): Promise<RunByHand | null>;
  list(): JobRuns[];
  /** Returns the same list for the watchdog, with the resources that a job may wait for. */
  watched(): WatchedJob[];
  /** Returns the first tick at which a job has work, for a virtual clock. Skips jobs that are running. */
  wakeAt(): number;
  /**
   * Runs every due job that is not running, in the order of the list, one after another; for a virtual clock. If a job
   * waits for the clock, call it again meanwhile: the other jobs continue, as in a daemon.
   */
  runDue(): Promise<void>;
}

/** The longest sleep in milliseconds: meanwhile the wall clock may be set, or the machine suspended. */
const longestSleepMs = 30_000;

interface Entry {
  readonly job: Job;
  readonly unmet: Unmet;
  next_at: number;
  /** Instant for which `next_at` was last worked out. */
  planned_at: number;
  /** True from its tick to the end of the run that this tick began or joined. */
  ticking: boolean;
  running: Promise<void> | null;
  runs: number;
  failures: number;
  last_run_at: number | null;
  last_ms: number | null;
  failure: string | null;
  /** The reason why it did nothing at its last tick; null: it ran. */
  kept_from: string | null;
}

/** Creates a schedule without jobs. */
export function createSchedule({ clock, signal, writing, failed }: ScheduleOptions): Schedule {
  const none = {
    ticking: false,
    running: null,
    runs: 0,
    failures: 0,
    last_run_at: null,
    last_ms: null,
    failure: null,
    kept_from: null,
  };
  const entries: Entry[] = [];
  const named = (name: string) => entries.find(({ job }) => job.name === name);

  function runOnce(entry: Entry): Promise<void> {
    entry.running ??= attempt(entry).finally(() => {
      entry.running = null;
    });
    return entry.running;
  }

  /** Returns whether all needs of a job are met, and records the reason if one is not. */
  function mayRun(entry: Entry): boolean {
    entry.kept_from = null;
    for (const need of entry.job.needs) {
      entry.kept_from = entry.unmet(need);
      if (entry.kept_from !== null) return false;
    }
    return true;
  }

  /** Nothing that goes wrong in a job, or while its needs are asked for, reaches the loop. */
  async function attempt(entry: Entry): Promise<void> {
    try {
      if (mayRun(entry)) await work(entry);
    } catch (error) {
      if (signal.aborted) return;
      entry.failures += 1;
      entry.failure = error instanceof Error ? error.message : String(error);
      failed(error, entry.job.name);
    }
  }

  async function work(entry: Entry): Promise<void> {
    const { job } = entry;
    const began = clock.monotonic();
    entry.last_run_at = clock.now();
    entry.last_ms = null;
    entry.runs += 1;
    try {
      if (job.needs.includes('writing'))
        await writing(async () => {
          if (mayRun(entry)) await job.run(signal);
        }, signal);
      else await job.run(signal);
      entry.failure = null;
    } finally {
      entry.last_ms = Math.round(clock.monotonic() - began);
    }
  }

  /** Returns whether a job's tick has come. A clock that was set back makes it due sooner, never later. */
  function isDue(entry: Entry): boolean {
    const now = clock.now();
    if (now < entry.planned_at) plan(entry, Math.min(entry.next_at, tickAfter(entry.job, now)));
    return entry.next_at <= now;
  }

  function plan(entry: Entry, next_at: number): void {
    entry.planned_at = clock.now();
    entry.next_at = next_at;
  }

  async function tick(entry: Entry): Promise<void> {
    entry.ticking = true;
    plan(entry, tickAfter(entry.job, clock.now()));
    await runOnce(entry);
    // Ticks that passed meanwhile are skipped.
    plan(entry, tickAfter(entry.job, clock.now()));
    entry.ticking = false;
  }

  /** Begins the ticks of all jobs: with one timer, because an idle process pays for each time that it is woken. */
  async function loop(): Promise<void> {
    const ticks = new Set<Promise<void>>();
    while (!signal.aborted) {
      for (const entry of entries) {
        if (signal.aborted || entry.ticking || !isDue(entry)) continue;
        const ticked = tick(entry).finally(() => ticks.delete(ticked));
        ticks.add(ticked);
      }
      await clock.sleep(Math.min(nextTick() - clock.now(), longestSleepMs), signal).catch(unlessAborted);
    }
    await Promise.all(ticks);
  }

  /** Returns the next tick of any job. One that runs still may have ended by then. */
  function nextTick(): number {
    const now = clock.now();
    return Math.min(...entries.map(({ job, next_at, ticking }) => (ticking ? tickAfter(job, now) : next_at)));
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
      kept_from: entry.kept_from,
    };
  }

  return {
    add: (jobs, unmet) => {
      for (const job of jobs) {
        if (named(job.name) !== undefined) throw new Error('two jobs have one name');
        const now = clock.now();
        entries.push({ job, unmet, next_at: firstTick(job, now), planned_at: now, ...none });
      }
    },
    start: () => {
      const ticking = loop();
      return { [Symbol.asyncDispose]: () => ticking };
    },
    run: async (name) => {
      const entry = named(name);
      if (entry === undefined) return null;
      const joined = entry.running === null ? 0 : 1;
      await runOnce(entry);
      // The run missed while no daemon ran has been done now, so it is not made up for again.
      const { failure, kept_from } = look(entry);
      if (failure === null && kept_from === null && 'at' in entry.job) plan(entry, tickAfter(entry.job, clock.now()));
      return { ...look(entry), joined };
    },
    list: () => entries.map(look),
    watched: () => entries.map((entry) => ({ ...look(entry), asks_service: entry.job.asks_service === true })),
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

/** Returns the first tick after an instant. */
function tickAfter(job: Job, from: number): number {
  return 'every' in job ? (Math.floor(from / job.every) + 1) * job.every : job.at.next(from);
}

function firstTick(job: Job, now: number): number {
  if (job.at_start === true) return now;
  return 'every' in job ? tickAfter(job, now) : firstInstant(job.at, job.doneAt(), now);
}
