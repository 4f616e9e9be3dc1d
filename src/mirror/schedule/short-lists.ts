import { type Instant, instant } from '../../clock.ts';
import type { ShortListFacts } from '../../domain/conditions/facts.ts';
import { isSettled, type ShortList } from '../../domain/sale/short-list.ts';
import { type Bound, type Reads, sql, type Writes } from '../../sqlite/statements.ts';
import { query, upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import type { WalkKey } from './walks.ts';

type Row = Tables['_short_list'];

/** A list whose last walk was short, as status shows it. */
export interface ShortListStatus extends ShortListFacts {
  readonly walked_at: number;
}

export interface ShortListReads {
  /** Returns those that are still walked, the product lists first. */
  all(): (ShortListStatus & Pick<Row, 'resource'>)[];
}

/** Lists whose last walk met fewer rows than the service counts, or rows that could not be used. */
export interface ShortListTable extends ShortListReads {
  find(key: WalkKey): Row | null;
  /** Notes a short walk that ended at `at`. */
  note(key: WalkKey, list: ShortList & Pick<Row, 'unusable_example'>, at: Instant): void;
  /** Forgets that a list was short. */
  end(key: WalkKey): void;
}

export function shortListReads(db: Reads): ShortListReads {
  const all = db.rows(() =>
    query
      .selectFrom('_short_list as s')
      .innerJoin('_record as r', (on) =>
        on
          .onRef('r.resource', '=', 's.resource')
          .onRef('r.edition', '=', 's.edition')
          .on('r.product_id', '=', 0)
          .on('r.part', '=', 0),
      )
      .innerJoin('_mirror as m', (on) => on.on('m.mirror_id', '=', 1))
      .select(['s.resource', 's.edition', 's.since_at as since', 's.walked_at', 's.counted', 's.met', 's.unusable'])
      .select(['s.unusable_example', 's.lists'])
      .select(sql<0 | 1>`s.edition = m.language || '/' || m.currency`.as('primary'))
      .orderBy(sql`s.resource <> 'products'`)
      .orderBy(sql`s.edition <> m.language || '/' || m.currency`)
      .orderBy('s.resource')
      .orderBy('s.edition'),
  );
  return {
    all: () => all.all().map(({ lists, ...row }) => ({ ...row, settled: isSettled({ lists, met: row.met }) ? 1 : 0 })),
  };
}

const columns = [
  'since_at', 'walked_at', 'counted', 'met', 'unusable', 'unusable_example', 'row_hash', 'lists', 'agreed_at',
] as const; // biome-ignore format: a list of columns

export function shortListTable(db: Writes): ShortListTable {
  const one = db.rows(({ resource, edition }: Bound<WalkKey>) =>
    query.selectFrom('_short_list').selectAll().where('resource', '=', resource).where('edition', '=', edition),
  );
  const put = db.change(upsert('_short_list', ['resource', 'edition'], columns));
  const end = db.change(({ resource, edition }: Bound<WalkKey>) =>
    query.deleteFrom('_short_list').where('resource', '=', resource).where('edition', '=', edition),
  );
  const find = (key: WalkKey) => one.get(key) ?? null;
  return {
    ...shortListReads(db),
    find,
    note: ({ resource, edition }, list, at) => {
      const since_at = find({ resource, edition })?.since_at ?? at;
      put.run({ ...list, agreed_at: instant(list.agreed_at), resource, edition, since_at, walked_at: at });
    },
    end: ({ resource, edition }) => {
      end.run({ resource, edition });
    },
  };
}
