import type { RecordFacts } from '../../domain/schedule/record.ts';
import { priorSiblings, type SiblingKind, type SiblingSubject } from '../../domain/schedule/siblings.ts';
import {
  priorSignal,
  type SignalBelief,
  type SignalTier,
  type SignalWorth,
  signalWorth,
} from '../../domain/schedule/signal.ts';
import { type Bound, type Reads, Store, type Writes } from '../../sqlite/statements.ts';
import { byKey, query, upsert } from '../sql/sql.ts';
import { BudgetReads } from './budget.ts';

const belief = ['rightly', 'wrongly', 'shown', 'hidden'] as const;

/** Estimates, from reads, of how well the product list, and changes of siblings, signal changes. */
export class SignalReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #one = this.db.rows(byKey('_signal', ['tier'], belief));

  of(tier: SignalTier | SiblingSubject): SignalBelief {
    return this.#one.get({ tier }) ?? (tier === 'near' || tier === 'far' ? priorSignal : priorSiblings);
  }
}

export class SignalTable extends SignalReads<Writes> {
  readonly #put = this.db.change(upsert('_signal', ['tier'], belief));

  save(tier: SignalTier | SiblingSubject, belief: SignalBelief): void {
    this.#put.run({ tier, ...belief });
  }
}

/** Value of the list as a signal of changed near and far dates, and the walk interval for it; null: its cadence. */
export interface ListSignal extends Readonly<Record<SignalTier, SignalWorth>> {
  readonly walked_every_ms: number | null;
}

export function listSignalOf(db: Reads): () => ListSignal {
  const signals = new SignalReads(db);
  const budget = new BudgetReads(db);
  return () => ({
    near: signalWorth(signals.of('near')),
    far: signalWorth(signals.of('far')),
    walked_every_ms: budget.demand()?.walks?.every ?? null,
  });
}

/** The groups that a product belongs to; null: none. */
export interface SiblingGroups {
  readonly venue: number | null;
  readonly supplier: string | null;
}

type OfGroup<Group> = Pick<RecordFacts, 'product_id' | 'edition' | 'part'> & { group: Group };

/** Groups of products whose dates tend to change together. */
export class SiblingReads extends Store<Reads> {
  readonly #groups = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom(['product', '_mirror as m'])
      .select(['venue_id as venue', 'supplier'])
      .where('product_id', '=', product_id)
      .whereRef('product.language', '=', 'm.language'),
  );
  readonly #ofVenue = this.db.rows((bound: Bound<OfGroup<number>>) =>
    othersOnSale(bound).where('p.venue_id', '=', bound.group),
  );
  readonly #ofSupplier = this.db.rows((bound: Bound<OfGroup<string>>) =>
    othersOnSale(bound).where('p.supplier', '=', bound.group),
  );

  groupsOf(product_id: number): SiblingGroups {
    return this.#groups.get({ product_id }) ?? { venue: null, supplier: null };
  }

  /** Returns the same dates of other products of the group that are on sale and were read, at most fifty: planning them again takes a few milliseconds. */
  of({ product_id, edition, part }: RecordFacts, kind: SiblingKind, group: number | string): RecordFacts[] {
    return kind === 'venue'
      ? this.#ofVenue.all({ product_id, edition, part, group: Number(group) })
      : this.#ofSupplier.all({ product_id, edition, part, group: String(group) });
  }
}

const most = 50;

function othersOnSale({ product_id, edition, part }: Bound<OfGroup<unknown>>) {
  return query
    .selectFrom(['product as p', '_mirror as m', '_record as r'])
    .selectAll('r')
    .whereRef('p.language', '=', 'm.language')
    .whereRef('r.product_id', '=', 'p.product_id')
    .where('r.resource', '=', 'availability')
    .where('r.edition', '=', edition)
    .where('r.part', '=', part)
    .where('r.product_id', '<>', product_id)
    .where('r.fetched_at', 'is not', null)
    .where('p.sellable', '=', 1)
    .limit(most);
}
