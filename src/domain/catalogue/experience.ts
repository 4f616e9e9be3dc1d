/** A venue or an activity, and the products that belong to it (specification §2). */
export interface Experience {
  readonly experience_id: number;
  readonly title: string | null;
  readonly product_ids: readonly number[];
  /** The service's JSON, without `images`: they belong to a licence that only products' reads confirm. */
  readonly document: string;
}
