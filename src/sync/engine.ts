import type { Instant } from '../clock.ts';
import { quarantineAfter } from '../domain/budget/backoff.ts';
import { blocksFill } from '../domain/sale/short-list.ts';
import { type LaneEntry, laneEntries } from '../domain/schedule/lanes.ts';
import type { RecordFacts } from '../domain/schedule/record.ts';
import type { Resource } from '../domain/schedule/resources.ts';
import { faultOf } from '../sqlite/fault.ts';
import { refreshAvailability } from './reads/availability.ts';
import { refreshCheckoutInformation } from './reads/checkout-information.ts';
import { commitTogether } from './reads/commit.ts';
import { refreshProductDetail } from './reads/product.ts';
import { refreshVariants } from './reads/variants.ts';
import { walkExperiences } from './reads/walk-experiences.ts';
import { readPlace, walkProducts } from './reads/walk-products.ts';
import type { Commit, Ports, SyncPorts } from './records/context.ts';
import { type Refreshed, recordFailure } from './records/settle.ts';

type Refresh = (ports: SyncPorts, record: RecordFacts, signal: AbortSignal) => Promise<Refreshed>;

const refreshes: Readonly<Record<Resource, Refresh>> = {
  products: (ports, record, signal) =>
    record.product_id === 0 ? walkProducts(ports, record, signal) : readPlace(ports, record, signal),
  experiences: walkExperiences,
  product_detail: refreshProductDetail,
  checkout_information: refreshCheckoutInformation,
  variants: refreshVariants,
  availability: refreshAvailability,
};

/** The result of a pass. */
export interface PassResult {
  readonly stored: number;
  readonly changed: number;
  readonly failed: number;
}

/** How many records are picked from the mirror at a time: only the mirror knows what is due. */
const batch = 50;

/** Lanes whose reads wait while disk space is low: they cause most writes. */
const bulk: ReadonlySet<LaneEntry> = new Set(['far', 'weekly', 'fill']);

/** So many answers that change the mirror are stored at once: each is a millisecond in which nothing else is done. */
export const mostTogether = 8;

/** A lane in which nothing was due is queried again after this time, or when something was made due. */
const askAgainMs = 250;

/** The write-ahead log is checked after this many records. */
const checkpointEvery = 100;

/** A pass that takes longer ends in the change feed so often, so that nobody who follows it waits for hours. */
const tellEveryMs = 60_000;

/** A source of due records: a lane, the records that notifications made due, or a job. */
interface Source {
  readonly name: LaneEntry;
  due(limit: number): RecordFacts[];
  queue: RecordFacts[];
  in_flight: number;
  /** When nothing beyond the queue was due here, and the generation of due records then. */
  dry: { at: Instant; generation: number } | null;
}

/**
 * Refreshes everything that is due now (of one job, or of all). Ends when nothing is due any more, the key is refused
 * or the signal aborts. Works on `workers` records of each lane at a time; the limiter decides whose call is next. Each
 * record fails or is stored by itself. Rejects if a file cannot be written: no record has failed then, and those under
 * way are found due again. While `mayBulk` returns false, only urgent records are read.
 */
export async function pass(
  { upstream, ...given }: Ports,
  workers: number,
  { job_id, signal, mayBulk = () => true }: { job_id: number | null; signal: AbortSignal; mayBulk?: () => boolean },
): Promise<PassResult> {
  const { mirror, clock, log } = given;
  const inFlight = new Set<string>();
  const counts = { stored: 0, changed: 0, failed: 0 };
  const stop = new AbortController();
  const ended = AbortSignal.any([signal, stop.signal]);
  const over = Promise.withResolvers<void>();
  const sources = sourcesOf(given, job_id);
  const ports = new Map(
    sources.map(({ name }) => [name, { ...given, upstream: upstream.in(name), progressed: () => pump() }]),
  );
  /** Answers are stored together, and keep no worker: the disk is waited for once for several. */
  const together = commitTogether(given, 'reject');
  let waiting = 0;
  /** Those of them that change the mirror. */
  let changing = 0;
  let pumping = false;
  let checkpointed = 0;
  let told_at = clock.monotonic();
  let failure: { readonly error: unknown } | null = null;

  function take(source: Source): RecordFacts | null {
    for (;;) {
      const next = source.queue.pop();
      if (next === undefined) break;
      if (!inFlight.has(keyOf(next))) return next;
    }
    const generation = mirror.records.generation();
    const now = clock.now();
    const { dry } = source;
    if (dry !== null && dry.generation === generation) {
      // Only time can have made something due since: wait a little while others work.
      const passed = Math.abs(now - dry.at);
      if (passed === 0 || (passed < askAgainMs && inFlight.size > 0)) return null;
    }
    const limit = batch + inFlight.size;
    const due = source.due(limit);
    source.queue = due.filter((record) => !inFlight.has(keyOf(record))).reverse();
    source.dry = due.length < limit ? { at: now, generation } : null;
    return source.queue.pop() ?? null;
  }

  /** Starts idle workers; ends the pass when nothing is due and no worker is busy. */
  function pump(): void {
    for (const source of sources) {
      if (bulk.has(source.name) && !mayBulk()) continue;
      while (!ended.aborted && source.in_flight < workers) {
        const record = take(source);
        if (record === null) break;
        start(source, record);
      }
    }
    // Otherwise nothing else would come that could be stored with them.
    if (changing >= mostTogether || (waiting > 0 && waiting === inFlight.size)) together.flush();
    endIfIdle();
  }

  function start(source: Source, record: RecordFacts): void {
    const free = occupy(source);
    inFlight.add(keyOf(record));
    given.retries.called();
    refresh(source, record, free)
      .catch(fail)
      .then(() => {
        free();
        inFlight.delete(keyOf(record));
        // What is stored together is counted together: the number may be past the next hundred.
        const done = counts.stored + counts.failed;
        if (done - checkpointed >= checkpointEvery) mirror.checkpoint(mayBulk() ? 'plenty' : 'tight');
        checkpointed = done - (done % checkpointEvery);
        if (clock.monotonic() - told_at >= tellEveryMs) {
          told_at = clock.monotonic();
          completePass(given);
        }
        pumpSoon();
      })
      .catch((error: unknown) => {
        fail(error);
        endIfIdle();
      });
  }

  /** Pumps once everything that was stored together has ended: what of it is due again is then no longer under way. */
  function pumpSoon(): void {
    if (pumping) return;
    pumping = true;
    setImmediate(() => {
      pumping = false;
      try {
        pump();
      } catch (error) {
        fail(error);
        endIfIdle();
      }
    });
  }

  /** Stops starting work; the pass rejects when no worker is busy any more. */
  function fail(error: unknown): void {
    failure ??= { error };
    stop.abort(error);
  }

  function endIfIdle(): void {
    if (inFlight.size > 0) return;
    if (failure === null) over.resolve();
    else over.reject(failure.error);
  }

  /** Returns a commit that frees the worker. */
  function committing(free: () => void): Commit {
    return async (work, when) => {
      const changes = when === 'now' ? 1 : 0;
      waiting += 1;
      changing += changes;
      const stored = together.commit(work, 'soon');
      free();
      pumpSoon();
      try {
        return await stored;
      } finally {
        waiting -= 1;
        changing -= changes;
      }
    };
  }

  async function refresh({ name }: Source, record: RecordFacts, free: () => void): Promise<void> {
    const lane = ports.get(name);
    if (lane === undefined) throw new Error(`no ports for ${name}`);
    const own = { ...lane, commit: committing(free) };
    // It was picked before its path turned out not to exist.
    if (!given.policy.extent.resources.has(record.resource)) return;
    try {
      const result = await refreshes[record.resource](own, record, ended);
      if (result.kind === 'key-refused') stop.abort(new Error('the service refuses the key'));
      else if (result.kind !== 'postponed') {
        counts[result.kind] += 1;
        if (result.kind === 'stored' && result.changed) counts.changed += 1;
        report(own, record, result);
      }
    } catch (error) {
      if (ended.aborted) return;
      // It concerns the file, not the record: no other record could be stored either.
      if (faultOf(error) !== null) throw error;
      // A record that hits a bug of ours must not hold up the others.
      log.error({ ...keyFields(record), err: error }, 'refresh threw');
      recordFailure(own, record, { code: 'bug', message: String(error).slice(0, 200), final: false });
      counts.failed += 1;
    }
  }

  pump();
  try {
    await over.promise;
  } finally {
    stop.abort(new Error('the pass has ended'));
  }
  const filled = isFilled(given);
  if (filled || mirror.jobs.isAnyOpen())
    mirror.transaction(() => {
      mirror.jobs.finish(clock.now());
      if (filled) mirror.markFilled(clock.now());
    });
  completePass(given);
  return counts;
}

/** Occupies a worker of a source; returns what frees it, once. */
function occupy(source: Source): () => void {
  source.in_flight += 1;
  let busy = true;
  return () => {
    if (busy) source.in_flight -= 1;
    busy = false;
  };
}

/** Ends the pass in the change feed, if anything changed since the last one ended: by reads, notifications or people. */
export function completePass({ mirror, clock }: Pick<SyncPorts, 'mirror' | 'clock'>): void {
  if (mirror.changes.isPassOpen()) mirror.transaction(() => mirror.changes.completePass(clock.now()));
}

function sourcesOf({ mirror, clock }: Pick<SyncPorts, 'mirror' | 'clock'>, job_id: number | null): Source[] {
  const idle = { in_flight: 0, dry: null };
  if (job_id !== null)
    return [{ ...idle, queue: [], name: 'fill', due: (limit) => mirror.records.dueOfJob(clock.now(), job_id, limit) }];
  return laneEntries
    .filter((name) => name !== 'audit')
    .map((name) => ({
      ...idle,
      queue: [],
      name,
      due: (limit) => mirror.records.due(clock.now(), name, limit),
    }));
}

/**
 * Tells whether the mirror is filled: the list was walked and is not incomplete, every record was read once, is refused or
 * is in quarantine, and not every product on sale was answered without a date. A further language, currency or the
 * experiences hold it up no longer than any other record that fails.
 */
function isFilled({ mirror }: Pick<SyncPorts, 'mirror'>): boolean {
  if (mirror.filledAt() !== null) return false;
  if (mirror.shortLists.all().some(blocksFill)) return false;
  return !mirror.records.isAnyUnread() && mirror.products.count() > 0 && !mirror.records.isAllEmpty();
}

function report(
  { log }: Pick<SyncPorts, 'log'>,
  record: RecordFacts,
  result: Extract<Refreshed, { kind: 'stored' | 'failed' }>,
): void {
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
