import type { Instant } from '../../clock.ts';
import type { AbsenceFacts, DirectAnswer } from '../../domain/sale/absence.ts';
import { type Bound, listed, type Writes } from '../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../changes/changes.ts';
import { query } from '../sql/sql.ts';
import type { ImageLedger } from './images.ts';
import { recommending } from './product/alternatives.ts';
import type { SearchTable } from './search.ts';
import { type BoundWalk, type ListAbsences, listAbsences } from './walked.ts';

export type Absent = AbsenceFacts & { readonly product_id: number };

/** Products that the list lacks. */
export interface RemovalTable {
  /**
   * Returns every product that the list lacks, in ascending order; `one` also where only its own read was refused so
   * far.
   */
  absent(): Absent[];
  one(product_id: number): Absent | null;
  /** Records a complete walk of the primary list. An `included` product that it lacks is missing if its own read says gone. */
  readonly note: ListAbsences['note'];
  /** Notes the answer of a visible product's own read. */
  answered(product_id: number, answer: DirectAnswer, at: Instant): void;
  /** Forgets the 404s of products: they mean nothing about the products, because the service has no such path. */
  forgetGone(): void;
  /** Withdraws a product: its rows stay, its records are deleted. */
  withdraw(product_id: number, reason: string, now: Instant, by: FoundBy): void;
}

/** The tables that know of a product that is withdrawn. */
export interface WithdrawalPorts {
  readonly changes: ChangeTable;
  readonly search: SearchTable;
  readonly images: ImageLedger;
}

interface OfProduct {
  readonly product_id: number;
}

const ofProducts = query.selectFrom('_absence').where('resource', '=', 'products');

export function removalTable(db: Writes, ports: WithdrawalPorts): RemovalTable {
  const absence = ofProducts.select([
    'id as product_id', 'missing_walks', 'first_missing_at', 'last_missing_at', 'answer', 'answered_at',
  ]); // biome-ignore format: a list of columns
  const absent = db.rows(() => absence.where('missing_walks', '>', 0).orderBy('id'));
  const one = db.rows(({ product_id }: Bound<OfProduct>) => absence.where('id', '=', product_id));
  const absences = listAbsences(db, 'products', expected);
  return {
    absent: () => absent.all(),
    one: (product_id) => one.get({ product_id }) ?? null,
    note: absences.note,
    ...answers(db),
    ...withdrawing(db, ports, absences),
  };
}

/** The products that a walk should have met: of those that the list's filter may leave out, only the ones known as gone. */
function expected({ started_at, included }: BoundWalk) {
  const gone = ofProducts.select('id').where('answer', 'in', ['gone', 'permanently-gone']);
  return query
    .selectFrom('_product')
    .select('product_id as id')
    .where('withdrawn_at', 'is', null)
    .where('first_seen_at', '<', started_at)
    .where((of) => of.or([of('product_id', 'not in', listed<number>(included)), of('product_id', 'in', gone)]));
}

function answers(db: Writes): Pick<RemovalTable, 'answered' | 'forgetGone'> {
  const answered = db.change(({ product_id, answer, at }: Bound<OfProduct & { answer: DirectAnswer; at: Instant }>) =>
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
  const dropSuspects = db.change(() =>
    query.deleteFrom('_absence').where('answer', '=', 'gone').where('missing_walks', '=', 0),
  );
  const forgetGone = db.change(() =>
    query.updateTable('_absence').set({ answer: null, answered_at: null }).where('answer', '=', 'gone'),
  );
  return {
    answered: (product_id, answer, at) => {
      answered.run({ product_id, answer, at });
    },
    forgetGone: () => {
      dropSuspects.run();
      forgetGone.run();
    },
  };
}

function withdrawing(
  db: Writes,
  { changes, search, images }: WithdrawalPorts,
  absences: ListAbsences,
): Pick<RemovalTable, 'withdraw'> {
  const mark = db.change(({ product_id, reason, now }: Bound<OfProduct & { reason: string; now: Instant }>) =>
    query
      .updateTable('_product')
      .set({ withdrawn_at: now, withdrawn_reason: reason })
      .where('product_id', '=', product_id)
      .where('withdrawn_at', 'is', null),
  );
  // No read will decide about it any more; that it is gone bears out that it was closed.
  const endClosure = db.change(({ product_id, now }: Bound<OfProduct & { now: Instant }>) =>
    query
      .updateTable('_closure')
      .set((of) => ({ confirmed_at: of.fn.coalesce('confirmed_at', now), ended_at: now }))
      .where('product_id', '=', product_id)
      .where('ended_at', 'is', null),
  );
  const dropRecords = db.change(({ product_id }: Bound<OfProduct>) =>
    query.deleteFrom('_record').where('product_id', '=', product_id),
  );
  const alternatives = recommending(db, changes);
  return {
    withdraw: (product_id, reason, now, by) => {
      if (mark.run({ product_id, reason, now }).changes === 0) return;
      images.productTakenDown(product_id, now);
      search.productGone(product_id);
      absences.drop(product_id);
      dropRecords.run({ product_id });
      endClosure.run({ product_id, now });
      changes.add({ product_id, kind: 'product_withdrawn', detail: { reason } }, by);
      alternatives.changed(product_id, by);
    },
  };
}
