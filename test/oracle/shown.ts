/** A variant in a timeslot of a date. Money in smallest units of the currency. */
interface ShownOffer {
  readonly variant_id: number;
  readonly max_tickets: number;
  readonly retail_price: number;
  readonly ticket_value: number;
  readonly booking_fee: number;
  readonly commission: number;
  readonly pricing_restriction: number | null;
}

/** A date of a product as the service sells it. */
export interface ShownDay {
  readonly date: string;
  readonly sold_out: boolean;
  readonly availability: number;
  readonly max_tickets_per_order: number | null;
  readonly slots: readonly {
    readonly time: string;
    readonly availability: number;
    readonly offers: readonly ShownOffer[];
  }[];
}

type Members = Record<string, unknown>;

/** What the simulated service shows of a product now: the answer of `GET /sandbox/state`. Money in smallest units. */
export interface Shown {
  readonly product_id: number;
  readonly visible: boolean;
  readonly sale_status: string;
  readonly recommended_alternative_product_id: number | null;
  readonly today: string;
  readonly timezone: string | null;
  readonly from_price: number;
  readonly prediscount_price: number | null;
  readonly experience_ids: readonly number[];
  readonly venue: Members | null;
  readonly listed_tags: readonly Members[] | null;
  readonly entry: Members;
  readonly detail: Members;
  readonly has_detail: boolean;
  readonly checkout_information: Members;
  readonly variants: readonly Members[];
  readonly availability_variants: readonly Members[];
  readonly groups: readonly { readonly id: number; readonly name: string }[];
  /** Every date of the horizon; none while the product is not on sale. */
  readonly days: readonly ShownDay[];
  /** Optional members are left out of all answers. */
  readonly bare: boolean;
  /** Values beside the correct ones that a mirror must refuse. */
  readonly hostile: {
    readonly from_price: boolean;
    readonly variant_ids: readonly number[];
    readonly images: readonly string[];
  } | null;
  /** Members that differ from read to read. */
  readonly differing: readonly string[];
  readonly counts_differ_by: number;
}
