import type { Instant } from '../../clock.ts';
import { type AvailabilityAnswer, summarise } from '../../domain/catalogue/availability.ts';
import type { ProductEntry } from '../../domain/catalogue/product.ts';
import type { Said } from '../../domain/evidence/claims.ts';
import { textsIn } from '../../domain/evidence/texts.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { walkKinds } from '../../domain/schedule/record-kinds.ts';
import type { Dates } from '../../domain/time/dates.ts';
import type { ProductRead } from '../../mirror/catalogue/product/entry.ts';
import type { Passed, SyncPorts } from '../records/context.ts';
import { askSaleStatus, hasOwnReads } from '../records/deciding-reads.ts';
import { soonest } from './evidence.ts';

/*
 * Says of each kind of answer what it takes away, and passes it on. Called in the transaction that would store it.
 */

type Ports = Omit<SyncPorts, 'upstream' | 'progressed' | 'commit'>;

/** What an answer says of dates; null: the same as is stored, `off-sale`: that none of them can be bought. */
type DatesSaid = Pick<AvailabilityAnswer, 'days'> | 'off-sale' | null;

/** Passes on what an answer says of a window of dates. */
export function passDates(
  { mirror, evidence, ...ports }: Ports,
  record: RecordFacts,
  { from, to }: Dates,
  answer: DatesSaid,
  by: { readonly sent_at: Instant; readonly withdraws?: boolean },
): Passed {
  const product = mirror.products.find(record.product_id);
  // Dates of a product that has just come back were not shown while it was off sale.
  const isBack = record.due_reason === 'sale-status-changed';
  const isShown = product?.sellable === true && product.dates_off_at === null && !isBack;
  const stored = mirror.availability.shown({ product_id: record.product_id, currency: record.edition }, from, to);
  const shown = isShown ? stored : { dates: 0, lowest_price: null };
  const said = answer === null ? stored : answer === 'off-sale' ? { dates: 0, lowest_price: null } : saidBy(answer);
  const tier = record.part === 0 ? 'near' : 'far';
  return evidence.pass(
    { mirror, ...ports },
    record,
    [
      { subject: `${tier}-dates`, shown: shown.dates, said: said.dates },
      // Without dates there are no prices, and the dates are the claim.
      { subject: `${tier}-prices`, shown: said.dates === 0 ? null : shown.lowest_price, said: said.lowest_price },
    ],
    { ...by, reason: record.due_reason },
  );
}

function saidBy({ days }: Pick<AvailabilityAnswer, 'days'>): { dates: number; lowest_price: number | null } {
  const available = [...days.values()].map(summarise).filter((day) => day.available);
  const prices = available.flatMap(({ lowest_price }) => (lowest_price === null ? [] : [lowest_price]));
  return { dates: available.length, lowest_price: prices.length === 0 ? null : Math.min(...prices) };
}

/** What becomes of an entry; `sale-only`: its sale status is stored, and the mirror keeps its texts and prices. */
export type PassedEntry = Passed | (Omit<Extract<Passed, { kind: 'keep' }>, 'kind'> & { readonly kind: 'sale-only' });

/** Passes on what a list entry, or a product's own read, says. What it claims of texts and prices is asked of the same read. */
export function passEntry(
  { mirror, evidence, policy, ...ports }: Ports,
  entry: ProductEntry,
  {
    source,
    language,
    currency,
    primary,
    sent_at,
    reason,
  }: Pick<ProductRead, 'source' | 'language' | 'currency' | 'primary' | 'sent_at' | 'reason'>,
): PassedEntry {
  const { product_id } = entry;
  const known = mirror.products.find(product_id);
  // A new or returning product shows nothing yet, and an older answer is not stored.
  if (known === null || !mirror.products.isVisible(product_id) || known.read_at > sent_at)
    return { kind: 'store', look: null };
  const stored = mirror.products.said({ product_id, language, currency, source });
  const texts = textsSaid(stored.document, entry.document);
  const price: Said = { subject: 'from-prices', shown: stored.from_price, said: entry.from_price };
  const answer = { sent_at, reason };
  const all = { mirror, policy, ...ports };
  const resource = source === 'list' ? ('products' as const) : ('product_detail' as const);
  const record = { resource, product_id, edition: `${language}/${currency}`, part: 0 };
  const passed = evidence.pass(all, record, [texts, price], answer);
  if (language !== primary.language || currency !== primary.currency) return passed;
  const sale: Said = {
    subject: 'sale-status',
    shown: known.sale_status === 'enabled' ? 1 : 0,
    said: entry.sale_status === 'enabled' ? 1 : 0,
  };
  const announced = mirror.closures.inForce(product_id) !== null;
  const place = { ...walkKinds(policy.extent).primary, product_id };
  const sold = evidence.pass(all, place, [sale], { ...answer, announced });
  let next = sold.kind === 'store' ? sold.look : sold.due;
  if (source === 'list' && next !== null && hasOwnReads(policy)) {
    askSaleStatus(all, product_id, next);
    next = null;
  }
  if (passed.kind === 'store')
    return sold.kind === 'store' ? { ...sold, look: soonest([passed.look, next]) } : { ...sold, due: next };
  const due = soonest([passed.due, next]);
  return sold.kind === 'store' ? { ...passed, kind: 'sale-only', due } : { ...passed, due };
}

/** Returns which texts a document takes away of those that one of the same kind had. */
function textsSaid(before: string | null, after: string): Said {
  const [shown, said] = [textsIn(before), textsIn(after)];
  // One text that was there is enough: a shop has nothing else to show in its place.
  const isLess = [...shown].some((name) => !said.has(name));
  return { subject: 'texts', shown: shown.size, said: isLess ? 0 : said.size };
}

/** Passes on what an answer says of a product's checkout. */
export function passCheckoutInformation(
  { mirror, evidence, ...ports }: Ports,
  record: RecordFacts,
  document: string,
  sent_at: Instant,
): Passed {
  const stored = mirror.checkoutInformation.document(record);
  return evidence.pass({ mirror, ...ports }, record, [textsSaid(stored, document)], {
    sent_at,
    reason: record.due_reason,
  });
}

/** Passes on how many variants an answer names. */
export function passVariants(
  { mirror, evidence, ...ports }: Ports,
  record: RecordFacts,
  said: number,
  sent_at: Instant,
): Passed {
  const shown = mirror.variants.count(record);
  return evidence.pass({ mirror, ...ports }, record, [{ subject: 'variants', shown, said }], {
    sent_at,
    reason: record.due_reason,
  });
}
