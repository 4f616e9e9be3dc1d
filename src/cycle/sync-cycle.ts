import { refreshCheckoutInformation, refreshProductDetail, refreshVariants } from '../catalogue/product.ask.ts';
import { readPlace, walkExperiences, walkProducts, walkTags } from '../catalogue/walk-products.ask.ts';
import { refreshAvailability } from '../dates/availability.ask.ts';
import type { Instant } from '../kernel/clock.ts';
import { faultOf } from '../kernel/sqlite/fault.ts';
import { CommitTogether } from '../schedule/commit-together.ts';
import { type LaneEntry, laneEntries } from '../schedule/lanes.rules.ts';
import { type Refreshed, recordFailure } from '../schedule/next-read.ts';
import type { RecordFacts } from '../schedule/record.rules.ts';
import type { Resource } from '../schedule/resources.rules.ts';
import { type Commit, ReadLane, type Sync } from '../schedule/sync.ts';
import { quarantineAfter } from '../service/backoff.rules.ts';
import { blocksFill } from '../trust/short-list.rules.ts';

type Refresh = (lane: ReadLane, record: RecordFacts, signal: AbortSignal) => Promise<Refreshed>;

const refreshes: Readonly<Record<Resource, Refresh>> = {
  products: (lane, record, signal) =>
    record.product_id === 0 ? walkProducts(lane, record, signal) : readPlace(lane, record, signal),
  experiences: walkExperiences,
  tags: walkTags,
  product_detail: refreshProductDetail,
  checkout_information: refreshCheckoutInformation,
  variants: refreshVariants,
  availability: refreshAvailability,
};

/** The result of a sync cycle: numbers of records. */
export interface SyncCycleResult {
  readonly stored: number;
  readonly changed: number;
  readonly failed: number;
}

/** The number of records queried from the mirror at a time. It is small because only the mirror knows what is due. */
const batch = 50;

/** Lanes whose reads wait while disk space is low: they cause most writes. */
const bulk: ReadonlySet<LaneEntry> = new Set(['far', 'weekly', 'fill']);

/**
 * The number of answers that change the mirror that are stored in one transaction. Each takes about a millisecond, in
 * which the event loop does nothing else.
 */
export const mostTogether = 8;

/** A lane without due records is queried again after this time, in milliseconds, or when a record was made due. */
const askAgainMs = 250;

/** The number of records after which the write-ahead log is checked. */
const checkpointEvery = 100;

/** Milliseconds between two looks for jobs whose last record was read. */
const endJobsEveryMs = 1000;

/**
 * Milliseconds after which a long sync cycle is ended in the change feed, so that its followers do not wait for hours.
 */
const tellEveryMs = 60_000;

/** A source of due records: a lane, the records that notifications made due, or a job. */
interface Source {
  readonly name: LaneEntry;
  due(limit: number): RecordFacts[];
  queue: RecordFacts[];
  in_flight: number;
  /** Instant at which only queued records were due in this source, and the generation of due records then. */
  dry: { at: Instant; generation: number } | null;
}

export interface SyncCycleOptions {
  /** Null: all due records, of every job. */
  readonly job_id: number | null;
  readonly signal: AbortSignal;
  /** Only urgent records are read while it returns false. */
  readonly mayBulk?: () => boolean;
}

/**
 * Runs a sync cycle: refreshes all records that are due. Ends when none is due any more, the key is refused or the
 * signal aborts. Works on `workers` records of each lane at a time; the limiter decides which call is next. Each record
 * fails or is stored independently. Rejects if a file cannot be written: then no record counts as failed, and the
 * records being read stay due.
 */
export async function runSyncCycle(sync: Sync, workers: number, options: SyncCycleOptions): Promise<SyncCycleResult> {
  const { mirror, clock } = sync;
  if (options.job_id === null && mirror.isIdle(clock.now())) return { stored: 0, changed: 0, failed: 0 };
  const result = await new SyncCycle(sync, workers, options).run();
  const filled = isFilled(sync);
  if (filled || mirror.schedule.jobs.isAnyOpen())
    mirror.transaction(() => {
      mirror.schedule.jobs.finish({ at: clock.now() });
      if (filled) mirror.markFilled(clock.now());
    });
  completePass(sync);
  return result;
}

/** One sync cycle: its reads, from the first due record until none is due. */
class SyncCycle {
  readonly #sync: Sync;
  readonly #workers: number;
  readonly #mayBulk: () => boolean;
  /** Stops the sync cycle: the key is refused, a file cannot be written, or nothing is left to do. */
  readonly #stop = new AbortController();
  readonly #ended: AbortSignal;
  readonly #over = Promise.withResolvers<void>();
  readonly #sources: readonly Source[];
  /** Stores answers together, so that several share one wait for the disk. Meanwhile their workers are free. */
  readonly #together: CommitTogether;
  /** The number of answers that wait to be stored, and the number of those that change the mirror. */
  #waiting = 0;
  #changing = 0;
  /** Keys of the records that are being read. */
  readonly #inFlight = new Set<string>();
  readonly #counts = { stored: 0, changed: 0, failed: 0 };
  #willPump = false;
  #checkpointed = 0;
  #told_at: number;
  #ended_jobs_at: number;
  #failure: { readonly error: unknown } | null = null;

  constructor(sync: Sync, workers: number, { job_id, signal, mayBulk = () => true }: SyncCycleOptions) {
    this.#sync = sync;
    this.#workers = workers;
    this.#mayBulk = mayBulk;
    this.#ended = AbortSignal.any([signal, this.#stop.signal]);
    this.#sources = sourcesOf(sync, job_id);
    this.#together = new CommitTogether(sync, 'reject');
    this.#told_at = sync.clock.monotonic();
    this.#ended_jobs_at = this.#told_at;
  }

  async run(): Promise<SyncCycleResult> {
    this.#pump();
    try {
      await this.#over.promise;
    } finally {
      this.#stop.abort(new Error('the sync cycle has ended'));
    }
    return this.#counts;
  }

  /** Starts idle workers. Ends the sync cycle when nothing is due and no worker is busy. */
  #pump(): void {
    for (const source of this.#sources) {
      if (bulk.has(source.name) && !this.#mayBulk()) continue;
      while (!this.#ended.aborted && source.in_flight < this.#workers) {
        const record = this.#take(source);
        if (record === null) break;
        this.#start(source, record);
      }
    }
    // Every read has an answer that waits to be stored: no other answer would join them.
    const isLast = this.#waiting > 0 && this.#waiting === this.#inFlight.size;
    if (this.#changing >= mostTogether || isLast) this.#together.flush();
    this.#endIfIdle();
  }

  /**
   * Pumps once after everything that was stored together has ended. Records of it that are due again are then free to
   * be taken.
   */
  #pumpSoon(): void {
    if (this.#willPump) return;
    this.#willPump = true;
    setImmediate(() => {
      this.#willPump = false;
      try {
        this.#pump();
      } catch (error) {
        this.#fail(error);
        this.#endIfIdle();
      }
    });
  }

  /** Returns a due record of a source that is not being read; null: there is none now. */
  #take(source: Source): RecordFacts | null {
    const { mirror, clock } = this.#sync;
    for (;;) {
      const next = source.queue.pop();
      if (next === undefined) break;
      if (this.#inFlight.has(keyOf(next))) continue;
      // It may have been read, or made due for another reason, since it was queued.
      const current = mirror.schedule.records.find(next);
      if (current !== null && current.due_at <= clock.now()) return current;
    }
    const generation = mirror.schedule.records.generation();
    const now = clock.now();
    const { dry } = source;
    if (dry !== null && dry.generation === generation) {
      // Nothing was made due since, so only the passing of time can make a record due: wait a little while others work.
      const passed = Math.abs(now - dry.at);
      if (passed === 0 || (passed < askAgainMs && this.#inFlight.size > 0)) return null;
    }
    const limit = batch + this.#inFlight.size;
    const due = source.due(limit);
    source.queue = due.filter((record) => !this.#inFlight.has(keyOf(record))).reverse();
    source.dry = due.length < limit ? { at: now, generation } : null;
    return source.queue.pop() ?? null;
  }

  #start(source: Source, record: RecordFacts): void {
    const free = occupy(source);
    this.#inFlight.add(keyOf(record));
    this.#sync.retries.called();
    this.#refresh(source, record, free)
      .catch((error: unknown) => this.#fail(error))
      .then(() => {
        free();
        this.#inFlight.delete(keyOf(record));
        this.#endJobs();
        this.#housekeep();
        this.#pumpSoon();
      })
      .catch((error: unknown) => {
        this.#fail(error);
        this.#endIfIdle();
      });
  }

  async #refresh({ name }: Source, record: RecordFacts, free: () => void): Promise<void> {
    const sync = this.#sync;
    // The record was picked before its path turned out to be missing.
    if (!sync.policy.extent.resources.has(record.resource)) return;
    try {
      const lane = new ReadLane(sync, name, this.#committing(free), () => this.#pump());
      const result = await refreshes[record.resource](lane, record, this.#ended);
      if (result.kind === 'key-refused') this.#stop.abort(new Error('the service refuses the key'));
      else if (result.kind !== 'postponed') {
        this.#counts[result.kind] += 1;
        if (result.kind === 'stored' && result.changed) this.#counts.changed += 1;
        report(sync, record, result);
      }
    } catch (error) {
      if (this.#ended.aborted) return;
      // The error concerns the file, not the record: no other record could be stored either.
      if (faultOf(error) !== null) throw error;
      // A record that hits a bug of ours must not block the others.
      sync.log.error({ ...keyFields(record), err: error }, 'refresh threw');
      recordFailure(sync, record, { code: 'bug', message: String(error).slice(0, 200), final: false });
      this.#counts.failed += 1;
    }
  }

  /** Returns a commit that frees the worker. */
  #committing(free: () => void): Commit {
    return async (work, answer) => {
      const changes = answer === 'changed' ? 1 : 0;
      this.#waiting += 1;
      this.#changing += changes;
      // `same` for changes too: this cycle decides itself when to flush.
      const stored = this.#together.commit(work, 'same');
      free();
      this.#pumpSoon();
      try {
        return await stored;
      } finally {
        this.#waiting -= 1;
        this.#changing -= changes;
      }
    };
  }

  /**
   * Ends jobs that have no record left: whoever waits for a small one need not wait for the end of the sync cycle. During
   * the first fill jobs stay open, because records of products that are yet to be found join them.
   */
  #endJobs(): void {
    const { mirror, clock } = this.#sync;
    if (clock.monotonic() - this.#ended_jobs_at < endJobsEveryMs) return;
    this.#ended_jobs_at = clock.monotonic();
    if (mirror.filledAt() === null || !mirror.schedule.jobs.isAnyOpen()) return;
    if (mirror.transaction(() => mirror.schedule.jobs.finish({ at: clock.now() })) > 0) completePass(this.#sync);
  }

  /** Keeps the write-ahead log short and the change feed current during a long sync cycle. */
  #housekeep(): void {
    const { mirror, clock } = this.#sync;
    // Records stored together are counted together, so the number may skip the exact hundred.
    const done = this.#counts.stored + this.#counts.failed;
    if (done - this.#checkpointed >= checkpointEvery) mirror.checkpoint(this.#mayBulk() ? 'plenty' : 'tight');
    this.#checkpointed = done - (done % checkpointEvery);
    if (clock.monotonic() - this.#told_at < tellEveryMs) return;
    this.#told_at = clock.monotonic();
    completePass(this.#sync);
  }

  /** Stops starting work. The sync cycle rejects when no worker is busy any more. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stop.abort(error);
  }

  #endIfIdle(): void {
    if (this.#inFlight.size > 0) return;
    if (this.#failure === null) this.#over.resolve();
    else this.#over.reject(this.#failure.error);
  }
}

/** Occupies a worker of a source. Returns a function that frees it; only its first call counts. */
function occupy(source: Source): () => void {
  source.in_flight += 1;
  let busy = true;
  return () => {
    if (busy) source.in_flight -= 1;
    busy = false;
  };
}

/**
 * Ends the sync cycle in the change feed, if reads, notifications or people changed anything since the last one ended.
 */
export function completePass({ mirror, clock }: Sync): void {
  if (mirror.changes.isPassOpen()) mirror.transaction(() => mirror.changes.completePass(clock.now()));
}

function sourcesOf({ mirror, clock }: Sync, job_id: number | null): Source[] {
  const idle = { in_flight: 0, dry: null };
  if (job_id !== null)
    return [
      {
        ...idle,
        queue: [],
        name: 'fill',
        due: (limit) => mirror.schedule.records.dueOfJob({ now: clock.now(), job_id, limit }),
      },
    ];
  return laneEntries
    .filter((name) => name !== 'audit')
    .map((name) => ({
      ...idle,
      queue: [],
      name,
      due: (limit) => mirror.schedule.records.due(clock.now(), name, limit),
    }));
}

/**
 * Returns whether the mirror is filled. The list was walked and is not incomplete. Every record was read once, is
 * refused or is in quarantine. At least one product on sale was answered with a date. Further languages, further
 * currencies and the experiences delay it no longer than any other record that fails.
 */
function isFilled({ mirror }: Sync): boolean {
  if (mirror.filledAt() !== null) return false;
  if (mirror.schedule.shortLists.all().some(blocksFill)) return false;
  return (
    !mirror.schedule.records.isAnyUnread() &&
    mirror.catalogue.products.count() > 0 &&
    !mirror.schedule.records.isAllEmpty()
  );
}

function report({ log }: Sync, record: RecordFacts, result: Extract<Refreshed, { kind: 'stored' | 'failed' }>): void {
  if (result.kind === 'stored' && result.warning !== undefined) {
    log.warn({ ...keyFields(record), ...result.warning }, 'record refreshed with a warning');
    return;
  }
  if (result.kind === 'stored') {
    log.debug({ ...keyFields(record), reason: record.due_reason, changed: result.changed }, 'record refreshed');
    return;
  }
  const failures = record.failures + 1;
  const fields = { ...keyFields(record), code: result.code, message: result.message, failures };
  log.warn(fields, failures === quarantineAfter ? 'record quarantined' : 'refresh failed');
}

function keyOf({ resource, product_id, edition, part }: RecordFacts): string {
  return `${resource} ${product_id} ${edition} ${part}`;
}

function keyFields({ resource, product_id, edition, part }: RecordFacts) {
  return { resource, product_id, edition, part };
}
