/** A venue or an activity, and the products that belong to it (specification §2). What was sent as another type is null. */
export interface Experience {
  readonly experience_id: number;
  readonly title: string | null;
  readonly tagline: string | null;
  /** By http or https. */
  readonly url: string | null;
  readonly address: string | null;
  readonly city_name: string | null;
  readonly country_name: string | null;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly rating: number | null;
  readonly rating_count: number | null;
  /** Minor units of the currency asked for; null where there is no exact one. */
  readonly from_price: number | null;
  readonly product_ids: readonly number[];
  /** The service's JSON, without `images`: they belong to a licence that only products' reads confirm. */
  readonly document: string;
}
