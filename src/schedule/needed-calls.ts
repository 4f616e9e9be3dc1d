import { dayMs } from '../kernel/clock.ts';
import { type Catalogue, callsPerDay, planOf } from './call-plan.rules.ts';
import { mostExtra } from './call-price.rules.ts';
import { listCadence } from './replan-products.ts';
import type { SyncFacts } from './sync.ts';

/** Returns the counts of the mirrored catalogue for a plan. */
export function catalogueOf(facts: SyncFacts): Catalogue {
  const { mirror, policy } = facts;
  const { extent, cadence } = policy;
  return {
    groups: mirror.catalogue.categories.counts().map(({ category, ...counts }) => {
      const own = policy.of(category);
      return { ...counts, windows: own.extent.windows, cadence: own.cadence };
    }),
    experiences: mirror.catalogue.experiences.count(),
    tags: mirror.catalogue.tags.count(),
    languages: extent.languages.length,
    currencies: extent.currencies.length,
    page_size: policy.pageSize,
    resources: extent.resources,
    walks: { ...cadence, products: listCadence(cadence) },
    extra: extraOf(facts),
    look: dayMs,
    audit: policy.audit,
  };
}

/** Returns a catalogue without the reads that no freshness target needs: extra reads and random reads. */
export function targetsOf(catalogue: Catalogue): Catalogue {
  return { ...catalogue, extra: null, audit: 0 };
}

/** Returns the calls a day that the freshness targets need. */
export function neededCalls(facts: SyncFacts): number {
  return callsPerDay(planOf(targetsOf(catalogueOf(facts))));
}

function extraOf({ mirror, policy: { adaptive, ceiling } }: SyncFacts): Catalogue['extra'] {
  if (adaptive === null) return null;
  const rate = Math.min(mirror.schedule.budget.learned()?.rate ?? ceiling, ceiling) * 86_400;
  const demand = mirror.schedule.budget.demand()?.demand ?? null;
  const most = demand === null || demand.needed === 0 ? Number.POSITIVE_INFINITY : mostExtra(demand) / demand.needed;
  return { ...adaptive, rate, most };
}
