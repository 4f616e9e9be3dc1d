/**
 * A venue or an activity, and the products that belong to it (specification §2). Values of an unexpected type are null.
 */
export interface Experience {
  readonly experience_id: number;
  readonly title: string | null;
  readonly tagline: string | null;
  /** With the scheme http or https. */
  readonly url: string | null;
  readonly address: string | null;
  readonly city_name: string | null;
  readonly country_name: string | null;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly rating: number | null;
  readonly rating_count: number | null;
  /** Minor units of the requested currency; null if there is no exact price. */
  readonly from_price: number | null;
  readonly product_ids: readonly number[];
  /** The service's JSON, without `images`: their licence is confirmed only by reads of products. */
  readonly document: string;
}
