/*
 * What can be fetched by itself, and in what one resource differs from another. Which records there are, when and in
 * which lane they are read, which keys the configuration has for them, what is promised of them and what they are called
 * in plans, explanations and `resync` all follow from this table. What cannot follow from it (a call, a decoder, a table)
 * is asked for by the compiler.
 */

const dayMs = 86_400_000;

interface Common {
  /** Its key in `service.profile.paths`. */
  readonly path: string;
  /** The default of that key; of what is read product by product with `{product_id}` in it. */
  readonly at: string;
  /** Nothing can be mirrored without it: that key cannot be null. */
  readonly needed: boolean;
  /** The specification does not list it, so that a service may lack it (offer.ts). */
  readonly optional: boolean;
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

/** Read by one cadence, which `cadence` has under the name of the resource. */
interface ByCadence {
  readonly tiers: false;
  /** Milliseconds: the default of that key, the most that it may be set to, and what it is about. */
  readonly cadence: { readonly every: number; readonly longest: number; readonly about: string };
}

/** Read by how far ahead its dates lie, one record a window. */
interface ByTier {
  readonly tiers: true;
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
    at: '/v2/products',
    needed: true,
    optional: false,
    tiers: false,
    cadence: {
      every: 7 * dayMs,
      longest: 28 * dayMs,
      about: 'The list walk: prices, images and sale status of everything.',
    },
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
    at: '/v2/experiences',
    needed: false,
    optional: true,
    tiers: false,
    cadence: { every: 7 * dayMs, longest: 28 * dayMs, about: 'Which products belong to which venue.' },
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
    at: '/v2/products/{product_id}/availability',
    needed: true,
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
    at: '/v2/products/{product_id}/checkout_information',
    needed: false,
    optional: false,
    tiers: false,
    cadence: { every: 7 * dayMs, longest: 28 * dayMs, about: 'Rules, identification, flags.' },
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
    at: '/v2/products/{product_id}/product-variants',
    needed: false,
    optional: false,
    tiers: false,
    cadence: {
      every: 7 * dayMs,
      longest: 28 * dayMs,
      about: 'Names and rules of tickets; prices change less than once a month.',
    },
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
    at: '/v2/products/{product_id}',
    needed: false,
    optional: true,
    tiers: false,
    cadence: { every: 28 * dayMs, longest: 90 * dayMs, about: 'The single-product read, where the profile has it.' },
    lane: 'weekly',
    fill: 40,
    dynamic: 'prices',
    covered: false,
    resync: 'products',
    label: 'single products',
  },
} as const satisfies Readonly<Record<string, (OfList | OfProduct) & (ByCadence | ByTier)>>;

/** What `resync` says of each name that it knows. */
export const resyncHelp: Readonly<Record<ResyncResource, string>> = {
  products: 'the product list and the detail of each product',
  checkout: 'checkout information',
  variants: 'variants',
  images: 'images and their credits',
  availability: 'dates, timeslots and prices',
};

type Table = typeof resources;

/** The lists are records of product 0. */
export type Resource = keyof Table;

/** The resources of which the table says so. */
type Where<Facts> = { [Name in Resource]: Table[Name] extends Facts ? Name : never }[Resource];

export type ListResource = Where<{ readonly of: 'list' }>;
export type ProductResource = Where<{ readonly of: 'product' }>;
/** Read by one cadence, whatever the date. */
export type UntieredResource = Where<{ readonly tiers: false }>;
/** Read product by product, whatever the date. */
export type TextResource = Extract<ProductResource, UntieredResource>;
export type CoveredResource = Where<{ readonly covered: true }>;
export type DynamicResource = Where<{ readonly dynamic: 'own' }>;
/** Where the service profile says at which path a resource is read. */
export type ResourcePath = Table[Resource]['path'];
export type NeededResourcePath = Table[Where<{ readonly needed: true }>]['path'];
export type OptionalResourcePath = Table[Where<{ readonly optional: true }>]['path'];
/** What a person can ask to be read again; images come with the lists. */
export type ResyncResource = Table[Resource]['resync'] | 'images';

export const resourceNames = Object.keys(resources) as Resource[];
export const listResources = resourceNames.filter(isList);
export const productResources = resourceNames.filter(isOfProduct);
export const untieredResources = resourceNames.filter(isUntiered);
export const textResources = productResources.filter((resource): resource is TextResource => isUntiered(resource));
export const dynamicResources = resourceNames.filter(isDynamic);
export const coveredResources = resourceNames.filter(isCovered);

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
