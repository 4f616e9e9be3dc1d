import type { Examples } from '../service/shapes.rules.ts';

/** A purchasable option of a product: the service's JSON by its id. */
export interface Variant {
  readonly variant_id: number;
  readonly document: string;
}

/** Name of a group of similar variants, in the primary language. The service's "Default" group is not one. */
export interface VariantGroup {
  readonly group_id: number;
  readonly name: string;
}

/** Result of the variants read of a product. */
export interface VariantsAnswer {
  readonly variants: readonly Variant[];
  /** Names of their groups. */
  readonly groups: readonly VariantGroup[];
  /** Members that are there and cannot be read, with an example of each; undefined: none. */
  readonly unread?: Examples | undefined;
}

/**
 * Types of buyer (the service's words) for which the variants of a product are, by variant id. A variant without a
 * stated type is absent.
 */
export type VariantTypes = ReadonlyMap<number, string>;
