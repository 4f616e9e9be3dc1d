import { dayMs } from '../kernel/clock.ts';

/*
 * The table of resources, each of which is read by itself, and of the differences between them. It decides which
 * records exist, when and in which lane they are read, the keys that the configuration has for them, their freshness
 * targets, and their names in plans, explanations and `resync`. Whatever cannot follow from it (a call, a decoder, a
 * table) is required by the compiler.
 */

interface Common {
  /** Key in `service.profile.paths`. */
  readonly path: string;
  /** Default of that key. It contains `{product_id}` if the resource is read product by product. */
  readonly at: string;
  /** Nothing can be mirrored without it, so that key cannot be null. */
  readonly needed: boolean;
  /** The specification does not list it, so that a service may lack it (offer.rules.ts). */
  readonly optional: boolean;
  /** Lane in which it is read by its cadence. */
  readonly lane: 'by-window' | 'weekly';
  /** Position in a first fill. As an instant in 1970 it also sorts never-fetched records before all others. */
  readonly fill: number;
  /** Cadence for a product with dynamic prices: its `own`, that of the `prices`, or the `usual` one. */
  readonly dynamic: 'own' | 'prices' | 'usual';
  /** A working, trusted subscription announces its changes, so that it has a slower cadence under `cadence.covered`. */
  readonly covered: boolean;
  /** Name in `resync`. */
  readonly resync: string;
  /** Name in `plan`. */
  readonly label: string;
}

/** Resource with a single cadence, under its name in `cadence`. */
interface ByCadence {
  readonly tiers: false;
  /** Default of that key and its highest value, in milliseconds, and a description. */
  readonly cadence: { readonly every: number; readonly longest: number; readonly about: string };
}

/** Resource whose cadence depends on how far ahead its dates lie, with one record per window. */
interface ByTier {
  readonly tiers: true;
}

/**
 * List that is walked page by page, and is a record of product 0: in the primary edition only, in each language, or in
 * further currencies too.
 */
interface OfList extends Common {
  readonly of: 'list';
  readonly edition: 'primary' | 'language' | 'further';
}

/**
 * Resource read product by product, by language or currency. `prices`: by language, and in further currencies for the
 * price.
 */
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
  tags: {
    of: 'list',
    edition: 'language',
    path: 'tags',
    at: '/v2/tags',
    needed: false,
    optional: true,
    tiers: false,
    cadence: { every: 7 * dayMs, longest: 28 * dayMs, about: 'The names of tags.' },
    lane: 'weekly',
    fill: 3,
    dynamic: 'usual',
    covered: false,
    resync: 'products',
    label: 'tags',
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

/** Help of `resync` for each name. */
export const resyncHelp: Readonly<Record<ResyncResource, string>> = {
  products: 'the product list and the detail of each product',
  checkout: 'checkout information',
  variants: 'variants',
  images: 'images and their credits',
  availability: 'dates, timeslots and prices',
};

type Table = typeof resources;

/** Name of a resource. Lists are records of product 0. */
export type Resource = keyof Table;

/** Resources whose row in the table has these facts. */
type Where<Facts> = { [Name in Resource]: Table[Name] extends Facts ? Name : never }[Resource];

export type ListResource = Where<{ readonly of: 'list' }>;
export type ProductResource = Where<{ readonly of: 'product' }>;
/** Resources with a single cadence for all dates. */
export type UntieredResource = Where<{ readonly tiers: false }>;
/** Resources read product by product, with a single cadence for all dates. */
export type TextResource = Extract<ProductResource, UntieredResource>;
export type CoveredResource = Where<{ readonly covered: true }>;
export type DynamicResource = Where<{ readonly dynamic: 'own' }>;
/** Keys of the service profile for the paths of resources. */
export type ResourcePath = Table[Resource]['path'];
export type NeededResourcePath = Table[Where<{ readonly needed: true }>]['path'];
export type OptionalResourcePath = Table[Where<{ readonly needed: false }>]['path'];
/** Resources that a person can request with `resync`; images come with the lists. */
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

/** Returns the lane in which a resource is read by its cadence. `part` is the window index. */
export function usualLane(resource: Resource, part: number): 'near' | 'far' | 'weekly' {
  const { lane } = resources[resource];
  if (lane === 'by-window') return part === 0 ? 'near' : 'far';
  return lane;
}

/** Cadence of each resource in milliseconds, without the tiers, as configured. */
export type Cadences = Readonly<Record<UntieredResource, number>> & {
  /** Of products with dynamic prices. */
  readonly dynamic_pricing: Readonly<Record<DynamicResource | 'products', number>>;
  /** Of products that a working, trusted subscription covers. */
  readonly covered: Readonly<Record<CoveredResource, number>>;
};

/** Returns the cadence of a resource for covered products in milliseconds: a subscription can only make reads rarer. */
export function coveredCadence(cadence: Cadences, resource: UntieredResource): number {
  return isCovered(resource) ? Math.max(cadence.covered[resource], cadence[resource]) : cadence[resource];
}
