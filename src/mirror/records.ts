import type { Due, DueReason, RecordFacts, RecordKey, Resource } from '../domain/record.ts';
import type { Database } from '../sqlite/database-file.ts';
import { param, prepare, query } from './sql.ts';

/** A kind of record that every product has, with the instant in 1970 that puts it in its place in a first fill. */
export interface RecordTemplate {
  readonly resource: Resource;
  readonly edition: string;
  readonly part: number;
  readonly due_at: number;
}

/** Which records a resync asks for; null means all of that dimension. */
export interface RecordSelection {
  readonly kinds: readonly Pick<RecordTemplate, 'resource' | 'edition' | 'part'>[];
  readonly product_ids: readonly number[] | null;
}

export interface FillState {
  readonly records: number;
  readonly never_fetched: number;
  readonly failing: number;
  /** Never fetched, and not in quarantine. */
  readonly waiting: number;
}

/** What is known of each record's reads, and when it is due. Every function runs inside the caller's transaction. */
export interface RecordTable {
  /** Those due at `now`, the most urgent first; of one job, or of all. */
  due(now: number, limit: number, job_id: number | null): RecordFacts[];
  nextDueAt(job_id: number | null): number | null;
  find(key: RecordKey): RecordFacts | null;
  /** Makes what is missing, for these products or (null) for all; what exists stays as it is. */
  create(templates: readonly RecordTemplate[], product_ids: readonly number[] | null): void;
  createWalk(template: RecordTemplate): void;
  /** Drops the records of kinds that the configuration no longer asks for. */
  dropOthers(templates: readonly RecordTemplate[]): void;
  /** A request sent at `sent_at` was answered and stored. */
  fetched(
    key: RecordKey,
    read: { sent_at: number; changed: boolean; body_hash: string | null; stale_at: number; due: Due },
  ): void;
  /** A request came to nothing. It stays in its job unless `final`. */
  failed(key: RecordKey, failure: { at: number; text: string; due: Due }): void;
  /** Makes records due, unless they are due before that anyway. */
  bringForward(selection: RecordSelection, at: number, reason: DueReason): number;
  setDue(key: RecordKey, due: Due): void;
  /** What `reschedule` needs after a changed cadence: records that wait for their cadence. */
  waiting(): (RecordKey & { fetched_at: number })[];
  reschedule(key: RecordKey, due_at: number, stale_at: number): void;
  fill(): FillState;
}

type RecordRow = RecordFacts;

export function recordTable(db: Database): RecordTable {
  const facts = query
    .selectFrom('record')
    .select([
      'resource',
      'product_id',
      'edition',
      'part',
      'due_reason',
      'fetched_at',
      'changed_at',
      'body_hash',
      'failures',
      'job_id',
    ]);
  const dueRows = prepare<{ now: number; limit: number }, RecordRow>(
    db,
    facts.where('due_at', '<=', param<number>('now')).orderBy('due_at').limit(param<number>('limit')),
  );
  const jobRows = prepare<{ now: number; limit: number; job_id: number }, RecordRow>(
    db,
    facts
      .where('job_id', '=', param<number>('job_id'))
      .where('due_at', '<=', param<number>('now'))
      .orderBy('due_at')
      .limit(param<number>('limit')),
  );
  const oneRow = prepare<RecordKey, RecordRow>(
    db,
    facts
      .where('resource', '=', param<Resource>('resource'))
      .where('product_id', '=', param<number>('product_id'))
      .where('edition', '=', param<string>('edition'))
      .where('part', '=', param<number>('part')),
  );
  const next = db.prepare<[], number | null>('SELECT min(due_at) FROM record').pluck();
  const nextOfJob = db.prepare<[number], number | null>('SELECT min(due_at) FROM record WHERE job_id = ?').pluck();
  const template = `json_extract(k.value, '$.resource') AS resource, json_extract(k.value, '$.edition') AS edition,
    json_extract(k.value, '$.part') AS part, json_extract(k.value, '$.due_at') AS due_at`;
  const insert = (products: string) =>
    db.prepare<{ templates: string; ids?: string }>(
      `INSERT OR IGNORE INTO record (resource, product_id, edition, part, due_at, due_reason)
       SELECT t.resource, p.product_id, t.edition, t.part, t.due_at, 'never-fetched'
       FROM (SELECT ${template} FROM json_each(@templates) k) t CROSS JOIN (${products}) p`,
    );
  const createAll = insert('SELECT product_id FROM product WHERE withdrawn_at IS NULL');
  const createSome = insert('SELECT value AS product_id FROM json_each(@ids)');
  const createOne = insert('SELECT 0 AS product_id');
  const dropOthers = db.prepare<{ templates: string }>(
    `DELETE FROM record WHERE (resource, edition, part) NOT IN
       (SELECT resource, edition, part FROM (SELECT ${template} FROM json_each(@templates) k))`,
  );
  const markFetched = db.prepare(
    `UPDATE record SET fetched_at = @sent_at, changed_at = CASE WHEN @changed THEN @sent_at ELSE changed_at END, body_hash = @body_hash,
       stale_at = @stale_at, due_at = @due_at, due_reason = @due_reason, failures = 0, failed_at = NULL, failure = NULL, job_id = NULL
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const markFailed = db.prepare(
    `UPDATE record SET failures = failures + 1, failed_at = @at, failure = @text, due_at = @due_at, due_reason = @due_reason
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const bring = (products: string) =>
    db.prepare<{ kind: string; ids?: string; at: number; reason: DueReason }>(
      `UPDATE record SET due_at = @at, due_reason = @reason
       WHERE due_at > @at AND product_id ${products} AND (resource, edition, part) =
         (json_extract(@kind, '$.resource'), json_extract(@kind, '$.edition'), json_extract(@kind, '$.part'))`,
    );
  const bringAll = bring('IS NOT NULL');
  const bringSome = bring('IN (SELECT value FROM json_each(@ids))');
  const putDue = db.prepare(
    `UPDATE record SET due_at = @due_at, due_reason = @due_reason
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const waiting = db.prepare<[], RecordKey & { fetched_at: number }>(
    `SELECT resource, product_id, edition, part, fetched_at FROM record WHERE fetched_at IS NOT NULL AND failures = 0 AND due_reason = 'cadence-elapsed'`,
  );
  const reschedule = db.prepare(
    `UPDATE record SET due_at = @due_at, stale_at = @stale_at
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const fill = db.prepare<[], FillState>(
    `SELECT count(*) AS records, COALESCE(sum(fetched_at IS NULL), 0) AS never_fetched, COALESCE(sum(failures > 0), 0) AS failing,
       COALESCE(sum(fetched_at IS NULL AND failures < 5), 0) AS waiting FROM record`,
  );

  return {
    due: (now, limit, job_id) => (job_id === null ? dueRows.all({ now, limit }) : jobRows.all({ now, limit, job_id })),
    nextDueAt: (job_id) => (job_id === null ? next.get() : nextOfJob.get(job_id)) ?? null,
    find: (key) => oneRow.get(only(key)) ?? null,
    create: (templates, ids) => {
      const bound = JSON.stringify(templates);
      if (ids === null) createAll.run({ templates: bound });
      else createSome.run({ templates: bound, ids: JSON.stringify(ids) });
    },
    createWalk: (walk) => {
      createOne.run({ templates: JSON.stringify([walk]) });
    },
    dropOthers: (templates) => {
      dropOthers.run({ templates: JSON.stringify(templates) });
    },
    fetched: (key, { due, changed, ...read }) => {
      markFetched.run({ ...only(key), ...read, changed: changed ? 1 : 0, due_at: due.at, due_reason: due.reason });
    },
    failed: (key, { at, text, due }) => {
      markFailed.run({ ...only(key), at, text, due_at: due.at, due_reason: due.reason });
    },
    bringForward: ({ kinds, product_ids }, at, reason) => {
      let brought = 0;
      for (const { resource, edition, part } of kinds) {
        const bound = { kind: JSON.stringify({ resource, edition, part }), at, reason };
        brought +=
          product_ids === null
            ? bringAll.run(bound).changes
            : bringSome.run({ ...bound, ids: JSON.stringify(product_ids) }).changes;
      }
      return brought;
    },
    setDue: (key, due) => {
      putDue.run({ ...only(key), due_at: due.at, due_reason: due.reason });
    },
    waiting: () => waiting.all(),
    reschedule: (key, due_at, stale_at) => {
      reschedule.run({ ...only(key), due_at, stale_at });
    },
    fill: () => fill.get() ?? { records: 0, never_fetched: 0, failing: 0, waiting: 0 },
  };
}

function only({ resource, product_id, edition, part }: RecordKey): RecordKey {
  return { resource, product_id, edition, part };
}
