import { quarantineAfter } from '../domain/backoff.ts';
import type { RecordFacts, Resource } from '../domain/record.ts';
import type { SyncPorts } from './ports.ts';
import { refreshAvailability } from './refresh-availability.ts';
import { refreshCheckoutInformation } from './refresh-checkout-information.ts';
import { refreshProductDetail } from './refresh-product.ts';
import { refreshVariants } from './refresh-variants.ts';
import { type Refreshed, recordFailure } from './settle.ts';
import { walkExperiences } from './walk-experiences.ts';
import { walkProducts } from './walk-products.ts';

type Refresh = (ports: SyncPorts, record: RecordFacts, signal: AbortSignal) => Promise<Refreshed>;

const refreshes: Readonly<Record<Resource, Refresh>> = {
  products: walkProducts,
  experiences: walkExperiences,
  product_detail: refreshProductDetail,
  checkout_information: refreshCheckoutInformation,
  variants: refreshVariants,
  availability: refreshAvailability,
};

/** What a pass came to. */
export interface PassResult {
  readonly stored: number;
  readonly changed: number;
  readonly failed: number;
  /** The service's words, where it refused the key: the pass ended there. */
  readonly key_refused: string | null;
}

/** Records are picked from the mirror in batches: what is due stands there and nowhere else. */
const batch = 200;

/** The write-ahead log is looked at after this many records. */
const checkpointEvery = 100;

/**
 * Refreshes everything that is due now (of one job, or of all), `workers` at a time, and ends when nothing is due any more, the key is
 * refused or the signal is aborted. Each record fails or is stored by itself. The limiter decides the pace.
 */
export async function pass(
  given: Omit<SyncPorts, 'progressed'>,
  workers: number,
  { job_id, signal }: { job_id: number | null; signal: AbortSignal },
): Promise<PassResult> {
  const ports: SyncPorts = { ...given, progressed: () => notify() };
  const { mirror, clock, log } = ports;
  let news = Promise.withResolvers<void>();
  const inFlight = new Set<string>();
  const counts = { stored: 0, changed: 0, failed: 0 };
  const stop = new AbortController();
  const ended = AbortSignal.any([signal, stop.signal]);
  let queue: RecordFacts[] = [];
  let key_refused: string | null = null;

  function take(): RecordFacts | null {
    const next = queue.pop();
    if (next !== undefined) return next;
    const due = mirror.records.due(clock.now(), batch + inFlight.size, job_id);
    queue = due.filter((record) => !inFlight.has(keyOf(record))).reverse();
    return queue.pop() ?? null;
  }

  async function refresh(record: RecordFacts): Promise<void> {
    try {
      const result = await refreshes[record.resource](ports, record, ended);
      if (result.kind === 'key-refused') {
        key_refused = result.message;
        stop.abort(new Error('the service refuses the key'));
      } else if (result.kind !== 'postponed') {
        counts[result.kind] += 1;
        if (result.kind === 'stored' && result.changed) counts.changed += 1;
        report(ports, record, result);
      }
    } catch (error) {
      if (ended.aborted) return;
      if (isDiskTrouble(error)) throw error;
      // A record that trips over a bug of ours must not hold up the others.
      log.error({ ...keyFields(record), err: error }, 'refresh threw');
      recordFailure(ports, record, { code: 'bug', message: String(error).slice(0, 200), final: false });
      counts.failed += 1;
    }
  }

  async function work(): Promise<void> {
    for (;;) {
      if (ended.aborted) return;
      const record = take();
      if (record === null) {
        if (inFlight.size === 0) return notify();
        // A list page, or a record that makes another one due, may bring work for idle hands.
        await news.promise;
        continue;
      }
      inFlight.add(keyOf(record));
      try {
        await refresh(record);
      } finally {
        inFlight.delete(keyOf(record));
        notify();
      }
      if ((counts.stored + counts.failed) % checkpointEvery === 0) mirror.checkpoint();
    }
  }

  function notify(): void {
    const told = news;
    news = Promise.withResolvers();
    told.resolve();
  }

  ended.addEventListener('abort', notify);
  try {
    await Promise.all(Array.from({ length: workers }, work));
  } finally {
    stop.abort(new Error('the pass has ended'));
    ended.removeEventListener('abort', notify);
  }
  mirror.transaction(() => {
    mirror.jobs.finish(clock.now());
    if (isFilled(ports)) mirror.markFilled(clock.now());
  });
  return { ...counts, key_refused };
}

/** Filled: the list was walked, and every record was read once or is in quarantine. */
function isFilled({ mirror }: SyncPorts): boolean {
  if (mirror.filledAt() !== null) return false;
  return mirror.records.fill().waiting === 0 && mirror.products.count() > 0;
}

function report(
  { log }: SyncPorts,
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

function isDiskTrouble(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN)/.test(code);
}

function keyOf({ resource, product_id, edition, part }: RecordFacts): string {
  return `${resource} ${product_id} ${edition} ${part}`;
}

function keyFields({ resource, product_id, edition, part }: RecordFacts) {
  return { resource, product_id, edition, part };
}
