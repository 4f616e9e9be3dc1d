import type { Instant } from '../kernel/clock.ts';
import {
  type Bound,
  type ExpressionBuilder,
  type PreparedStatement,
  type Reads,
  Store,
  sql,
  type Writes,
} from '../kernel/sqlite/statements.ts';
import { query, type Schema, upsert } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import type { RecordKey } from '../schedule/record.rules.ts';
import type { Resource } from '../schedule/resources.rules.ts';
import type { UnreadableMember } from './unreadable.rules.ts';

/** A member of a record's latest answer that is there and cannot be read. */
export type StoredUnread = Tables['_unreadable'];
type OfMember = { readonly resource: Resource; readonly member: string };

/** Lists, of which each row is judged by itself. */
const lists = ['products', 'experiences', 'tags'] as const;
const key = ['resource', 'member', 'product_id', 'edition', 'part'] as const;

export class UnreadReads<Db extends Reads = Reads> extends Store<Db> {
  /** Returns those of a record, in the order of their names. */
  readonly ofRecord = this.db.rows((bound: Bound<RecordKey>) =>
    query.selectFrom('_unreadable').selectAll().where(isRecord(bound)).orderBy('member'),
  );
  readonly ofProduct = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_unreadable')
      .selectAll()
      .where('product_id', '=', product_id)
      .orderBy('resource')
      .orderBy('member')
      .orderBy('part'),
  );
  readonly #claiming = this.db.value(({ resource, member, since }: Bound<OfMember & { since: Instant }>) =>
    query
      .selectFrom('_unreadable')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('resource', '=', resource)
      .where('member', '=', member)
      .where((of) => of.or([of('kept', '=', 1), of('first_at', '>=', since)])),
  );
  readonly #rows: Readonly<Partial<Record<Resource, PreparedStatement<object, number | null>>>> = {
    products: this.db.value(() =>
      query
        .selectFrom('_product')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('withdrawn_at', 'is', null),
    ),
    experiences: this.db.value(() =>
      query.selectFrom('_experience').select(({ fn }) => fn.countAll<number>().as('count')),
    ),
    tags: this.db.value(() => query.selectFrom('_tag').select(({ fn }) => fn.countAll<number>().as('count'))),
  };
  readonly #records = this.db.value(({ resource }: Bound<{ resource: Resource }>) =>
    query
      .selectFrom('_record')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('resource', '=', resource)
      .where('fetched_at', 'is not', null),
  );
  // Of the bare columns beside min(), SQLite takes the row of the minimum: the first one that had it so.
  readonly #members = this.db.rows(() =>
    query
      .selectFrom('_unreadable')
      .select(({ fn }) => [
        'resource',
        'member',
        'example',
        sql<number>`iif(product_id = 0, part, product_id)`.as('id'),
        fn.min<Instant>('first_at').as('since'),
        fn.countAll<number>().as('records'),
        fn.sum<number>('kept').as('kept'),
      ])
      .groupBy(['resource', 'member'])
      .orderBy('records', 'desc')
      .orderBy('resource')
      .orderBy('member'),
  );

  /** Returns how many records have a member so: those whose answer was not stored, and those since an instant. */
  claiming(of: OfMember & { readonly since: Instant }): number {
    return this.#claiming(of) ?? 0;
  }

  /** Returns how many records of a resource, or rows of a list, were ever read. */
  able(resource: Resource): number {
    return this.#rows[resource]?.() ?? this.#records({ resource }) ?? 0;
  }

  /** Returns each member that some record has so, the one with the most records first. */
  members(): UnreadableMember[] {
    return this.#members().map((row) => ({ ...row, able: Math.max(this.able(row.resource as Resource), row.records) }));
  }
}

export class UnreadTable extends UnreadReads<Writes> {
  readonly note = this.db.change(upsert('_unreadable', key, ['example', 'first_at', 'last_at', 'kept']));
  readonly drop = this.db.change((bound: Bound<StoredUnread>) =>
    query.deleteFrom('_unreadable').where(isRecord(bound)).where('member', '=', bound.member),
  );
  /** Deletes those of records and list rows that no longer exist. */
  readonly prune = this.db.change(() =>
    query.deleteFrom('_unreadable').where(({ and, eb, exists, not, or, selectFrom }) => {
      const records = selectFrom('_record as r')
        .select('r.part')
        .whereRef('r.resource', '=', '_unreadable.resource')
        .whereRef('r.edition', '=', '_unreadable.edition');
      const product = selectFrom('_product as p')
        .select('p.product_id')
        .whereRef('p.product_id', '=', '_unreadable.product_id')
        .where('p.withdrawn_at', 'is', null);
      const experience = selectFrom('_experience as e')
        .select('e.experience_id')
        .whereRef('e.experience_id', '=', '_unreadable.part');
      const tag = selectFrom('_tag as t').select('t.tag_id').whereRef('t.tag_id', '=', '_unreadable.part');
      return or([
        and([eb('resource', 'in', lists), not(exists(records.where('r.product_id', '=', 0)))]),
        and([
          eb('resource', 'not in', lists),
          not(
            exists(
              records
                .whereRef('r.product_id', '=', '_unreadable.product_id')
                .whereRef('r.part', '=', '_unreadable.part'),
            ),
          ),
        ]),
        and([eb('product_id', '<>', 0), not(exists(product))]),
        and([eb('resource', '=', 'experiences'), not(exists(experience))]),
        and([eb('resource', '=', 'tags'), not(exists(tag))]),
      ]);
    }),
  );
}

function isRecord({ resource, product_id, edition, part }: Bound<RecordKey> | Bound<StoredUnread>) {
  return (of: ExpressionBuilder<Schema, '_unreadable'>) =>
    of.and([
      of('resource', '=', resource as never),
      of('product_id', '=', product_id as never),
      of('edition', '=', edition as never),
      of('part', '=', part as never),
    ]);
}
