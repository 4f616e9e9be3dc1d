import { type Instant, instant } from '../../clock.ts';
import { notUnderstood } from '../../domain/push/notification.ts';
import { silentStatuses } from '../../domain/push/subscription.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { working } from './covering.ts';

export type Gap = Tables['_gap'];

/** Queries about periods without notifications. */
export interface GapReads {
  /** Returns whether a gap of this subscription, or of all, overlaps a period. */
  wasGap(subscription_id: string, span: { readonly from: Instant; readonly to: Instant }): boolean;
  /**
   * Returns subscriptions that stopped working or whose deliveries nobody understands, and since when; `mended`: those with an
   * open gap that work again.
   */
  broken(): { readonly subscription_id: string; readonly since: Instant }[];
  mended(): string[];
  /** Returns the first gap that is over and not repaired; null if there is none. */
  toHeal(): Gap | null;
  /** Returns the next products that a gap concerns. */
  concerned(gap: Gap, limit: number): number[];
  /** Returns the number of records that still wait for the read that a gap asked for. */
  waiting(): number;
  gaps(limit: number): Gap[];
}

export interface GapTable extends GapReads {
  /** Notes since when notifications cannot come from a subscription (null: from any), and that they can again. */
  openGap(subscription_id: string | null, from_at: Instant): void;
  endGap(subscription_id: string | null, to_at: Instant): void;
  healed(gap_id: number, to_product_id: number, products: number): void;
  closeGap(gap_id: number, at: Instant): void;
}

export function gapReads(db: Reads): GapReads {
  const toHeal = db.rows(() =>
    query
      .selectFrom('_gap')
      .selectAll()
      .where('closed_at', 'is', null)
      .where('to_at', 'is not', null)
      .orderBy('gap_id')
      .limit(1),
  );
  const gaps = db.rows(({ limit }: Bound<{ limit: number }>) =>
    query.selectFrom('_gap').selectAll().orderBy('gap_id', 'desc').limit(limit),
  );
  const waiting = db.values(() =>
    query
      .selectFrom('_record')
      .select(({ fn }) => fn.countAll<number>().as('records'))
      .where('due_reason', '=', 'gap-healing'),
  );
  return {
    wasGap: findingGap(db),
    ...breaks(db),
    toHeal: () => toHeal.get() ?? null,
    concerned: findingConcerned(db),
    waiting: () => waiting.get() ?? 0,
    gaps: (limit) => gaps.all({ limit }),
  };
}

function findingGap(db: Reads): GapReads['wasGap'] {
  type Asked = { subscription_id: string; from: Instant; to: Instant };
  const found = db.values(({ subscription_id, from, to }: Bound<Asked>) =>
    query
      .selectFrom('_gap')
      .select('gap_id')
      .where(({ eb, or }) => or([eb('subscription_id', 'is', null), eb('subscription_id', '=', subscription_id)]))
      .where('from_at', '<=', to)
      .where(({ eb, fn }) => eb(fn.coalesce('to_at', to), '>=', from))
      .limit(1),
  );
  return (subscription_id, { from, to }) => found.get({ subscription_id, from, to }) !== undefined;
}

function breaks(db: Reads): Pick<GapReads, 'broken' | 'mended'> {
  const broken = db.rows(() =>
    query
      .selectFrom('_subscription as s')
      .select(({ case: when, eb, fn, lit, or, ref }) => {
        // If the address is wrong, the status has not changed, so it says nothing about when.
        const isByStatus = or([eb('s.address', '=', 'ours'), eb('s.status', '=', 'missing')]);
        const since = when().when(isByStatus).then(ref('s.status_at')).end();
        const isUnclear = eb('s.not_understood', '>=', notUnderstood.deliveries);
        const unclear = when().when(isUnclear).then(ref('s.not_understood_at')).end();
        return ['s.subscription_id', fn.coalesce(unclear, since, 's.checked_at', lit(instant(0))).as('since')];
      })
      .where('s.declared_id', 'is not', null)
      .where('s.put_at', 'is not', null)
      .where('s.status', 'is not', null)
      // One whose address nobody knows yet is not known to be broken.
      .where(({ eb, or }) =>
        or([
          eb('s.status', 'in', silentStatuses),
          eb('s.address', '<>', 'ours'),
          eb('s.not_understood', '>=', notUnderstood.deliveries),
        ]),
      ),
  );
  const mended = db.values(() =>
    query
      .selectFrom(working.select('subscription_id').as('s'))
      .innerJoin('_gap as g', 'g.subscription_id', 's.subscription_id')
      .select('s.subscription_id')
      .where('g.to_at', 'is', null),
  );
  return { broken: () => broken.all(), mended: () => mended.all() };
}

function findingConcerned(db: Reads): GapReads['concerned'] {
  type Next = { subscription_id: string | null; after: number; limit: number };
  const concerned = db.values(({ subscription_id, after, limit }: Bound<Next>) =>
    query
      .selectFrom('_subscription_product as c')
      .innerJoin('_product as p', 'p.product_id', 'c.product_id')
      .select('c.product_id')
      .distinct()
      .where('p.withdrawn_at', 'is', null)
      .where('c.product_id', '>', after)
      .where(({ eb, or }) =>
        or([eb(subscription_id, 'is', null), eb('c.subscription_id', '=', subscription_id.$notNull())]),
      )
      .orderBy('c.product_id')
      .limit(limit),
  );
  return ({ subscription_id, healed_to }, limit) => concerned.all({ subscription_id, after: healed_to, limit });
}

export function gapTable(db: Writes): GapTable {
  type Of = Pick<Gap, 'subscription_id'>;
  const open = db.rows(({ subscription_id }: Bound<Of>) =>
    query
      .selectFrom('_gap')
      .select('gap_id')
      .where('subscription_id', 'is', subscription_id)
      .where('to_at', 'is', null),
  );
  const begin = db.change(({ subscription_id, from_at }: Bound<Pick<Gap, 'subscription_id' | 'from_at'>>) =>
    query.insertInto('_gap').values({ subscription_id, from_at }),
  );
  const end = db.change(({ subscription_id, to_at }: Bound<Of & { to_at: Instant }>) =>
    query
      .updateTable('_gap')
      .set(({ fn }) => ({ to_at: fn<Instant>('max', [to_at, 'from_at']) }))
      .where('subscription_id', 'is', subscription_id)
      .where('to_at', 'is', null),
  );
  const healed = db.change(({ gap_id, healed_to, products }: Bound<Pick<Gap, 'gap_id' | 'healed_to' | 'products'>>) =>
    query
      .updateTable('_gap')
      .set(({ eb }) => ({ healed_to, products: eb('products', '+', products) }))
      .where('gap_id', '=', gap_id),
  );
  const close = db.change(({ gap_id, at }: Bound<{ gap_id: number; at: Instant }>) =>
    query.updateTable('_gap').set({ closed_at: at }).where('gap_id', '=', gap_id),
  );
  return {
    ...gapReads(db),
    openGap: (subscription_id, from_at) => {
      if (open.get({ subscription_id }) === undefined) begin.run({ subscription_id, from_at });
    },
    endGap: (subscription_id, to_at) => {
      end.run({ subscription_id, to_at });
    },
    healed: (gap_id, healed_to, products) => {
      healed.run({ gap_id, healed_to, products });
    },
    closeGap: (gap_id, at) => {
      close.run({ gap_id, at });
    },
  };
}
