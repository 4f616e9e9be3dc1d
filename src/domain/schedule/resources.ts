/*
 * What can be fetched by itself, and in what one resource differs from another. Which records there are, when and in
 * which lane they are read, what is promised of them and what they are called in plans, explanations and `resync` all
 * follow from this table. What cannot follow from it (a decoder, a table, a cadence) is asked for by the compiler.
 */

interface Common {
  /** Its key in `service.profile.paths`. */
  readonly path: string;
  /** The specification does not list it, so that a service may lack it (offer.ts). */
  readonly optional: boolean;
  /** Read by how far ahead its dates lie, one record a window; else by one cadence, named like the resource. */
  readonly tiers: boolean;
  /** The lane in which its cadence is kept. */
  readonly lane: 'by-window' | 'weekly';
  /** Its place in a first fill. As an instant in 1970 it also puts what was never fetched before everything else. */
  readonly fill: number;
  /** In a product with dynamic prices: a cadence of its own, one that keeps up with the prices, or the usual one. */
  readonly dynamic: 'own' | 'prices' | 'usual';
  /** A working, trusted subscription tells of its changes, so that it has a slower cadence under `cadence.covered`. */
  readonly covered: boolean;
  /** What `resync` calls it. */
  readonly resync: string;
  /** What `plan` calls it. */
  readonly label: string;
}

/** A list is walked page by page, and is a record of product 0: in the primary edition only, or in further ones too. */
interface OfList extends Common {
  readonly of: 'list';
  readonly edition: 'primary' | 'further';
}

/** Read product by product, by language or currency; `prices`: by language, and in further currencies for the price. */
interface OfProduct extends Common {
  readonly of: 'product';
  readonly edition: 'language' | 'prices' | 'currency';
}

export const resources = {
  products: {
    of: 'list',
    edition: 'further',
    path: 'products',
    optional: false,
    tiers: false,
    lane: 'weekly',
    fill: 1,
    dynamic: 'usual',
    covered: false,
    resync: 'products',
    label: 'product list',
  },
  experiences: {
    of: 'list',
    edition: 'primary',
    path: 'experiences',
    optional: true,
    tiers: false,
    lane: 'weekly',
    fill: 2,
    dynamic: 'usual',
    covered: false,
    resync: 'products',
    label: 'experiences',
  },
  availability: {
    of: 'product',
    edition: 'currency',
    path: 'availability',
    optional: false,
    tiers: true,
    lane: 'by-window',
    fill: 10,
    dynamic: 'usual',
    covered: false,
    resync: 'availability',
    label: 'dates',
  },
  checkout_information: {
    of: 'product',
    edition: 'language',
    path: 'checkout_information',
    optional: false,
    tiers: false,
    lane: 'weekly',
    fill: 20,
    dynamic: 'own',
    covered: true,
    resync: 'checkout',
    label: 'checkout information',
  },
  variants: {
    of: 'product',
    edition: 'language',
    path: 'variants',
    optional: false,
    tiers: false,
    lane: 'weekly',
    fill: 30,
    dynamic: 'usual',
    covered: true,
    resync: 'variants',
    label: 'variants',
  },
  product_detail: {
    of: 'product',
    edition: 'prices',
    path: 'product',
    optional: true,
    tiers: false,
    lane: 'weekly',
    fill: 40,
    dynamic: 'prices',
    covered: false,
    resync: 'products',
    label: 'single products',
  },
} as const satisfies Readonly<Record<string, OfList | OfProduct>>;

type Table = typeof resources;

/** The lists are records of product 0. */
export type Resource = keyof Table;

/** The resources of which the table says so. */
type Where<Facts> = { [Name in Resource]: Table[Name] extends Facts ? Name : never }[Resource];

export type ListResource = Where<{ readonly of: 'list' }>;
export type ProductResource = Where<{ readonly of: 'product' }>;
/** Read by one cadence, whatever the date. */
export type UntieredResource = Where<{ readonly tiers: false }>;
export type CoveredResource = Where<{ readonly covered: true }>;
export type DynamicResource = Where<{ readonly dynamic: 'own' }>;
/** Where the service profile says at which path a resource is read. */
export type ResourcePath = Table[Resource]['path'];
export type OptionalResourcePath = Table[Where<{ readonly optional: true }>]['path'];
/** What a person can ask to be read again; images come with the lists. */
export type ResyncResource = Table[Resource]['resync'] | 'images';

export const resourceNames = Object.keys(resources) as Resource[];
export const listResources = resourceNames.filter(isList);
export const productResources = resourceNames.filter(isOfProduct);
export const untieredResources = resourceNames.filter(isUntiered);

export function isList(resource: Resource): resource is ListResource {
  return resources[resource].of === 'list';
}

function isOfProduct(resource: Resource): resource is ProductResource {
  return !isList(resource);
}

export function isUntiered(resource: Resource): resource is UntieredResource {
  return !resources[resource].tiers;
}

export function isCovered(resource: Resource): resource is CoveredResource {
  return resources[resource].covered;
}

export function isDynamic(resource: Resource): resource is DynamicResource {
  return resources[resource].dynamic === 'own';
}

/** Returns the lane of a part of a resource that is read by its cadence. */
export function usualLane(resource: Resource, part: number): 'near' | 'far' | 'weekly' {
  const { lane } = resources[resource];
  if (lane === 'by-window') return part === 0 ? 'near' : 'far';
  return lane;
}

/** Milliseconds: what each resource's cadence is, beside its tiers, as the configuration has it. */
export type Cadences = Readonly<Record<UntieredResource, number>> & {
  /** Of products with dynamic prices. */
  readonly dynamic_pricing: Readonly<Record<DynamicResource | 'products', number>>;
  /** Of products that a working, trusted subscription covers. */
  readonly covered: Readonly<Record<CoveredResource, number>>;
};
