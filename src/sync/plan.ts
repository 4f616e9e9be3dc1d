import type { Catalogue } from '../domain/plan.ts';
import type { Ports } from './ports.ts';

const dayMs = 86_400_000;

/** The catalogue that is mirrored now, as a plan counts it. */
export function catalogueOf({ mirror, policy }: Pick<Ports, 'mirror' | 'policy'>): Catalogue {
  const { extent, cadence } = policy;
  return {
    groups: mirror.categories.counts().map(({ category, on_sale, off_sale, dynamic }) => {
      const own = policy.of(category);
      return { on_sale, off_sale, dynamic, windows: own.extent.windows, cadence: own.cadence };
    }),
    experiences: mirror.experiences.count(),
    languages: extent.languages.length,
    currencies: extent.currencies.length,
    page_size: policy.pageSize,
    resources: extent.resources,
    walks: { products: cadence.products, experiences: cadence.experiences },
    extra: policy.adaptive?.extra ?? 0,
    look: dayMs,
  };
}
