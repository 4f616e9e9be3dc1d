/*
 * The types of an adapter, exported as `catalogued/adapter`: a module that says how this service is asked, and reads what
 * it answers. docs/service.md shows a whole one.
 */

/** An adapter. Its functions are pure and synchronous; `standard` is the adapter that is built in. */
export interface Adapter {
  /** Returns the request that asks a question. */
  request(question: Question, settings: AdapterSettings, standard: Adapter): AdapterRequest;
  /**
   * Reads an answer. `body` is parsed JSON, undefined where it is no JSON. In it, a number that JavaScript would print
   * otherwise (18.50, an id beyond 2^53) is an object with its text, `{ rawJSON: '18.50' }`: hand it on as it is.
   */
  answer(question: Question, status: number, body: unknown, standard: Adapter): AdapterAnswer;
}

/** Everything that the service is asked. */
export type Question =
  | ListQuestion
  | ProductQuestion
  | TextQuestion
  | AvailabilityQuestion
  | SubscriptionQuestion
  | SubscribeQuestion
  | ReactivateQuestion;

/** A page of a list. */
export interface ListQuestion {
  readonly kind: 'products' | 'experiences' | 'tags';
  /** Counted from 1. */
  readonly page: number;
  /** `next` from the answer to the page before; null: this is the first page, or that answer had none. */
  readonly after: string | null;
  readonly page_size: number;
  readonly language: string;
  readonly currency: string;
  /** True: the list is wanted in the order of popularity. */
  readonly ordered: boolean;
}

export interface ProductQuestion {
  readonly kind: 'product';
  readonly product_id: number;
  readonly language: string;
  readonly currency: string;
}

export interface TextQuestion {
  readonly kind: 'checkout_information' | 'variants';
  readonly product_id: number;
  readonly language: string;
}

/** The dates of a product, both ends included. */
export interface AvailabilityQuestion {
  readonly kind: 'availability';
  readonly product_id: number;
  readonly language: string;
  readonly currency: string;
  readonly from: string;
  readonly to: string;
}

/** The state of a subscription. */
export interface SubscriptionQuestion {
  readonly kind: 'subscription';
  readonly subscription_id: string;
}

/** Creates a subscription, or overwrites it. */
export interface SubscribeQuestion {
  readonly kind: 'subscribe';
  readonly subscription_id: string;
  readonly subscription_type: string;
  /** Null for `products_i_sell`. */
  readonly entity_ids: readonly number[] | null;
  readonly change_types: readonly string[];
  readonly callback_url: string;
}

/** Revives a subscription. */
export interface ReactivateQuestion {
  readonly kind: 'reactivate';
  readonly subscription_id: string;
  /** Null keeps the address that the service has. */
  readonly callback_url: string | null;
}

/** The configuration that an adapter may need. */
export interface AdapterSettings {
  /**
   * Stands for the key in a header or in the query, where catalogued puts the key in its place. Null: no key is
   * configured.
   */
  readonly key: string | null;
  /** Stands for the signed token in a header or in the body, where a request has `sign`. */
  readonly token: string;
  /** `signing.body`. */
  readonly signing: 'jwt' | 'json';
  /** `signing.content_type`: media type of the body of a subscription request. */
  readonly content_type: string;
  /** `service.select`: filters of the product list. */
  readonly select: Readonly<Record<string, string | readonly string[]>>;
  /** `service.profile`, as far as it says how to ask. */
  readonly profile: AdapterProfile;
}

/** Keys of `service.profile` that only the standard adapter reads. A path of null is never asked for. */
export interface AdapterProfile {
  readonly authorization: {
    readonly header: string | null;
    readonly scheme: string | null;
    readonly parameter: string | null;
  };
  readonly paths: Readonly<
    Record<
      | 'products'
      | 'product'
      | 'checkout_information'
      | 'availability'
      | 'variants'
      | 'experiences'
      | 'tags'
      | 'subscription'
      | 'reactivate',
      string | null
    >
  >;
  readonly parameters: Readonly<Record<'page' | 'page_size' | 'language' | 'currency' | 'from' | 'to', string>>;
  readonly first_page: number;
  readonly list_order: string | null;
}

/** A request below `service.base_url`. catalogued adds `accept`, `accept-encoding` and `user-agent`. */
export interface AdapterRequest {
  /** Left out: GET. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Begins with a slash, and may have a query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | readonly (string | number)[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is; its `content-type` belongs to the headers. */
  readonly body?: string | null;
  /** Content of a token that catalogued signs with `signing.key_file` and writes in place of `settings.token`. */
  readonly sign?: {
    readonly payload: object;
    /** Left out: RS256. */
    readonly algorithm?: 'RS256' | 'PS256';
  };
}

/** Result of reading an answer. A status of 400 or more can only be a refusal. */
export type AdapterAnswer = ListAnswer | RowAnswer | RefusalAnswer | UnusableAnswer;

/** The members of a row as docs/reference/members.md lists them; further ones are kept. */
export type Row = Readonly<Record<string, unknown>>;

/** Answers a list, or the variants of a product. */
export interface ListAnswer {
  readonly rows: readonly Row[];
  /** `after` of the next page; null: this is the last page. Left out: pages have numbers, and the rows show the end. */
  readonly next?: string | null;
  /** Rows of the whole list, if the answer counts them. */
  readonly total?: number | null;
  /** Rows of a full page, if the answer names them. */
  readonly page_size?: number | null;
  /** Of variants: the groups that they belong to, each with `id` and `name`. */
  readonly groups?: unknown;
}

/** Answers every other question. */
export interface RowAnswer {
  readonly row: Row;
  /** Of availability: the last date that the answer speaks of. Null or left out: the last one that was asked for. */
  readonly covers_to?: unknown;
}

/** The service says no. */
export interface RefusalAnswer {
  readonly refused: {
    /** The service's own word, like `checkout_disabled`. */
    readonly code?: string | null;
    readonly message?: string | null;
    /** Left out: the status of the answer. For a service that answers 200 and says no in the body. */
    readonly status?: number;
  };
}

/** An answer in which nothing can be used, and why. */
export interface UnusableAnswer {
  readonly unusable: string;
}
