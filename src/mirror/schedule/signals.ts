import { priorSignal, type SignalBelief, type SignalTier } from '../../domain/schedule/signal.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import { query, upsert } from '../sql/sql.ts';

/** What reads have taught about the product list as a signal. */
export interface SignalReads {
  of(tier: SignalTier): SignalBelief;
}

export interface SignalTable extends SignalReads {
  save(tier: SignalTier, belief: SignalBelief): void;
}

export function signalReads(db: Reads): SignalReads {
  const one = db.rows(({ tier }: Bound<{ tier: SignalTier }>) =>
    query.selectFrom('_signal').select(['rightly', 'wrongly', 'shown', 'hidden']).where('tier', '=', tier),
  );
  return { of: (tier) => one.get({ tier }) ?? priorSignal };
}

export function signalTable(db: Writes): SignalTable {
  const put = db.change(upsert('_signal', ['tier'], ['rightly', 'wrongly', 'shown', 'hidden']));
  return {
    ...signalReads(db),
    save: (tier, belief) => {
      put.run({ tier, ...belief });
    },
  };
}
