/** A purchasable option of a product: the service's JSON by its id. */
export interface Variant {
  readonly variant_id: number;
  readonly document: string;
}
