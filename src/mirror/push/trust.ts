import type { Instant } from '../../clock.ts';
import type { Trust } from '../../domain/push/trust.ts';
import { futureToleranceMs } from '../../domain/schedule/record.ts';
import {
  type Bound,
  type ExpressionBuilder,
  listed,
  type RawBuilder,
  type Reads,
  sql,
  type Writes,
} from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { type GapReads, type GapTable, gapReads, gapTable } from './gaps.ts';
import { type NoticeReads, type NoticeTable, noticeReads, noticeTable } from './notices.ts';
import { working } from './working.ts';

/** Queries about push: notices, expected notices, coverage and gaps. */
export interface TrustReads extends NoticeReads, GapReads {
  covered(): number;
}

/** Push, measured. */
export interface TrustTable extends TrustReads, NoticeTable, GapTable {
  trust(subscription_id: string, trust: Trust, trusted: 0 | 1): void;
  /** Returns whether `cover` would find anything: a read, where that is a write. */
  isCoverageOutdated(now: Instant): boolean;
  /** Finds which products a working, trusted subscription covers; returns so many at most of which that has changed. */
  cover(now: Instant, limit: number): { readonly product_id: number; readonly covered: 0 | 1 }[];
}

function coverageReads(db: Reads): Pick<TrustReads, 'covered'> {
  const covered = db.values(() =>
    query
      .selectFrom('_product')
      .select(({ fn }) => fn.countAll<number>().as('products'))
      .where('covered', '=', 1)
      .where('withdrawn_at', 'is', null),
  );
  return { covered: () => covered.get() ?? 0 };
}

export function trustReads(db: Reads): TrustReads {
  return { ...noticeReads(db), ...gapReads(db), ...coverageReads(db) };
}

export function trustTable(db: Writes): TrustTable {
  type Trusted = Trust & { subscription_id: string; trusted: 0 | 1 };
  const trust = db.change(({ subscription_id, announced, announceable, trusted }: Bound<Trusted>) =>
    query
      .updateTable('_subscription')
      .set({ announced, announceable, trusted })
      .where('subscription_id', '=', subscription_id),
  );
  return {
    ...noticeTable(db),
    ...gapTable(db),
    ...coverageReads(db),
    trust: (subscription_id, { announced, announceable }, trusted) => {
      trust.run({ subscription_id, announced, announceable, trusted });
    },
    ...covering(db),
  };
}

function covering(db: Writes): Pick<TrustTable, 'isCoverageOutdated' | 'cover'> {
  const everDeclared = db.values(() => query.selectFrom('_subscription').select('subscription_id').limit(1));
  const unnoted = db.values(({ now }: Bound<{ now: Instant }>) =>
    query.selectFrom('_subscription_product').select('product_id').where(isUnnoted(now)).limit(1),
  );
  const noteSince = db.change(({ now }: Bound<{ now: Instant }>) =>
    query.updateTable('_subscription_product').set({ since_at: now }).where(isUnnoted(now)),
  );
  const moved = db.rows(({ limit }: Bound<{ limit: number }>) =>
    query
      .selectFrom('_product as p')
      .select(({ eb }) => ['p.product_id', eb('p.covered', '=', 0).$castTo<0 | 1>().as('covered')])
      .where('p.withdrawn_at', 'is', null)
      // The covered products are gathered once, and not looked up again for each product: this runs every minute.
      .where(({ eb, parens, selectFrom }) =>
        eb(
          'p.covered',
          '<>',
          // Without parentheses SQL compares first, and looks for the result in the list.
          parens(
            'p.product_id',
            'in',
            selectFrom('_subscription_product as c')
              .innerJoin(working.selectAll().as('s'), 's.subscription_id', 'c.subscription_id')
              .select('c.product_id')
              .where('s.trusted', '=', 1)
              .where(
                sql.lit('product_details_update'),
                'in',
                (of) => sql<string>`(select value from json_each(${of.ref('s.change_types')}))`,
              ),
          ).$castTo<0 | 1>(),
        ),
      )
      .limit(limit),
  );
  const move = db.change(({ ids }: Bound<{ ids: string }>) =>
    query
      .updateTable('_product')
      .set(({ eb }) => ({ covered: eb('covered', '=', 0).$castTo<0 | 1>() }))
      .where('product_id', 'in', listed<number>(ids)),
  );
  return {
    isCoverageOutdated: (now) =>
      // A subscription is never forgotten: without one, no product was ever covered, and none is looked at.
      everDeclared.get() !== undefined && (unnoted.get({ now }) !== undefined || moved.get({ limit: 1 }) !== undefined),
    cover: (now, limit) => {
      noteSince.run({ now });
      const found = moved.all({ limit });
      if (found.length > 0) move.run({ ids: JSON.stringify(found.map(({ product_id }) => product_id)) });
      return found;
    },
  };
}

/** Since when a product is covered is not noted yet, or was noted by a clock that was wrong. */
function isUnnoted(now: RawBuilder<Instant>) {
  return ({ eb, or }: ExpressionBuilder<Tables, '_subscription_product'>) =>
    or([eb('since_at', 'is', null), eb('since_at', '>', sql<Instant>`${now} + ${sql.lit(futureToleranceMs)}`)]);
}
