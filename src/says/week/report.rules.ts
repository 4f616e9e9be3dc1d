import type { CreditChange, Takedown } from '../../catalogue/image-audit.rules.ts';
import type { ReportCounts } from '../../desk/error-rate.rules.ts';
import type { OutdatedShare } from '../../trust/error-estimate.rules.ts';
import type { Turnover } from '../status/turnover.rules.ts';
import type { PriceMove, PriceMoves } from './prices.rules.ts';
import type { Week } from './week.rules.ts';

/** Images of a product that are hidden soon unless a read confirms them. */
export interface LateImages {
  readonly product_id: number;
  readonly title: string | null;
  readonly images: number;
  readonly hidden_from: number;
}

/** A product that was sold without a working subscription that announces its changes. */
export interface BareSale {
  readonly product_id: number;
  readonly title: string | null;
  readonly tickets: number;
  /** Orders that show whether the mirror was right. */
  readonly orders: number;
}

/** Numbers of checks and orders that found the mirror wrong, with the kinds of error. */
export interface CheckoutCounts extends ReportCounts {
  readonly tickets: number;
  /** Kinds of wrong answers: shown as available but not; available but not shown; shown at another price. */
  readonly said_available: number;
  readonly said_sold_out: number;
  readonly said_price: number;
  /**
   * Not part of any share: reports about dates that the mirror did not have, and checks that the service did not
   * answer.
   */
  readonly unknown: number;
  readonly unanswered: number;
}

export type WrongProduct = ReportCounts & { readonly product_id: number; readonly title: string | null };

export type TitledMove = PriceMove & { readonly title: string | null };

/** Words, and the number of searches for them without results. */
export interface FruitlessSearch {
  readonly words: string;
  readonly searches: number;
}

/** Numbers of a week, to compare with those of another one. */
export interface WeekCounts {
  readonly added: number;
  readonly returned: number;
  readonly withdrawn: number;
  readonly closed: number;
  readonly reopened: number;
  readonly prices_moved: number;
  readonly date_prices_moved: number;
  readonly images_went: number;
  readonly sold_without_subscription: number;
  readonly orders: number;
  readonly orders_lost: number;
  /** Null if they cannot be read. */
  readonly searches_in_vain: number | null;
}

/**
 * Report on a week of the catalogue, for people who decide what to sell. The fields are a contract; instants are epoch
 * milliseconds.
 */
export interface WeekReport {
  readonly at: number;
  readonly week: Week;
  readonly mirror: string;
  readonly written_by: string;
  readonly filled_at: number | null;
  /** Instant within the week before which changes are not known; null if all are known. */
  readonly known_since: number | null;
  readonly currency: string | null;
  readonly products: Turnover;
  readonly prices: {
    readonly products: PriceMoves['products'] & { readonly biggest: readonly TitledMove[] };
    readonly dates: PriceMoves['dates'] & { readonly biggest: readonly TitledMove[] };
  };
  readonly images: {
    /** Not confirmed for 12 days: hidden soon. */
    readonly must_go: readonly LateImages[];
    /** Taken down in the week, and not back. */
    readonly went: readonly Takedown[];
    /** Taken down in the week, and back since. */
    readonly back: readonly Takedown[];
    readonly credit_changes: readonly CreditChange[];
  };
  readonly sold_without_subscription: { readonly covers_sales: 0 | 1; readonly products: readonly BareSale[] };
  /**
   * Share of the data shown to shoppers that is wrong, by random reads; null if the week ended before the stored reads.
   */
  readonly truth: OutdatedShare | null;
  readonly checkout: CheckoutCounts & { readonly rate: number | null; readonly worst: readonly WrongProduct[] };
  /** Null if the inbox, where they are counted, cannot be read. */
  readonly fruitless_searches: readonly FruitlessSearch[] | null;
  /** Null if that week is not completely known. */
  readonly week_before: WeekCounts | null;
}

/** Returns whether all changes of its week are known. */
export function isWhole({ filled_at, known_since }: WeekReport): boolean {
  return filled_at !== null && known_since === null;
}

export function countsOf(report: WeekReport): WeekCounts {
  const { products, prices, images, checkout, sold_without_subscription: bare, fruitless_searches } = report;
  return {
    added: products.added.length,
    returned: products.returned.length,
    withdrawn: products.withdrawn.length,
    closed: products.closed.length,
    reopened: products.reopened.length,
    prices_moved: prices.products.moved,
    date_prices_moved: prices.dates.moved,
    images_went: images.went.length,
    sold_without_subscription: bare.products.length,
    orders: checkout.orders,
    orders_lost: checkout.orders_wrong,
    searches_in_vain: fruitless_searches?.reduce((sum, { searches }) => sum + searches, 0) ?? null,
  };
}
