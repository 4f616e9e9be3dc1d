import type { Config } from '../config/load.ts';
import { windows } from '../dates/availability.rules.ts';
import { type Resource, resourceNames, resources } from '../schedule/resources.rules.ts';
import type { Policy, ProductPolicy } from '../schedule/sync.ts';
import type { StaleAfter } from '../schedule/targets.store.ts';
import { mostTimes } from '../service/extra-calls.rules.ts';

type Category = Config['categories'][number];

/**
 * Derives from the configuration which data is mirrored, and its cadences. `offers` returns whether the service has the
 * path of a resource, as far as known. It is called each time.
 */
export function policyOf(config: Config, offers: (resource: Resource) => boolean): Policy {
  const { service, cadence, budget } = config;
  const excluded = new Set(service.select.exclude_product_ids);
  const general: ProductPolicy = { extent: extentOf(config, cadence, offers), cadence, weight: 1 };
  const byCategory = new Map(
    config.categories.map((category) => {
      const own = cadenceOfCategory(config, category);
      return [category.name, { extent: extentOf(config, own, offers), cadence: own, weight: category.weight ?? 1 }];
    }),
  );
  return {
    ...general,
    categories: config.categories,
    of: (category) => byCategory.get(category ?? '') ?? general,
    daysPerRequest: service.profile.days_per_request,
    pageSize: service.profile.page_size,
    listOrdered: service.profile.list_order !== null,
    listTotal: service.profile.list_total,
    adaptive: config.scheduling === 'adaptive' ? { share: budget.share, times: mostTimes } : null,
    audit: budget.audit,
    held: config.held,
    ceiling: budget.requests_per_second,
    notifications: service.profile.notifications,
    excluded,
    // Exclusion wins over inclusion.
    included: service.select.include_product_ids.filter((id) => !excluded.has(id)),
  };
}

function extentOf(
  { service }: Config,
  cadence: StaleAfter,
  offers: (resource: Resource) => boolean,
): ProductPolicy['extent'] {
  const { paths, days_per_request } = service.profile;
  const configured = new Set(resourceNames.filter((resource) => paths[resources[resource].path] !== null));
  return {
    languages: service.languages,
    currencies: service.currencies,
    windows: windows(cadence.availability, days_per_request),
    resources: { has: (resource) => configured.has(resource) && offers(resource) },
  };
}

/** Returns the cadence of a category: its own settings over the general ones. */
function cadenceOfCategory({ cadence }: Config, { cadence: own = {}, horizon }: Category): StaleAfter {
  const { near, middle, far, beyond } = cadence.availability;
  const { availability: tiers, ...resources } = own;
  return {
    ...cadence,
    ...defined(resources),
    // A category's setting for a resource also applies to its products with dynamic pricing.
    dynamic_pricing: atMost(cadence.dynamic_pricing, resources),
    // A subscription does not relax a category's setting either.
    covered: atMost(cadence.covered, resources),
    availability: {
      horizon: horizon ?? cadence.availability.horizon,
      near: { ...near, every: tiers?.near?.every ?? near.every },
      middle: { ...middle, every: tiers?.middle?.every ?? middle.every },
      far: { every: tiers?.far?.every ?? far.every },
      beyond: { ...beyond, every: tiers?.beyond?.every ?? beyond.every },
    },
  };
}

/** Returns the cadences, none of them longer than the category's own cadence of the same resource. */
function atMost<Name extends string>(
  cadences: Readonly<Record<Name, number>>,
  own: { readonly [Each in NoInfer<Name>]?: number | undefined },
): Readonly<Record<Name, number>> {
  const names = Object.keys(cadences) as Name[];
  return Object.fromEntries(
    names.map((name) => [name, Math.min(cadences[name], own[name] ?? Number.POSITIVE_INFINITY)]),
  ) as Record<Name, number>;
}

function defined<Values extends object>(values: Values): { [Key in keyof Values]: NonNullable<Values[Key]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
