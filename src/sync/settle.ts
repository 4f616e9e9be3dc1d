import { quarantineAfter, retryAt } from '../domain/backoff.ts';
import { dueByCadence } from '../domain/cadence.ts';
import type { RecordFacts } from '../domain/record.ts';
import type { Reading } from '../upstream/client.ts';
import type { SyncPorts } from './ports.ts';

/** What refreshing a record came to. */
export type Refreshed =
  | { readonly kind: 'stored'; readonly changed: boolean }
  /** The record's own failure: it is tried again after a backoff, and nobody else waits. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** Back-pressure or no connection: not the record's fault, it stays due. */
  | { readonly kind: 'postponed' }
  /** The service refuses the key: nothing else will go better. */
  | { readonly kind: 'key-refused'; readonly message: string };

type NoAnswer = Exclude<Reading<never>, { kind: 'read' | 'unchanged' }>;

/** A record was read and stored: when it is due again, in the transaction that stored it. */
export function settleStored(
  { mirror }: Pick<SyncPorts, 'mirror'>,
  record: RecordFacts,
  read: { sent_at: number; changed: boolean; body_hash: string | null; cadence: number },
): Refreshed {
  const { sent_at, changed, body_hash, cadence } = read;
  mirror.records.fetched(record, {
    sent_at,
    changed,
    body_hash,
    stale_at: sent_at + cadence,
    due: dueByCadence(record, sent_at, cadence),
  });
  return { kind: 'stored', changed };
}

/** A read came to nothing: whose fault it is, and when again. The old copy stays. */
export function settleFailure(
  ports: Pick<SyncPorts, 'mirror' | 'clock' | 'chance'>,
  record: RecordFacts,
  reading: NoAnswer,
): Refreshed {
  if (reading.kind === 'throttled' || reading.kind === 'unreachable') return { kind: 'postponed' };
  if (reading.kind === 'refused' && reading.status === 401) return { kind: 'key-refused', message: reading.message };
  const { code, message } = reading;
  recordFailure(ports, record, { code, message, final: reading.kind === 'refused' });
  return { kind: 'failed', code, message };
}

/** Counts a failure of the record. A `final` one (the service said no) or the fifth in a row ends its part in a resync. */
export function recordFailure(
  { mirror, clock, chance }: Pick<SyncPorts, 'mirror' | 'clock' | 'chance'>,
  record: RecordFacts,
  { code, message, final }: { code: string; message: string; final: boolean },
): void {
  const now = clock.now();
  const failures = record.failures + 1;
  mirror.transaction(() => {
    const due = { at: retryAt(failures, chance(), now), reason: 'retry' as const };
    mirror.records.failed(record, { at: now, text: `${code}: ${message}`, due });
    if (record.job_id !== null && (final || failures >= quarantineAfter)) mirror.jobs.giveUp(record, record.job_id);
  });
}
