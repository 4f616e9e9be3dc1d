import type { Day, OfDay, Span } from './calendar.ts';
import type { DaemonAddress, DaemonCalls } from './daemon-types.ts';
import type { Edition } from './editions.ts';
import type { Engine } from './engine.ts';
import type { ExactHit, ExactQuestion } from './exact.ts';
import type { ChangesPage, FeedEnd, FeedOptions } from './feed.ts';
import type { ProductsQuestion } from './search/list.ts';
import type { SearchQuestion } from './search/question.ts';
import type { RelatedOptions } from './search/related.ts';
import type { Found } from './search/search.ts';
import type { ViewRow } from './views.ts';

/* Rows as the views have them: what each column means stands in schema/contract.json. Booleans are 0 or 1. */
export type MirrorInfoRow = ViewRow<'mirror_info'>;
export type ProductRow = ViewRow<'products'>;
export type ProductPriceRow = ViewRow<'product_prices'>;
export type WithdrawnRow = ViewRow<'withdrawn_products'>;
export type ExperienceRow = ViewRow<'experiences'>;
export type CityRow = ViewRow<'cities'>;
export type CountryRow = ViewRow<'countries'>;
export type TagRow = ViewRow<'tags'>;
export type CurrencyRow = ViewRow<'currencies'>;
export type ImageRow = ViewRow<'images'>;
export type ExperienceImageRow = ViewRow<'experience_images'>;
export type CheckoutInformationRow = ViewRow<'checkout_information'>;
export type VariantRow = ViewRow<'variants'>;
export type SlotRow = ViewRow<'availability_slots'>;
export type ChangeRow = ViewRow<'changes'>;
export type FreshnessRow = ViewRow<'freshness'>;
export type PolicyRow = ViewRow<'policies'>;

export interface ExperiencesQuestion {
  /** Those of its products. */
  readonly city_id?: number | undefined;
  readonly language?: string | undefined;
  /** Of from_price, which is null in any but the primary one. */
  readonly currency?: string | undefined;
  /** The last experience_id of the page before. */
  readonly after?: number | undefined;
  /** Absent: 100. */
  readonly limit?: number | undefined;
}

export interface CitiesQuestion {
  readonly country_id?: number | undefined;
  readonly language?: string | undefined;
}

export interface TagsQuestion {
  /** Those that it has. */
  readonly product_id?: number | undefined;
  readonly language?: string | undefined;
}

export interface ReaderOptions extends Edition {
  /** Epoch milliseconds: when to look again whether another file stands at the path. The views have a clock of their own. */
  readonly now?: () => number;
  /**
   * The class `Database` of better-sqlite3; absent: Node's own SQLite. A process that has the mirror open with better-sqlite3
   * passes it in: two SQLite libraries on one file in one process lose each other's locks, and then commits.
   */
  readonly engine?: Engine | undefined;
  /** The storefront interface of the daemon: `check`, `order` and `seen` go through it, and nothing else does. */
  readonly daemon?: DaemonAddress | undefined;
}

/**
 * The mirror, read-only. Every function may throw a `CataloguedError`: `bad-argument`, `damaged`, `unreadable`, `busy`,
 * `older-contract` where the file was written by a version that does not have what is asked yet, `closed`.
 */
export interface Reader extends DaemonCalls, Disposable {
  info(): MirrorInfoRow;
  /** Null: no such product is visible. */
  product(product_id: number, options?: Edition): ProductRow | null;
  /**
   * Returns what the service no longer offers, for an answer of 410, or a redirect to its successor; null: it is visible, or was
   * never seen.
   */
  withdrawn(product_id: number): WithdrawnRow | null;
  /** In the order of product_id, page by page. */
  products(question?: ProductsQuestion): ProductRow[];
  /**
   * Returns what it costs, one row a mirrored currency: those of a product are in the currency of the reader, or the one asked
   * for.
   */
  prices(product_id: number): ProductPriceRow[];
  /** Returns a venue or an activity; null: the list of experiences does not have it, or was not read yet. */
  experience(experience_id: number, options?: Edition): ExperienceRow | null;
  /** In the order of experience_id, page by page. */
  experiences(question?: ExperiencesQuestion): ExperienceRow[];
  /** Returns where products are, and how many are on sale there: most products first. */
  cities(question?: CitiesQuestion): CityRow[];
  countries(options?: Edition): CountryRow[];
  /** In the order of tag_id. Empty where the service has no list of tags. */
  tags(question?: TagsQuestion): TagRow[];
  /** Returns the mirrored currencies, each with its decimals: minor units divided by 10 to their power is what people read. */
  currencies(): CurrencyRow[];
  /** Returns those that may be shown now, each with its credit. Keep them no longer than the page is shown. */
  images(product_id: number): ImageRow[];
  /** Returns the images of a venue that may be shown now, with their credits, by position. */
  experienceImages(experience_id: number): ExperienceImageRow[];
  /** Null: not read yet. */
  checkoutInformation(product_id: number, options?: Edition): CheckoutInformationRow | null;
  variants(product_id: number, options?: Edition): VariantRow[];
  /**
   * Returns every date from `from` to `to`; one that the mirror does not know is `unknown`, which does not mean sold out.
   */
  calendar(product_id: number, options?: Span & Edition): Day[];
  /** The same with some columns only, and `date`, which takes less time. */
  calendar<Column extends keyof Day>(
    product_id: number,
    options: Span & Edition & OfDay<Column>,
  ): Pick<Day, Column | 'date'>[];
  /** Returns the variants of each timeslot of a date, by time. */
  slots(product_id: number, date: string, options?: Edition): SlotRow[];
  /** Returns the date on which an adult pays least, the earliest of those; null: none has tickets and such a price. */
  cheapest(product_id: number, options?: Span & Edition): ViewRow<'availability_days'> | null;
  /**
   * Returns what a shopper means: by words with typos and without endings, by filters, or both. Also throws
   * `bad-argument`.
   */
  search(question?: SearchQuestion): Found;
  /** Returns products that have every word exactly as it is typed, the last one perhaps unfinished. */
  exact(question: ExactQuestion): ExactHit[];
  /** Returns the products that the service recommends instead of a closed one, as long as they are on sale. */
  alternatives(product_id: number, options?: Edition): ProductRow[];
  /** Returns related products: on sale, of one of its experiences or in its city, the most similar first. */
  related(product_id: number, options?: RelatedOptions): ProductRow[];
  /** Returns where the change feed ends now: noted before the views are read, it is the cursor of what they show. */
  newest(): FeedEnd;
  /**
   * Returns what changed after a change, in order; `next` and `feed` are what to ask with next. Throws `FeedChanged`,
   * `CursorTooOld`, `CursorFromTheFuture`.
   */
  changes(after: number, options?: FeedOptions): ChangesPage;
  freshness(): FreshnessRow[];
  /** Returns what a storefront does with what is fresh, stale, expired or unknown. */
  policies(): PolicyRow[];
  /** Returns whether a product is visible and on sale; says nothing about dates. */
  sellable(product_id: number): boolean;
  /** All reads of `work` see one state of the mirror; keep it under a second. It may be called a second time, and is not asynchronous. */
  transaction<Result>(work: () => Result): Result;
  /** The same as disposing of it. */
  close(): void;
}
