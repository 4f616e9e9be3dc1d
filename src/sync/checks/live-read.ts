import { checkRetryMs } from '../../domain/budget/backoff.ts';
import { isGoneBy } from '../../domain/sale/absence.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import { type AvailabilityRead, readAvailability } from '../reads/availability.ts';
import { doubtSaleStatus } from '../reads/off-sale-answer.ts';
import type { Commit, SyncPorts } from '../records/context.ts';
import { type CallPause, type LiveResult, reasonOf, unanswered } from './live-result.ts';
import type { PendingCall } from './pending-calls.ts';

/** The ports of a live read, and its callbacks. */
export interface LiveReading {
  readonly ports: SyncPorts;
  readonly commit: Commit;
  readonly pause: CallPause;
  /** Called when the request is sent. */
  sends(): void;
  /** Called with the answer before it is stored. */
  settle(result: LiveResult): void;
}

/** Asks until there is an answer, or no waiter's deadline lies beyond the pause the service asked for. */
export async function readLive(
  { ports, commit, pause, sends, settle }: LiveReading,
  call: PendingCall<unknown>,
): Promise<LiveResult> {
  const { mirror, clock, chance } = ports;
  const { key, stop, waiters } = call;
  await call.turn;
  stop.signal.throwIfAborted();
  for (let failures = 0; ; ) {
    const record = mirror.records.find(key);
    if (record === null) return unanswered('outside-horizon');
    call.sent_at = null;
    const read = await readAvailability(
      ports,
      { ...record, due_reason: 'live-check' },
      {
        signal: stop.signal,
        commit,
        // The mirror has it already: no shopper waits for the disk.
        confirmed: (sent_at) => settle({ kind: 'answered', sale: 'on', unanswered: [], sent_at }),
        late: (said) => settle({ kind: 'answered', sale: said.sale, unanswered: [], sent_at: said.sent_at, said }),
        sent: sends,
      },
    );
    if (read.kind === 'stored') return { ...read, kind: 'answered' };
    const refused = noteNoAnswer(ports, commit, key, read);
    if (refused !== null) return refused;
    call.sent_at = null;
    // A failed read is tried again while a waiter has time left.
    if (read.kind === 'failed') failures += 1;
    const rest = read.kind === 'failed' ? checkRetryMs(failures, chance()) : 0;
    const until = Math.max(pause.now()?.until ?? 0, clock.now() + rest);
    for (const waiter of [...waiters]) if (waiter.until <= until) waiter.settle(unanswered(reasonOf(read)));
    if (waiters.size === 0) return unanswered(reasonOf(read));
    if (rest > 0) await clock.sleep(rest, stop.signal);
  }
}

/** Logs a read without an answer. Returns what a refusal means; null: it was not refused, and may be repeated. */
function noteNoAnswer(
  ports: SyncPorts,
  commit: Commit,
  key: RecordKey,
  read: Exclude<AvailabilityRead, { kind: 'stored' }>,
): LiveResult | null {
  const { mirror, log } = ports;
  const reason = reasonOf(read);
  // The daemon reports an outage itself: not once for every check.
  const away = read.kind === 'throttled' || read.kind === 'unreachable';
  log[away ? 'debug' : 'warn']({ ...key, ...read, reason }, 'a live read was not answered');
  if (read.kind !== 'refused') return null;
  if (read.status === 404 || read.status === 410)
    void commit(() => doubtSaleStatus(ports, key.product_id), 'soon').catch(() => undefined);
  return isGoneBy(read.status, mirror.removals.one(key.product_id)) ? { kind: 'gone' } : unanswered(reason);
}
