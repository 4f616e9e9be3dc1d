/*
 * Types of the storefront interface: the bodies and answers of `POST /v1/check`, `POST /v1/orders` and `POST /v1/seen`. A
 * test keeps them equal to the schemas by which the daemon reads and answers (src/admin/api.ts).
 */

/** Address of the daemon's `storefront.listen`, and the token that it asks for. */
export interface DaemonAddress {
  /** `unix:PATH` or `HOST:PORT`, as in the configuration of the daemon. */
  readonly listen: string;
  /** Its token; none is needed for a socket. */
  readonly token?: string | undefined;
}

/** An amount in the minor unit of a currency. */
export interface Money {
  readonly amount: number;
  readonly currency: string;
}

/** Question asked before an order. */
export interface DaemonCheckQuestion {
  readonly product_id: number;
  /** YYYY-MM-DD at the venue. */
  readonly date: string;
  /** `HH:MM`, `whole_day`, or a word of the service; null or absent: any time. */
  readonly time?: string | null | undefined;
  /** None: any one ticket. */
  readonly variants?: readonly { readonly variant_id: number; readonly count: number }[] | undefined;
  /** The currency of the answer; null or absent: that of `expect_price`, or the one that the reader was opened with. */
  readonly currency?: string | null | undefined;
  /** Of all variants together, or of one ticket where none is named; null or absent: what the mirror showed. */
  readonly expect_price?: Money | null | undefined;
  /** Milliseconds that the shopper waits; absent: 5000. */
  readonly deadline_ms?: number | undefined;
  /** Caller's name, in a word of your own. One caller has 30 live checks a minute. */
  readonly caller?: string | null | undefined;
}

/** Reason why something does not hold. Each belongs to one verdict (docs/orders.md). */
export type DaemonCheckReason =
  | 'withdrawn'
  | 'not-found'
  | 'not-on-sale'
  | 'closure-unconfirmed'
  | 'date-past'
  | 'time-past'
  | 'date-sold-out'
  | 'slot-gone'
  | 'variant-gone'
  | 'not-enough-tickets'
  | 'over-max-per-order'
  | 'price-changed'
  | 'price-not-said'
  | 'outside-horizon'
  | 'sale-contradicted'
  | 'service-unreachable'
  | 'throttled'
  | 'caller-limit'
  | 'service-failed'
  | 'other-dates'
  | 'unreadable'
  | 'service-refused'
  | 'key-refused'
  | 'deadline'
  | 'stopping';

/** One date beside what was asked of it. */
export interface DaemonCheckedDate {
  /** As asked: the time, the variants, the number. */
  readonly sellable: boolean;
  readonly state: 'available' | 'sold_out' | 'not_on_sale';
  /** The time concerned; null: none fits. */
  readonly time: string | null;
  /** Null: not sellable as asked, or the service names none. */
  readonly price: Money | null;
  readonly max_tickets_per_order: number | null;
  readonly slots: readonly {
    readonly time: string;
    readonly availability: number | null;
    readonly variants: readonly {
      readonly variant_id: number;
      readonly max_tickets: number | null;
      readonly retail_price: number | null;
    }[];
  }[];
}

export interface DaemonCheckAnswer {
  /**
   * holds: as asked, at the price expected or shown; changed: for sale, but price or quantity differ; gone: not for sale;
   * unknown: nobody can say, and nothing should be ordered.
   */
  readonly verdict: 'holds' | 'changed' | 'gone' | 'unknown';
  readonly reasons: readonly DaemonCheckReason[];
  /** Result from the service; null if it was not asked or did not answer. */
  readonly now: (DaemonCheckedDate & { readonly read_at: number }) | null;
  /** Data that the mirror showed before; null if it had no row. */
  readonly mirror: (DaemonCheckedDate & { readonly checked_at: number; readonly stale: boolean }) | null;
  /** Alternatives if the request does not hold: the nearest first. */
  readonly alternatives: readonly {
    readonly kind: 'time' | 'date' | 'product';
    readonly product_id: number;
    readonly date: string;
    readonly time: string | null;
    readonly price: Money | null;
    readonly checked_at: number;
  }[];
}

/** Result of an order, without any data of the customer. */
export interface DaemonOrderReport {
  readonly product_id: number;
  /** YYYY-MM-DD at the venue. */
  readonly date: string;
  readonly time?: string | null | undefined;
  /** Tickets. */
  readonly quantity: number;
  /** Failed: the service refused it. */
  readonly outcome: 'confirmed' | 'failed';
  /** The service's code, like `variants_not_available`. */
  readonly code?: string | null | undefined;
  /** Your own id of this attempt at an order: it counts once, however often it is sent. */
  readonly order_id?: string | null | undefined;
}

export interface DaemonOrderNoted {
  /** True if this id was counted before: nothing was done. */
  readonly repeated: boolean;
  /** Number of records that are due because of it; 0 if they were due already. */
  readonly due: number;
  /** Result of comparing the order with the mirror; null if the order says nothing about it. */
  readonly mirror: 'right' | 'said-available' | 'said-sold-out' | 'said-price' | 'unknown' | null;
}

/** Views by shoppers, without any data about them. */
export interface DaemonSeen {
  readonly product_id: number;
  /** YYYY-MM-DD at the venue: the date they look at; null or absent: none in particular. */
  readonly date?: string | null | undefined;
  /** Number of views; absent: 1. */
  readonly count?: number | undefined;
}

/** Abort signal of the caller: after it, the daemon stops work that nobody else needs. */
export interface Asking {
  /** An `AbortSignal`; written so that no library of types is needed for it. */
  readonly signal?: { readonly aborted: boolean; readonly reason: unknown } | undefined;
}

/** Calls from a storefront to the daemon, through its storefront interface. */
export interface DaemonCalls {
  /**
   * Returns the live check before an order: what the service says now, and whether what was shown still holds. Resolves
   * with `unknown` where the service does not answer in time. Rejects with `daemon-not-configured`, `no-daemon`, `daemon-silent`,
   * `permission`, `unauthorized`, `unknown-product`, `unknown-variant`, `bad-request`, or what else the daemon refuses.
   */
  check(question: DaemonCheckQuestion, options?: Asking): Promise<DaemonCheckAnswer>;
  /** Reports the result of an order. Rejects as `check`, and with `order-differs` if its id came with other contents. */
  order(report: DaemonOrderReport, options?: Asking): Promise<DaemonOrderNoted>;
  /**
   * Notes that a product was looked at, so that it is read more often. Collected for up to five seconds and told together.
   * Never throws: what is wrong, or cannot be told, is forgotten, as everything is where the reader has no daemon.
   */
  seen(seen: DaemonSeen): void;
}
