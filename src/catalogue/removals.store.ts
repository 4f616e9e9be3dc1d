import { type ChangeTable, FeedingStore, type FoundBy } from '../feed/changes.store.ts';
import type { Instant } from '../kernel/clock.ts';
import {
  type Bound,
  type Expression,
  listed,
  type PreparedStatement,
  type RawBuilder,
  sql,
  type Writes,
} from '../kernel/sqlite/statements.ts';
import { dropBy, query } from '../mirror/sql/sql.ts';
import type { ListResource } from '../schedule/resources.rules.ts';
import type { SearchTable } from '../storefront/search/search.store.ts';
import { type AbsenceFacts, type DirectAnswer, listsApartMs, walksUntilDropped } from '../trust/absence.rules.ts';
import type { ImageLedger } from './images.store.ts';
import { Recommending } from './products.store.ts';

/** A complete walk over a list. */
export interface CompleteWalk {
  readonly edition: string;
  readonly started_at: Instant;
  /** Entries that the list's filter may leave out. */
  readonly included?: readonly number[];
}

type WalkValues = { readonly edition: string; readonly started_at: Instant; readonly included: string };
type BoundWalk = Bound<WalkValues>;

/** Decides whether an entry is stored; else the one that is shown stays, as stale. `isKnown`: one is shown. */
export type IsUsable<Entry> = (entry: Entry, isKnown: boolean) => boolean;

/** A list without reads of its entries: its walks alone decide which are gone. */
export interface DroppedByWalks {
  /** Drops what this and enough earlier walks lack; returns how many were missing, and how many of them are dropped. */
  dropMissing(walk: CompleteWalk, by: FoundBy): { readonly missing: number; readonly dropped: number };
}

/** Entries that the last complete walk of a list lacks. */
export class ListAbsences {
  readonly #found: PreparedStatement<WalkValues, number>;
  readonly #missed: PreparedStatement<WalkValues, number>;
  readonly #missing: PreparedStatement<{ walks: number }, number[]>;
  readonly #drop: PreparedStatement<{ id: number }, number>;

  /** `stored` selects the ids of the entries that a walk should have met. Walks that are close together count as one. */
  constructor(db: Writes, resource: ListResource, stored: (walk: BoundWalk) => Expression<{ id: number }>) {
    const unmet = (walk: BoundWalk) =>
      query
        .selectFrom(sql<{ id: number }>`(${stored(walk)})`.as('stored'))
        .where('stored.id', 'not in', metBy(resource, walk.edition));
    this.#found = db.change((walk: BoundWalk) =>
      query
        .deleteFrom('_absence')
        .where('resource', '=', resource)
        .where('id', 'not in', unmet(walk).select('stored.id')),
    );
    this.#missed = db.change((walk: BoundWalk) =>
      query
        .insertInto('_absence')
        .columns(['resource', 'id', 'missing_walks', 'first_missing_at', 'last_missing_at'])
        .expression(
          unmet(walk).select([
            sql.lit(resource).as('resource'),
            'stored.id',
            sql.lit(1).as('missing_walks'),
            walk.started_at.as('first_missing_at'),
            walk.started_at.as('last_missing_at'),
          ]),
        )
        .onConflict((taken) =>
          taken.doUpdateSet((of) => {
            const [walks, first, last] = [
              of.ref('missing_walks'),
              of.ref('first_missing_at'),
              of.ref('last_missing_at'),
            ];
            const counts = sql<0 | 1>`(${walks} = 0 or ${walk.started_at} - ${last} >= ${listsApartMs})`;
            return {
              first_missing_at: sql`case when ${walks} = 0 then ${walk.started_at} else ${first} end`,
              missing_walks: of('missing_walks', '+', counts),
              last_missing_at: sql`case when ${counts} then ${walk.started_at} else ${last} end`,
            };
          }),
        ),
    );
    this.#missing = db.values(({ walks }: Bound<{ walks: number }>) =>
      query.selectFrom('_absence').select('id').where('resource', '=', resource).where('missing_walks', '>=', walks),
    );
    this.#drop = db.change(({ id }: Bound<{ id: number }>) =>
      query.deleteFrom('_absence').where('resource', '=', resource).where('id', '=', id),
    );
  }

  /** Records a complete walk: a stored entry that it did not meet is missing once more, any other one is not missing. */
  note({ included = [], ...walk }: CompleteWalk): void {
    const values = { ...walk, included: JSON.stringify(included) };
    this.#found(values);
    this.#missed(values);
  }

  drop(id: number): void {
    this.#drop({ id });
  }

  /** Records a complete walk of a list of `stored` entries. Forgets those that enough walks lack, and returns their ids. */
  gone(walk: CompleteWalk, stored: number): { readonly missing: number; readonly ids: readonly number[] } {
    this.note(walk);
    const missing = this.#missing({ walks: 1 }).length;
    const ids = this.#missing({ walks: walksUntilDropped(missing, stored) });
    for (const id of ids) this.drop(id);
    return { missing, ids };
  }
}

export type Absent = AbsenceFacts & { readonly product_id: number };

interface OfProduct {
  readonly product_id: number;
}

/** Products that the list lacks. */
export class RemovalTable extends FeedingStore {
  /** Returns every product that the list lacks, in ascending order. */
  readonly absent = this.db.rows(() => absentProducts().where('missing_walks', '>', 0).orderBy('id'));
  /** Returns a product that the list lacks, or whose own read alone was refused so far. */
  readonly one = this.db.row(({ product_id }: Bound<OfProduct>) => absentProducts().where('id', '=', product_id));
  readonly #absences = new ListAbsences(this.db, 'products', expected);
  /** Notes the answer of a visible product's own read. */
  readonly answered = this.db.change(
    ({ product_id, answer, at }: Bound<OfProduct & { answer: DirectAnswer; at: Instant }>) =>
      query
        .insertInto('_absence')
        .values({
          resource: 'products',
          id: product_id,
          missing_walks: 0,
          first_missing_at: at,
          last_missing_at: at,
          answer,
          answered_at: at,
        })
        .onConflict((taken) => taken.doUpdateSet({ answer, answered_at: at })),
  );
  readonly #dropSuspects = this.db.change(() =>
    query.deleteFrom('_absence').where('answer', '=', 'gone').where('missing_walks', '=', 0),
  );
  readonly #forgetGone = this.db.change(() =>
    query.updateTable('_absence').set({ answer: null, answered_at: null }).where('answer', '=', 'gone'),
  );
  readonly #mark = this.db.change(({ product_id, reason, now }: Bound<OfProduct & { reason: string; now: Instant }>) =>
    query
      .updateTable('_product')
      .set({ withdrawn_at: now, withdrawn_reason: reason })
      .where('product_id', '=', product_id)
      .where('withdrawn_at', 'is', null),
  );
  // No read will decide about it any more; that it is gone bears out that it was closed.
  readonly #endClosure = this.db.change(({ product_id, now }: Bound<OfProduct & { now: Instant }>) =>
    query
      .updateTable('_closure')
      .set((of) => ({ confirmed_at: of.fn.coalesce('confirmed_at', now), ended_at: now }))
      .where('product_id', '=', product_id)
      .where('ended_at', 'is', null),
  );
  readonly #dropRecords = this.db.change(dropBy('_record', ['product_id']));
  readonly #alternatives = new Recommending(this.db, this.changes);
  readonly #search: SearchTable;
  readonly #images: ImageLedger;

  constructor(db: Writes, changes: ChangeTable, search: SearchTable, images: ImageLedger) {
    super(db, changes);
    this.#search = search;
    this.#images = images;
  }

  /** Records a complete walk of the primary list. An `included` product that it lacks is missing if its own read says gone. */
  note(walk: CompleteWalk): void {
    this.#absences.note(walk);
  }

  /** Forgets the 404s of products: they mean nothing about the products, because the service has no such path. */
  forgetGone(): void {
    this.#dropSuspects();
    this.#forgetGone();
  }

  /** Withdraws a product: its rows stay, its records are deleted. */
  withdraw(product_id: number, reason: string, now: Instant, by: FoundBy): void {
    if (this.#mark({ product_id, reason, now }) === 0) return;
    this.#images.productTakenDown({ product_id, withdrawn_at: now });
    this.#search.productGone(product_id);
    this.#absences.drop(product_id);
    this.#dropRecords({ product_id });
    this.#endClosure({ product_id, now });
    this.changes.add({ product_id, kind: 'product_withdrawn', detail: { reason } }, by);
    this.#alternatives.changed(product_id, by);
  }
}

function ofProducts() {
  return query.selectFrom('_absence').where('resource', '=', 'products');
}

function absentProducts() {
  return ofProducts().select([
    'id as product_id', 'missing_walks', 'first_missing_at', 'last_missing_at', 'answer', 'answered_at',
  ]); // biome-ignore format: a list of columns
}

/** The products that a walk should have met: of those that the list's filter may leave out, only the ones known as gone. */
function expected({ started_at, included }: BoundWalk) {
  const gone = ofProducts().select('id').where('answer', 'in', ['gone', 'permanently-gone']);
  return query
    .selectFrom('_product')
    .select('product_id as id')
    .where('withdrawn_at', 'is', null)
    .where('first_seen_at', '<', started_at)
    .where((of) => of.or([of('product_id', 'not in', listed<number>(included)), of('product_id', 'in', gone)]));
}

/** Returns the entries that a walk met in any of its attempts. An entry that only a drifting attempt met did exist. */
function metBy(resource: ListResource, edition: RawBuilder<string>) {
  return sql<number>`(select value from _walk_page, json_each(ids) where resource = ${sql.lit(resource)} and edition = ${edition})`;
}
