import type { Instant } from '../../clock.ts';
import { type AvailabilityAnswer, summarise } from '../../domain/catalogue/availability.ts';
import type { ProductEntry } from '../../domain/catalogue/product.ts';
import type { Said } from '../../domain/evidence/claims.ts';
import { textsIn } from '../../domain/evidence/texts.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { walkKinds } from '../../domain/schedule/record-kinds.ts';
import type { Dates } from '../../domain/time/dates.ts';
import type { ProductRead } from '../../mirror/catalogue/product/entry.ts';
import type { ClaimVerdict, Sync } from '../records/context.ts';
import { askReads, hasOwnReads, ownReads } from '../records/deciding-reads.ts';
import { datesOf } from '../records/window-dates.ts';
import { soonest } from './evidence.ts';

/*
 * Determines for each kind of answer which data it removes, and passes the claims to the judge. Called in the
 * transaction that would store the answer.
 */

/** Dates in an answer; null: the same as stored; `off-sale`: none of them can be bought. */
type DatesSaid = Pick<AvailabilityAnswer, 'days'> | 'off-sale' | null;

const noDates = { dates: 0, lowest_price: null };

/** Passes on the claims of an answer about a window of dates. */
export function judgeDates(
  { mirror, evidence, policy, clock }: Sync,
  record: RecordFacts,
  { from, to }: Dates,
  answer: DatesSaid,
  by: { readonly sent_at: Instant; readonly withdraws?: boolean },
): ClaimVerdict {
  const product = mirror.catalogue.products.find(record.product_id);
  // A product that has just come back showed no dates while it was off sale.
  const isBack = record.due_reason === 'sale-status-changed';
  const isShown = product?.sellable === true && product.dates_off_at === null && !isBack;
  const key = { product_id: record.product_id, currency: record.edition };
  const stored = mirror.catalogue.availability.shown(key, from, to);
  const shown = isShown ? stored : noDates;
  // "Not on sale" is about the whole product: once believed of one window, it withholds the dates of all.
  const near =
    answer === 'off-sale' && isShown && record.part !== 0
      ? datesOf(policy.of(product.category), product, 0, clock.now())
      : null;
  const said = answer === null ? stored : answer === 'off-sale' ? noDates : saidBy(answer);
  const reach = record.part === 0 ? 'near' : 'far';
  return evidence.judge(
    record,
    [
      { subject: `${reach}-dates`, shown: shown.dates, said: said.dates },
      // An answer without dates has no prices; its claim is about the dates.
      { subject: `${reach}-prices`, shown: said.dates === 0 ? null : shown.lowest_price, said: said.lowest_price },
      ...(near === null
        ? []
        : [
            {
              subject: 'near-dates',
              part: 0,
              shown: mirror.catalogue.availability.shown(key, near.from, near.to).dates,
              said: 0,
            } as const,
          ]),
    ],
    { ...by, reason: record.due_reason },
  );
}

function saidBy({ days }: Pick<AvailabilityAnswer, 'days'>): { dates: number; lowest_price: number | null } {
  const available = [...days.values()].map(summarise).filter((day) => day.available);
  const prices = available.flatMap(({ lowest_price }) => (lowest_price === null ? [] : [lowest_price]));
  return { dates: available.length, lowest_price: prices.length === 0 ? null : Math.min(...prices) };
}

/** The verdict on an entry; `sale-only`: its sale status is stored, and the mirror keeps its texts and prices. */
export interface EntryVerdict extends Pick<ClaimVerdict, 'next'> {
  readonly kind: ClaimVerdict['kind'] | 'sale-only';
}

/**
 * Passes on the claims of a list entry or of a product's own read. Claims about texts and prices are confirmed by the
 * same read.
 */
export function judgeEntry(
  ports: Sync,
  entry: ProductEntry,
  { source, language, currency, primary, sent_at, reason }: Omit<ProductRead, 'now' | 'stale_at'>,
): EntryVerdict {
  const { mirror, evidence, policy } = ports;
  const { product_id } = entry;
  const known = mirror.catalogue.products.find(product_id);
  // A new or returning product shows nothing yet, and an answer older than the stored one is not stored.
  if (known === null || !mirror.catalogue.products.isVisible(product_id) || known.read_at > sent_at)
    return { kind: 'store', next: null };
  const stored = mirror.catalogue.products.said({ product_id, language, currency, source });
  const resource = source === 'list' ? 'products' : 'product_detail';
  const verdict = evidence.judge(
    { resource, product_id, edition: `${language}/${currency}`, part: 0 },
    [
      textsSaid(stored.document, entry.document),
      { subject: 'from-prices', shown: stored.from_price, said: entry.from_price },
    ],
    { sent_at, reason },
  );
  if (language !== primary.language || currency !== primary.currency) return verdict;
  const announced = mirror.push.closures.inForce(product_id) !== null;
  const sold = evidence.judge(
    { ...walkKinds(policy.extent).primary, product_id },
    [{ subject: 'sale-status', shown: onSale(known), said: onSale(entry) }],
    { sent_at, reason, announced },
  );
  // If products have their own reads, these decide.
  const isElsewhere = source === 'list' && hasOwnReads(policy);
  if (isElsewhere && sold.next !== null) askReads(ports, ownReads(policy), [product_id], sold.next);
  const next = soonest([verdict.next, isElsewhere ? null : sold.next]);
  return { kind: sold.kind === 'store' && verdict.kind === 'keep' ? 'sale-only' : sold.kind, next };
}

function onSale({ sale_status }: Pick<ProductEntry, 'sale_status'>): number {
  return sale_status === 'enabled' ? 1 : 0;
}

/** Returns the claim about texts: whether a document lacks some that the earlier document of the same kind had. */
export function textsSaid(before: string | null, after: string): Said {
  const [shown, said] = [textsIn(before), textsIn(after)];
  // A single missing text is enough: a shop has nothing else to show in its place.
  const isLess = [...shown].some((name) => !said.has(name));
  return { subject: 'texts', shown: shown.size, said: isLess ? 0 : said.size };
}
