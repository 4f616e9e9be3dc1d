import type { AbsenceFacts, DirectAnswer, HoldOutcome, Release } from '../domain/absence.ts';
import type { Database } from '../sqlite/database-file.ts';
import type { ChangeTable, FoundBy } from './changes.ts';
import type { Tables } from './tables.ts';

export type Absent = AbsenceFacts & { readonly product_id: number };
export type Hold = Tables['hold'];

/** A product that the list lacks, for people. */
export interface AbsentProduct extends Absent {
  readonly title: string | null;
  readonly first_missing_at: number;
}

/** Products that the list lacks, and removals that are held. Every function runs inside the caller's transaction. */
export interface RemovalTable {
  /** What a walk of the primary list that began at `started_at` says: who was met is not missing any more, who was not is missing once more. */
  note(walk: { edition: string; started_at: number; included: readonly number[]; apart_ms: number }): void;
  /** Visible products, those that are missing (and no hold has let go), and those of them whose own read has data. */
  counts(): { visible: number; missing: number; there: number };
  absent(): Absent[];
  one(product_id: number): Absent | null;
  list(): AbsentProduct[];
  answered(product_id: number, answer: DirectAnswer, at: number): void;
  openHold(): Hold | null;
  beginHold(at: number): void;
  /** Another complete list, far enough from the last, agrees. */
  agree(at: number): void;
  endHold(outcome: HoldOutcome, at: number): void;
  /** Lets go those that at least `lists` lists lack. */
  release(release: Release, lists: number, product_ids: readonly number[] | null): number;
  /** Forgets what was missing: the count begins anew. */
  forget(): void;
  /** Withdraws a product: its rows stay, its records go. */
  withdraw(product_id: number, reason: string, now: number, by: FoundBy): void;
  raise(alarm: { kind: Tables['alarm']['kind']; at: number; products: number }): void;
  /** Ends an alarm that was not seen since an instant. */
  calm(kind: Tables['alarm']['kind'], since: number): void;
  alarms(): Tables['alarm'][];
}

export function removalTable(db: Database, changes: ChangeTable): RemovalTable {
  const met = db.prepare(
    `DELETE FROM absence WHERE product_id IN (SELECT id FROM walk_row WHERE resource = 'products' AND edition = @edition)`,
  );
  const missed = db.prepare(
    `INSERT INTO absence (product_id, missing_walks, first_missing_at, last_missing_at)
     SELECT product_id, 1, @started_at, @started_at FROM product
     WHERE withdrawn_at IS NULL AND first_seen_at < @started_at
       AND product_id NOT IN (SELECT id FROM walk_row WHERE resource = 'products' AND edition = @edition)
       AND product_id NOT IN (SELECT value FROM json_each(@included))
     ON CONFLICT DO UPDATE SET
       first_missing_at = CASE WHEN missing_walks = 0 THEN @started_at ELSE first_missing_at END,
       missing_walks = missing_walks + (missing_walks = 0 OR @started_at - last_missing_at >= @apart_ms),
       last_missing_at = CASE WHEN missing_walks = 0 OR @started_at - last_missing_at >= @apart_ms THEN @started_at ELSE last_missing_at END`,
  );
  const counts = db.prepare<[], { visible: number; missing: number; there: number }>(
    `SELECT (SELECT count(*) FROM product WHERE withdrawn_at IS NULL) AS visible,
       COALESCE(sum(missing_walks > 0 AND release IS NULL), 0) AS missing,
       COALESCE(sum(missing_walks > 0 AND release IS NULL AND answer = 'there'), 0) AS there FROM absence`,
  );
  const columns = 'product_id, missing_walks, answer, release';
  const absent = db.prepare<[], Absent>(`SELECT ${columns} FROM absence WHERE missing_walks > 0 ORDER BY product_id`);
  const one = db.prepare<[number], Absent>(`SELECT ${columns} FROM absence WHERE product_id = ?`);
  const list = db.prepare<[], AbsentProduct>(
    `SELECT a.product_id, a.missing_walks, a.answer, a.release, a.first_missing_at,
       (SELECT t.title FROM product_text t, mirror m WHERE t.product_id = a.product_id AND t.language = m.language) AS title
     FROM absence a WHERE a.missing_walks > 0 ORDER BY a.first_missing_at, a.product_id`,
  );
  const answered = db.prepare(
    `INSERT INTO absence (product_id, missing_walks, first_missing_at, last_missing_at, answer, answered_at)
     SELECT product_id, 0, @at, @at, @answer, @at FROM product WHERE product_id = @product_id AND withdrawn_at IS NULL
     ON CONFLICT DO UPDATE SET answer = @answer, answered_at = @at`,
  );
  const openHold = db.prepare<[], Hold>('SELECT * FROM hold WHERE ended_at IS NULL ORDER BY hold_id DESC LIMIT 1');
  const begin = db.prepare<[number, number]>('INSERT INTO hold (opened_at, lists, last_list_at) VALUES (?, 1, ?)');
  const agree = db.prepare<[number]>('UPDATE hold SET lists = lists + 1, last_list_at = ? WHERE ended_at IS NULL');
  const end = db.prepare<[number, HoldOutcome]>('UPDATE hold SET ended_at = ?, outcome = ? WHERE ended_at IS NULL');
  const release = db.prepare<{ release: Release; lists: number; ids: string | null }>(
    `UPDATE absence SET release = @release WHERE missing_walks >= @lists AND release IS NULL
       AND (@ids IS NULL OR product_id IN (SELECT value FROM json_each(@ids)))`,
  );
  const forget = db.prepare('DELETE FROM absence WHERE release IS NULL');
  const withdraw = db.prepare<[number, string, number]>(
    'UPDATE product SET withdrawn_at = ?, withdrawn_reason = ? WHERE product_id = ? AND withdrawn_at IS NULL',
  );
  const dropRecords = db.prepare<[number]>('DELETE FROM record WHERE product_id = ?');
  const drop = db.prepare<[number]>('DELETE FROM absence WHERE product_id = ?');
  const raise = db.prepare(
    `INSERT INTO alarm (kind, raised_at, seen_at, products) VALUES (@kind, @at, @at, @products)
     ON CONFLICT DO UPDATE SET seen_at = @at, products = products + @products`,
  );
  const calm = db.prepare<[string, number]>('DELETE FROM alarm WHERE kind = ? AND seen_at < ?');
  const alarms = db.prepare<[], Tables['alarm']>('SELECT * FROM alarm ORDER BY kind');

  return {
    note: ({ edition, started_at, included, apart_ms }) => {
      met.run({ edition });
      missed.run({ edition, started_at, apart_ms, included: JSON.stringify(included) });
    },
    counts: () => counts.get() ?? { visible: 0, missing: 0, there: 0 },
    absent: () => absent.all(),
    one: (product_id) => one.get(product_id) ?? null,
    list: () => list.all(),
    answered: (product_id, answer, at) => {
      answered.run({ product_id, answer, at });
    },
    openHold: () => openHold.get() ?? null,
    beginHold: (at) => {
      begin.run(at, at);
    },
    agree: (at) => {
      agree.run(at);
    },
    endHold: (outcome, at) => {
      end.run(at, outcome);
    },
    release: (why, lists, ids) =>
      release.run({ release: why, lists, ids: ids === null ? null : JSON.stringify(ids) }).changes,
    forget: () => {
      forget.run();
    },
    withdraw: (product_id, reason, now, by) => {
      if (withdraw.run(now, reason, product_id).changes === 0) return;
      drop.run(product_id);
      dropRecords.run(product_id);
      changes.add({ product_id, kind: 'product_withdrawn', detail: { reason } }, by);
    },
    raise: (alarm) => {
      raise.run(alarm);
    },
    calm: (kind, since) => {
      calm.run(kind, since);
    },
    alarms: () => alarms.all(),
  };
}
