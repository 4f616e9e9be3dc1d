import { priorSiblings, type SiblingSubject } from '../../domain/schedule/siblings.ts';
import {
  priorSignal,
  type SignalBelief,
  type SignalTier,
  type SignalWorth,
  signalWorth,
} from '../../domain/schedule/signal.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import { query, upsert } from '../sql/sql.ts';
import { budgetReads } from './budget.ts';

/** Estimates, from reads, of how well the product list, and changes of siblings, signal changes. */
export interface SignalReads {
  of(subject: SignalTier | SiblingSubject): SignalBelief;
}

export interface SignalTable extends SignalReads {
  save(subject: SignalTier | SiblingSubject, belief: SignalBelief): void;
}

export function signalReads(db: Reads): SignalReads {
  const one = db.rows(({ tier }: Bound<{ tier: SignalTier | SiblingSubject }>) =>
    query.selectFrom('_signal').select(['rightly', 'wrongly', 'shown', 'hidden']).where('tier', '=', tier),
  );
  return {
    of: (tier) => one.get({ tier }) ?? (tier === 'near' || tier === 'far' ? priorSignal : priorSiblings),
  };
}

/** Value of the list as a signal of changed near and far dates, and the walk interval for it; null: its cadence. */
export interface ListSignal extends Readonly<Record<SignalTier, SignalWorth>> {
  readonly walked_every_ms: number | null;
}

export function listSignalOf(db: Reads): () => ListSignal {
  const { of } = signalReads(db);
  const { demand } = budgetReads(db);
  return () => ({
    near: signalWorth(of('near')),
    far: signalWorth(of('far')),
    walked_every_ms: demand()?.walks?.every ?? null,
  });
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
