import {
  type AbsenceFacts,
  type DirectAnswer,
  type HoldOutcome,
  listsApartMs,
  type Release,
} from '../../domain/sale/absence.ts';
import { futureToleranceMs } from '../../domain/schedule/record.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { ChangeTable, FoundBy } from '../changes/changes.ts';
import type { Tables } from '../sql/tables.ts';
import { imageLedger } from './image-ledger.ts';
import { searchTable } from './search.ts';

export type Absent = AbsenceFacts & { readonly product_id: number };
export type Hold = Tables['hold'];

/** A product that the list lacks, for people. */
export interface AbsentProduct extends Absent {
  readonly title: string | null;
}

/** Products that the list lacks, and removals that are held. Every function runs inside the caller's transaction. */
export interface RemovalTable {
  /** What a complete walk of the primary list says: who was met is not missing any more, who was not is missing once more. */
  note(walk: { edition: string; started_at: number; now: number; included: readonly number[] }): void;
  /** Every product that the list lacks, in ascending order; `one` also where only its own read was refused so far. */
  absent(): Absent[];
  one(product_id: number): Absent | null;
  list(): AbsentProduct[];
  answered(product_id: number, answer: DirectAnswer, at: number): void;
  /** What products answered with a 404 says nothing about them: their path does not exist. */
  forgetGone(): void;
  openHold(): Hold | null;
  beginHold(at: number): void;
  /** Another complete list, far enough from the last, agrees. */
  agree(at: number): void;
  endHold(outcome: HoldOutcome, at: number): void;
  /** Lets products go; returns how many. */
  release(release: Release, product_ids: readonly number[]): number;
  /** A person does not believe that these are gone: the count begins anew. */
  reject(product_ids: readonly number[]): void;
  /** Withdraws a product: its rows stay, its records go. */
  withdraw(product_id: number, reason: string, now: number, by: FoundBy): void;
}

export function removalTable(db: Database, changes: ChangeTable): RemovalTable {
  // All attempts of the walk: what only a drifting one met was there.
  const shown = `SELECT id FROM walk_row WHERE resource = 'products' AND edition = @edition`;
  const met = db.prepare<{ edition: string; included: string }>(
    `DELETE FROM absence WHERE product_id IN (${shown}) OR product_id IN (SELECT value FROM json_each(@included))`,
  );
  // An instant that has not come yet counts as absent: a machine that once lived in 2038 counts on.
  const counted = `(missing_walks = 0 OR @started_at - last_missing_at >= ${listsApartMs} OR last_missing_at > @started_at + ${futureToleranceMs})`;
  const missed = db.prepare<{ edition: string; included: string; started_at: number; now: number }>(
    `INSERT INTO absence (product_id, missing_walks, first_missing_at, last_missing_at)
     SELECT product_id, 1, @started_at, @started_at FROM product
     WHERE withdrawn_at IS NULL AND (first_seen_at < @started_at OR first_seen_at > @now + ${futureToleranceMs})
       AND product_id NOT IN (${shown})
       AND product_id NOT IN (SELECT value FROM json_each(@included))
     ON CONFLICT DO UPDATE SET
       first_missing_at = CASE WHEN missing_walks = 0 OR first_missing_at > @now + ${futureToleranceMs} THEN @started_at ELSE first_missing_at END,
       missing_walks = missing_walks + ${counted},
       last_missing_at = CASE WHEN ${counted} THEN @started_at ELSE last_missing_at END`,
  );
  const columns =
    'product_id, missing_walks, first_missing_at, last_missing_at, answer, answered_at, release, rejected';
  const absent = db.prepare<[], Absent>(`SELECT ${columns} FROM absence WHERE missing_walks > 0 ORDER BY product_id`);
  const one = db.prepare<[number], Absent>(`SELECT ${columns} FROM absence WHERE product_id = ?`);
  const list = db.prepare<[], AbsentProduct>(
    `SELECT a.product_id, a.missing_walks, a.first_missing_at, a.last_missing_at, a.answer, a.answered_at, a.release, a.rejected,
       (SELECT t.title FROM product_text t, mirror m WHERE t.product_id = a.product_id AND t.language = m.language) AS title
     FROM absence a WHERE a.missing_walks > 0 ORDER BY a.first_missing_at, a.product_id`,
  );
  const answered = db.prepare(
    `INSERT INTO absence (product_id, missing_walks, first_missing_at, last_missing_at, answer, answered_at)
     SELECT product_id, 0, @at, @at, @answer, @at FROM product WHERE product_id = @product_id AND withdrawn_at IS NULL
     ON CONFLICT DO UPDATE SET answer = @answer, answered_at = @at`,
  );
  const dropSuspects = db.prepare("DELETE FROM absence WHERE answer = 'gone' AND missing_walks = 0 AND rejected = 0");
  const forgetGone = db.prepare("UPDATE absence SET answer = NULL, answered_at = NULL WHERE answer = 'gone'");
  const openHold = db.prepare<[], Hold>('SELECT * FROM hold WHERE ended_at IS NULL ORDER BY hold_id DESC LIMIT 1');
  const begin = db.prepare<[number, number]>('INSERT INTO hold (opened_at, lists, last_list_at) VALUES (?, 1, ?)');
  const agree = db.prepare<{ at: number }>(
    'UPDATE hold SET lists = lists + 1, last_list_at = @at, opened_at = min(opened_at, @at) WHERE ended_at IS NULL',
  );
  const end = db.prepare<[number, HoldOutcome]>('UPDATE hold SET ended_at = ?, outcome = ? WHERE ended_at IS NULL');
  const release = db.prepare<{ release: Release; ids: string }>(
    `UPDATE absence SET release = @release
     WHERE missing_walks > 0 AND release IS NOT 'approved' AND product_id IN (SELECT value FROM json_each(@ids))`,
  );
  const reject = db.prepare<{ ids: string }>(
    `UPDATE absence SET missing_walks = 0, answer = NULL, answered_at = NULL, rejected = 1
     WHERE product_id IN (SELECT value FROM json_each(@ids))`,
  );
  const withdraw = db.prepare<[number, string, number]>(
    'UPDATE product SET withdrawn_at = ?, withdrawn_reason = ? WHERE product_id = ? AND withdrawn_at IS NULL',
  );
  // No read will decide about it any more; that it is gone bears out that it was closed.
  const endClosure = db.prepare<{ product_id: number; now: number }>(
    'UPDATE closure SET confirmed_at = COALESCE(confirmed_at, @now), ended_at = @now WHERE product_id = @product_id AND ended_at IS NULL',
  );
  const dropRecords = db.prepare<[number]>('DELETE FROM record WHERE product_id = ?');
  const drop = db.prepare<[number]>('DELETE FROM absence WHERE product_id = ?');
  const images = imageLedger(db);
  const search = searchTable(db);

  return {
    note: ({ included, ...walk }) => {
      const bound = { ...walk, included: JSON.stringify(included) };
      met.run({ edition: bound.edition, included: bound.included });
      missed.run(bound);
    },
    absent: () => absent.all(),
    one: (product_id) => one.get(product_id) ?? null,
    list: () => list.all(),
    answered: (product_id, answer, at) => {
      answered.run({ product_id, answer, at });
    },
    forgetGone: () => {
      dropSuspects.run();
      forgetGone.run();
    },
    openHold: () => openHold.get() ?? null,
    beginHold: (at) => {
      begin.run(at, at);
    },
    agree: (at) => {
      agree.run({ at });
    },
    endHold: (outcome, at) => {
      end.run(at, outcome);
    },
    release: (why, ids) => release.run({ release: why, ids: JSON.stringify(ids) }).changes,
    reject: (ids) => {
      reject.run({ ids: JSON.stringify(ids) });
    },
    withdraw: (product_id, reason, now, by) => {
      if (withdraw.run(now, reason, product_id).changes === 0) return;
      images.productTakenDown(product_id, now);
      search.productGone(product_id);
      drop.run(product_id);
      dropRecords.run(product_id);
      endClosure.run({ product_id, now });
      changes.add({ product_id, kind: 'product_withdrawn', detail: { reason } }, by);
    },
  };
}
