import { storeProductDetail } from '../catalogue/product.ask.ts';
import type { ProductEntry } from '../catalogue/product.rules.ts';
import { type AvailabilityRead, readAvailability } from '../dates/availability.ask.ts';
import { doubtSaleStatus } from '../dates/off-sale-answer.ts';
import { absenceReads, hasOwnReads, noteGone, withholdDates } from '../schedule/deciding-reads.ts';
import type { RecordFacts, RecordKey } from '../schedule/record.rules.ts';
import type { ReadLane, RefusedRead, Sync } from '../schedule/sync.ts';
import { checkRetryMs } from '../service/backoff.rules.ts';
import type { Limiter } from '../service/limiter.ts';
import type { Reading } from '../service/reading.ts';
import { isGoneBy } from '../trust/absence.rules.ts';
import { isAboutProduct, meansGone } from '../trust/refusal-reach.rules.ts';
import { type LiveCall, type LiveResult, unanswered } from './live-call.ts';
import type { Unanswered } from './verdict.rules.ts';

/**
 * Calls the service until it answers, or until the pause it asked for outlasts every waiter's deadline. `before`: the
 * previous call for the window.
 */
export async function readLive(
  lane: ReadLane,
  limiter: Limiter,
  call: LiveCall,
  before: LiveCall | undefined,
): Promise<LiveResult> {
  const { sync } = lane;
  const { mirror, clock, chance } = sync;
  const { key, signal } = call;
  await call.turn(before);
  signal.throwIfAborted();
  for (let failures = 0; ; ) {
    const record = mirror.schedule.records.find(key);
    if (record === null) return unanswered('outside-horizon');
    const read = await readAvailability(
      lane,
      // This reason also lets the answer remove dates at once, and applies its sold-out dates to other currencies.
      { ...record, due_reason: 'live-check' },
      {
        signal,
        // The mirror has this answer already: no shopper waits for the disk.
        confirmed: (sent_at) => call.settle({ kind: 'answered', sale: 'on', unanswered: [], sent_at }),
        late: (said) => call.settle({ kind: 'answered', sale: said.sale, unanswered: [], sent_at: said.sent_at, said }),
        begins: () => call.sent('yes'),
      },
    );
    if (read.kind === 'stored') return { ...read, kind: 'answered' };
    logNoAnswer(sync, key, read);
    if (read.kind === 'refused') return await judgeRefusal(lane, call, read);
    call.sent('no');
    // The same would be answered again.
    if (read.kind === 'failed' && read.code === 'members-unreadable') {
      const result = unanswered('unreadable');
      call.settle(result);
      return result;
    }
    // A failed read is repeated while a waiter has time left.
    if (read.kind === 'failed') failures += 1;
    const rests = read.kind === 'throttled' ? (read.rests?.until ?? 0) - clock.now() : 0;
    const rest = Math.max(rests, read.kind === 'failed' ? checkRetryMs(failures, chance()) : 0);
    const result = unanswered(reasonOf(read));
    call.answerWithin(Math.max(limiter.pause().not_before - clock.now(), rest), result);
    if (!call.isAwaited) return result;
    if (rest > 0) await clock.sleep(rest, signal);
  }
}

function logNoAnswer({ log }: Sync, key: RecordKey, read: Exclude<AvailabilityRead, { kind: 'stored' }>): void {
  // The daemon reports an outage once by itself, so a check logs it at debug level.
  const away = read.kind === 'throttled' || read.kind === 'unreachable';
  log[away ? 'debug' : 'warn']({ ...key, ...read, reason: reasonOf(read) }, 'a live read was not answered');
}

/** Returns the reason why a read got no answer. */
function reasonOf(read: Exclude<AvailabilityRead, { kind: 'stored' }>): Unanswered {
  switch (read.kind) {
    case 'throttled':
      return 'throttled';
    case 'unreachable':
      return 'service-unreachable';
    case 'refused':
      return read.status === 401 ? 'key-refused' : 'service-refused';
    case 'failed':
      return read.code === 'other-dates' ? 'other-dates' : 'service-failed';
    default:
      return 'service-failed';
  }
}

/**
 * Returns the result for a live read whose dates were refused. A 404 or 410 for the dates alone proves nothing, so the product
 * itself is requested. If the service does not have it either, its dates are withheld until a read answers with dates
 * again.
 */
async function judgeRefusal(lane: ReadLane, call: LiveCall, refusal: RefusedRead): Promise<LiveResult> {
  const { sync } = lane;
  const { mirror } = sync;
  const { key, signal } = call;
  const { product_id } = key;
  const { status } = refusal;
  // Not awaited: the shopper does not wait until the reach of the refusal is known.
  sync.refusals.judge(key, refusal, signal).catch(() => undefined);
  if (!meansGone(refusal)) return unanswered(reasonOf(refusal));
  const certain = isGoneBy(status, mirror.catalogue.removals.one({ product_id }));
  const itself = certain ? 'unasked' : await askForItself(lane, product_id, signal);
  const isGone = certain || itself === 'missing';
  const result: LiveResult = isGone
    ? { kind: 'gone', reason: certain || status === 410 ? 'withdrawn' : 'not-found' }
    : unanswered('service-refused');
  const store = () => {
    if (certain) withholdDates(sync, product_id, 'live-check');
    if (itself === 'missing') noteGone(sync, product_id, { answer: 'gone', reason: 'live-check' });
    else if (typeof itself === 'object') storeProductDetail(sync, itself.record, itself.reading);
    else doubtSaleStatus(sync, product_id);
  };
  await lane.commit(store, 'changed', () => call.settle(result));
  return result;
}

/**
 * Requests a product whose dates were answered with 404 by its own read. If products have none, requests its checkout
 * information, which then also decides about absence. `unknown`: the answer shows nothing about the product.
 */
async function askForItself(
  { sync, upstream }: ReadLane,
  product_id: number,
  signal: AbortSignal,
): Promise<'missing' | 'unknown' | ItselfThere> {
  const { mirror, policy } = sync;
  const { languages, currencies } = policy.extent;
  const question = { product_id, language: languages[0], known_hash: null, signal };
  const [kind] = absenceReads(policy);
  const record = kind === undefined ? null : mirror.schedule.records.find({ ...kind, product_id });
  if (record === null) return 'unknown';
  // If this path never answered for the product, the path itself may be missing.
  if (!hasOwnReads(policy) && record.fetched_at === null) return 'unknown';
  const own = hasOwnReads(policy) ? await upstream.product({ ...question, currency: currencies[0] }) : null;
  if (own?.kind === 'read') return { record: { ...record, due_reason: 'live-check' }, reading: own };
  const reading = own ?? (await upstream.checkoutInformation(question));
  if (reading.kind !== 'refused' || !meansGone(reading)) return 'unknown';
  return isAboutProduct(await sync.refusals.judge(record, reading, signal)) ? 'missing' : 'unknown';
}

/** An answer of the product's own read: the product exists. */
interface ItselfThere {
  readonly record: RecordFacts;
  readonly reading: Extract<Reading<ProductEntry>, { kind: 'read' }>;
}
