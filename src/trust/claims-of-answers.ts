import { hash } from 'node:crypto';
import type { ProductEntry, SaleStatus } from '../catalogue/product.rules.ts';
import type { KnownProduct, ProductRead } from '../catalogue/product-reads.store.ts';
import type { Variant } from '../catalogue/variant.rules.ts';
import { type AvailabilityAnswer, summarise } from '../dates/availability.rules.ts';
import type { Instant } from '../kernel/clock.ts';
import type { Dates } from '../kernel/time/venue.ts';
import { isMembers } from '../kernel/values/exact-json.ts';
import { askReads, hasOwnReads, ownReads, readsAbout } from '../schedule/deciding-reads.ts';
import { type Due, type RecordFacts, walkKinds } from '../schedule/record.rules.ts';
import type { ClaimVerdict, Sync } from '../schedule/sync.ts';
import { datesOf } from '../schedule/window-dates.ts';
import type { Said, Subject } from './claims.rules.ts';
import { soonest } from './evidence.ts';

/*
 * Determines for each kind of answer which data it removes, and passes the claims to the judge. Called in the
 * transaction that would store the answer.
 */

/** Dates in an answer; null: the same as stored; `off-sale`: none of them can be bought. */
type DatesSaid = AvailabilityAnswer | 'off-sale' | null;

/**
 * Passes on the claims of an answer about a window of dates. `shows`: it has dates that can be bought. `times`: how many
 * times each of these has on average; null: as stored.
 */
export function judgeDates(
  sync: Sync,
  record: RecordFacts,
  { from, to }: Dates,
  answer: DatesSaid,
  by: { readonly sent_at: Instant; readonly withdraws?: boolean; readonly earlier?: CountedDates },
): ClaimVerdict & { readonly shows: boolean; readonly times: number | null; readonly counted: CountedDates } {
  const { mirror, evidence, policy, clock } = sync;
  const product = mirror.catalogue.products.find(record.product_id);
  // A product that has just come back showed no dates while it was off sale.
  const isBack = record.due_reason === 'sale-status-changed';
  const isShown = product?.sellable === true && product.dates_off_at === null && !isBack;
  const key = { product_id: record.product_id, currency: record.edition };
  const stored = mirror.catalogue.availability.shown(key, from, to);
  const shown = isShown ? stored : noDates;
  // What a first read brings was not gained.
  const dates_before = record.fetched_at === null && shown.dates === 0 ? null : shown.dates;
  // "Not on sale" is about the whole product: once believed of one window, it withholds the dates of all.
  const near =
    answer === 'off-sale' && isShown && record.part !== 0
      ? datesOf(policy.of(product.category), product, 0, clock.now())
      : null;
  const same: SaidDates = { ...stored, known: stored.dates, times: null };
  const said = answer === null ? same : answer === 'off-sale' ? nothingSaid : saidBy(answer, stored.last);
  const reach = record.part === 0 ? 'near' : 'far';
  const { dates, lowest_price, times } = said;
  const times_before = times === null || !isShown ? null : mirror.schedule.records.times(record);
  const ids = idsSaid(sync, record, answer === null || answer === 'off-sale' ? null : answer.variants);
  // A window that is answered in parts loses as much as all of them do.
  const { earlier = { shown: 0, said: 0 } } = by;
  const counted = { shown: earlier.shown + shown.dates, said: earlier.said + said.known };
  const claims: Said[] = [
    ids.said,
    { subject: `${reach}-dates`, shown: dates_before, said: dates },
    // An answer without dates has no prices; its claim is about the dates.
    { subject: `${reach}-prices`, shown: dates === 0 ? null : shown.lowest_price, said: lowest_price },
    { subject: `fewer-${reach}-dates`, shown: dates_before === null ? null : counted.shown, said: counted.said },
    { subject: `alike-${reach}-prices`, shown: shown.lowest_price, said: lowest_price },
    {
      subject: 'fewer-times',
      shown: Math.round((times_before ?? times ?? 0) * dates),
      said: Math.round((times ?? 0) * dates),
    },
  ];
  if (answer !== null && answer !== 'off-sale') claims.push(zoneSaid(product, answer));
  if (near !== null) {
    const { dates } = mirror.catalogue.availability.shown(key, near.from, near.to);
    claims.push({ subject: 'near-dates', part: 0, shown: dates, said: 0 });
  }
  const { sent_at, withdraws = true } = by;
  const answered = { sent_at, withdraws, reason: record.due_reason };
  const verdict = evidence.judge(record, ids.owner === null ? claims : [ids.said], answered);
  if (verdict.kind === 'keep' && ids.owner !== null) askOwner(sync, record, ids.owner);
  return { ...verdict, shows: dates > 0, times, counted };
}

/** Dates of a window that are shown, and how many of those its answers have. */
export interface CountedDates {
  readonly shown: number;
  readonly said: number;
}

const noDates = { dates: 0, lowest_price: null, last: null };

/** Dates in an answer that can be bought. */
interface SaidDates {
  readonly dates: number;
  /** Those of them up to the last date that was read before: later ones make up for no loss. */
  readonly known: number;
  readonly lowest_price: number | null;
  /** Times of a date, on average; null: there are no dates, or those that are stored. */
  readonly times: number | null;
}

const nothingSaid: SaidDates = { dates: 0, known: 0, lowest_price: null, times: null };

function saidBy({ days }: AvailabilityAnswer, last: string | null): SaidDates {
  let [dates, known, times] = [0, 0, 0];
  let lowest_price: number | null = null;
  for (const [date, form] of days) {
    const day = summarise(form);
    if (!day.available) continue;
    dates += 1;
    known += last !== null && date <= last ? 1 : 0;
    times += form[2].length;
    if (day.lowest_price !== null) lowest_price = Math.min(lowest_price ?? day.lowest_price, day.lowest_price);
  }
  return { dates, known, lowest_price, times: dates === 0 ? null : times / dates };
}

/** Passes on the claims of an answer about a product's variants; null: the same as stored. `shows`: it has any. */
export function judgeVariants(
  sync: Sync,
  record: RecordFacts,
  answer: readonly Variant[] | null,
  { sent_at }: { readonly sent_at: Instant },
): ClaimVerdict & { readonly shows: boolean } {
  const { mirror, evidence } = sync;
  const by = { sent_at, reason: record.due_reason };
  const shown = mirror.catalogue.variants.ofRead(record);
  const said = answer ?? shown;
  const shows = said.length > 0;
  const ids = idsSaid(sync, record, answer);
  const amounts = { shown: shown.length, said: said.length };
  const claims: Said[] = [
    ids.said,
    { subject: 'variants', ...amounts },
    { subject: 'fewer-variants', ...amounts },
    // Types that an answer adds take nothing away: a first read of the variants has more than those that dates brought.
    answer === null ||
    isWithin(
      shown.map(({ variant_type }) => variant_type),
      answer.map(typeOf),
    )
      ? valueSaid('alike-variant-types', undefined, undefined)
      : valueSaid(
          'alike-variant-types',
          typesOf(shown.map(({ variant_type }) => variant_type)),
          typesOf(answer.map(typeOf)),
        ),
  ];
  const verdict = evidence.judge(record, ids.owner === null ? claims : [ids.said], by);
  if (verdict.kind === 'keep' && ids.owner !== null) askOwner(sync, record, ids.owner);
  return { ...verdict, shows };
}

/** Returns whether an answer has every type that is shown. */
function isWithin(shown: readonly unknown[], said: readonly unknown[]): boolean {
  return new Set(shown).isSubsetOf(new Set(said));
}

/** Returns the types of some variants, each once, by name. */
function typesOf(types: readonly (string | null)[]): string {
  return [...new Set(types.map((type) => type ?? 'none'))].sort().join(', ');
}

function typeOf({ document }: Variant): string | null {
  const { variant_type } = JSON.parse(document) as { readonly variant_type?: unknown };
  return typeof variant_type === 'string' ? variant_type : null;
}

/**
 * Returns the claim that variants of another product are this one's. Such an answer is probably about the other product,
 * and proves nothing else.
 */
function idsSaid({ mirror }: Sync, { product_id }: RecordFacts, variants: readonly Variant[] | null) {
  const ids = variants?.map(({ variant_id }) => variant_id) ?? [];
  const owner = ids.length === 0 ? null : mirror.catalogue.variants.otherOwner(ids, product_id);
  const said: Said = {
    subject: 'other-ids',
    shown: 1,
    said: owner === null ? 1 : 0,
    shown_as: String(product_id),
    said_as: String(owner ?? product_id),
  };
  return { said, owner };
}

/** Makes the read due of a product whose variants another one was answered with: the answers may have been exchanged. */
function askOwner(sync: Sync, record: RecordFacts, owner: number): void {
  const { mirror, policy, clock } = sync;
  const about = { ...record, subject: 'other-ids' } as const;
  if (mirror.catalogue.products.isVisible(owner))
    askReads(sync, readsAbout(policy, about), [owner], { at: clock.now(), reason: 'claimed' });
}

/** The verdict on an entry; `sale-only`: its sale status is stored, and the mirror keeps its texts and prices. */
export interface EntryVerdict {
  readonly kind: ClaimVerdict['kind'] | 'sale-only';
  readonly next: Due | null;
}

/**
 * Passes on the claims of a list entry or of a product's own read. Claims about texts and prices are confirmed by the
 * same read.
 */
export function judgeEntry(
  sync: Sync,
  entry: ProductEntry,
  { source, language, currency, primary, sent_at, reason }: ProductRead,
): EntryVerdict {
  const { mirror, evidence, policy } = sync;
  const { product_id } = entry;
  const known = mirror.catalogue.products.find(product_id);
  // A new or returning product shows nothing yet, and an answer older than the stored one is not stored.
  if (known === null || !mirror.catalogue.products.isVisible(product_id) || known.read_at > sent_at)
    return { kind: 'store', next: null };
  const stored = mirror.catalogue.products.said({ product_id, language, currency, source });
  const resource = source === 'list' ? 'products' : 'product_detail';
  const isPrimary = language === primary.language && currency === primary.currency;
  const verdict = evidence.judge(
    { resource, product_id, edition: `${language}/${currency}`, part: 0 },
    [
      ...textsSaid(stored.document, entry.document, { titled: true, zoned: isPrimary }),
      { subject: 'from-prices', shown: stored.from_price, said: entry.from_price },
      { subject: 'alike-from-prices', shown: stored.from_price, said: entry.from_price },
      // Only reads in the primary language and currency bring these.
      ...(isPrimary ? imageSaid(sync, entry) : []),
    ],
    { sent_at, reason },
  );
  if (!isPrimary) return verdict;
  // An authenticated notification has announced a closure: reads that confirm it claim nothing.
  const { sale_status } = mirror.push.closures.inForce({ product_id }) === null ? entry : known;
  const sold = evidence.judge(
    { ...walkKinds(policy.extent).primary, product_id },
    [{ subject: 'sale-status', shown: onSale(known.sale_status), said: onSale(sale_status) }],
    { sent_at, reason },
  );
  // If products have their own reads, these decide.
  const isElsewhere = source === 'list' && hasOwnReads(policy);
  if (isElsewhere && sold.next !== null) askReads(sync, ownReads(policy), [product_id], sold.next);
  const next = soonest([verdict.next, isElsewhere ? null : sold.next]);
  return { kind: sold.kind === 'store' && verdict.kind === 'keep' ? 'sale-only' : sold.kind, next };
}

function onSale(sale_status: SaleStatus): number {
  return sale_status === 'enabled' ? 1 : 0;
}

/**
 * Returns the claims about the texts of a document, compared with the earlier document of the same kind: whether it lacks
 * some, has far less of them, or others. `titled`: it is a product's; otherwise it has what a customer must know. `zoned`: it
 * decides about the time zone.
 */
export function textsSaid(
  before: string | null,
  after: string,
  { titled = false, zoned = false }: { readonly titled?: boolean; readonly zoned?: boolean } = {},
): Said[] {
  // Most reads bring the document again that is stored.
  const isSame = before === after;
  const [shown, said] = isSame ? [none, none] : [textsIn(before), textsIn(after)];
  // A single missing text is enough: a shop has nothing else to show in its place.
  const isLess = [...shown].some(([name]) => !said.has(name));
  const [one, others] = titled ? ['title', 'alike-texts' as const] : ['must_know', null];
  return [
    { subject: 'texts', shown: shown.size, said: isLess ? 0 : said.size },
    {
      subject: 'shorter-texts',
      ...(isSame ? unchanged(after.length) : { shown: lengthOf(shown), said: lengthOf(said) }),
    },
    valueSaid(titled ? 'alike-titles' : 'alike-must-know', shown.get(one), said.get(one)),
    ...(others === null ? [] : [valueSaid(others, proseIn(shown), proseIn(said))]),
    ...(zoned ? [valueSaid('alike-zones', shown.get('timezone'), said.get('timezone'))] : []),
  ];
}

const none: ReadonlyMap<string, string> = new Map();
const unchanged = (amount: number) => ({ shown: amount, said: amount });

function lengthOf(texts: ReadonlyMap<string, string>): number {
  return [...texts.values()].reduce((sum, { length }) => sum + length, 0);
}

/** The texts of a product that people read, beside its title. */
const prose = ['tagline', 'summary', 'description', 'whats_included', 'whats_excluded'] as const;

/** Returns these texts as one; undefined: there are none. */
function proseIn(texts: ReadonlyMap<string, string>): string | undefined {
  const some = prose.flatMap((name) => texts.get(name) ?? []);
  return some.length === 0 ? undefined : some.join('\n');
}

/** Length up to which a value is stored as it is, and the beginning of a longer one that people see. */
const [shortest, beginning] = [60, 40];

/** Returns the claim about a value. Values that were not there, or are gone, are no change. */
function valueSaid(subject: Subject, shown: string | undefined, said: string | undefined): Said {
  const isOther = shown !== undefined && said !== undefined && shown !== said;
  const [shown_as, said_as] = isOther ? [brief(shown), brief(said)] : [null, null];
  return { subject, shown: null, said: null, shown_as, said_as };
}

/** Returns a text that differs where a value does, and begins as it does. */
function brief(value: string): string {
  if (value.length <= shortest) return value;
  return `${value.slice(0, beginning)}… (${hash('sha256', value, 'hex').slice(0, 8)})`;
}

/** Returns the claim about the time zone in which the times of dates are; they go before that of the product. */
function zoneSaid(product: KnownProduct | null, { days }: AvailabilityAnswer): Said {
  const [zone] = [...days.values()].flatMap(([, timezone]) => timezone ?? []);
  return valueSaid('alike-zones', product?.timezone ?? undefined, zone);
}

/** Returns the claim about a product's first image; empty: the read says nothing about images, or there are none. */
function imageSaid({ mirror }: Sync, { product_id, images }: ProductEntry): Said[] {
  const [first] = images ?? [];
  if (first === undefined) return [];
  return [
    valueSaid('alike-images', mirror.catalogue.products.firstImage({ product_id }) ?? undefined, first.image_key),
  ];
}

/** Members of the service's answers about a product, and about its checkout, that a shop shows or needs. */
const watched: ReadonlySet<string> = new Set([
  'title', 'tagline', 'summary', 'description', 'price', 'city_id', 'geolocation', 'timezone',
  'whats_included', 'whats_excluded', 'must_know', 'good_to_know', 'pre_purchase', 'usage', 'included', 'excluded', 'post_purchase',
  'cancellation_policy', 'languages',
]); // biome-ignore format: a list of members

/** Returns the watched members of a document that are not empty, at any depth, each as text by its name. */
function textsIn(document: string | null): ReadonlyMap<string, string> {
  return new Map(document === null ? [] : held(JSON.parse(document)));
}

function held(value: unknown): [name: string, text: string][] {
  if (!isMembers(value)) return [];
  return Object.entries(value).flatMap(([name, member]): [string, string][] => {
    if (!watched.has(name)) return held(member);
    return isSome(member) ? [[name, typeof member === 'string' ? member : JSON.stringify(member)]] : [];
  });
}

function isSome(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
