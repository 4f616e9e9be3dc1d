import { instant } from '../../clock.ts';
import type { Tier } from '../../domain/catalogue/availability.ts';
import { auditPeriodMs, type OutdatedShare, outdatedShare } from '../../domain/truth/estimate.ts';
import type { Reads } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

/** Share of outdated data among what shoppers see, estimated from random reads of the last seven days. */
export interface Truth extends OutdatedShare {
  /** Start and end of the period that the reads cover; null if there were no reads. */
  readonly from_at: number | null;
  readonly to_at: number | null;
  /** The same of the dates of each tier. */
  readonly by_tier: readonly (OutdatedShare & { readonly tier: Tier })[];
}

const tiers: readonly Tier[] = ['near', 'middle', 'far'];

export function truthOf(db: Reads): () => Truth {
  const rows = db.rows(() =>
    query.selectFrom('_audit').select(['from_at', 'tier', 'audited', 'outdated']).orderBy('from_at'),
  );
  return () => truthIn(rows.all());
}

type Period = Pick<Tables['_audit'], 'from_at' | 'tier' | 'audited' | 'outdated'>;

function truthIn(periods: readonly Period[]): Truth {
  const of = (tier: Tier | 'all') => periods.filter((each) => each.tier === tier);
  const last = periods.at(-1);
  return {
    ...outdatedShare(of('all')),
    from_at: periods[0]?.from_at ?? null,
    to_at: last === undefined ? null : instant(last.from_at + auditPeriodMs),
    by_tier: tiers.filter((tier) => of(tier).length > 0).map((tier) => ({ tier, ...outdatedShare(of(tier)) })),
  };
}
