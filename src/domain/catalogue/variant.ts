/** A purchasable option of a product: the service's JSON by its id. */
export interface Variant {
  readonly variant_id: number;
  readonly document: string;
}

/** What a group of variants that are alike is called, in the primary language; the service's "Default" groups nothing. */
export interface VariantGroup {
  readonly group_id: number;
  readonly name: string;
}

/** Whom the variants of a product are for, by their ids: the service's words; absent: it has not said. */
export type VariantTypes = ReadonlyMap<number, string>;
