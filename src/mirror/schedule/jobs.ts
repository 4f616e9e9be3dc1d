import { type Lane, laneIndex } from '../../domain/schedule/lanes.ts';
import type { DueReason, RecordKey } from '../../domain/schedule/record.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { RecordSelection } from './records.ts';

/** A resync that was asked for, and how far it has come. */
export interface JobState {
  readonly job_id: number;
  readonly requested_at: number;
  readonly records: number;
  /** Records that are still to be read. */
  readonly left: number;
  readonly failed: number;
  readonly finished_at: number | null;
}

/** Resyncs. Every function runs inside the caller's transaction. */
export interface JobTable {
  /** How many records a selection names, by resource. */
  count(selection: RecordSelection): Map<string, number>;
  /** The unfinished job of the same scope, which a kill has interrupted. */
  interrupted(selection: RecordSelection): JobState | null;
  /** Ties the selected records to a new job; `dueAt` says when each kind is due, all in one lane. */
  open(
    selection: RecordSelection,
    at: number,
    lane: Lane,
    dueAt: (kind: RecordSelection['kinds'][number]) => number,
  ): JobState;
  find(job_id: number): JobState | null;
  /** Records that were just made belong to the open jobs that asked for their kind of everything. */
  adopt(product_ids: readonly number[]): void;
  /** The job has asked for a product's dates, and they were answered as not on sale before its own read said otherwise: it waits for them. */
  rejoinOffSale(product_id: number, job_id: number): void;
  /** A record of the job has failed for good: the job goes on without it. */
  giveUp(key: RecordKey, job_id: number): void;
  /** Ends the jobs that have no record left; returns how many. */
  finish(at: number): number;
}

export function jobTable(db: Database): JobTable {
  const where = (products: string) =>
    `product_id ${products} AND (resource, edition, part) =
       (json_extract(@kind, '$.resource'), json_extract(@kind, '$.edition'), json_extract(@kind, '$.part'))`;
  type Bound = { kind: string; ids?: string };
  const [all, some] = ['IS NOT NULL', 'IN (SELECT value FROM json_each(@ids))'] as const;
  const countAll = db.prepare<Bound, number>(`SELECT count(*) FROM record WHERE ${where(all)}`).pluck();
  const countSome = db.prepare<Bound, number>(`SELECT count(*) FROM record WHERE ${where(some)}`).pluck();
  const tie = (products: string) =>
    db.prepare<Bound & { at: number; reason: DueReason; lane: number; job_id: number }>(
      `UPDATE record SET due_at = @at, due_reason = @reason, lane = @lane, job_id = @job_id WHERE ${where(products)}`,
    );
  const [tieAll, tieSome] = [tie(all), tie(some)];
  const state = 'SELECT j.*, (SELECT count(*) FROM record r WHERE r.job_id = j.job_id) AS left FROM job j';
  const byId = db.prepare<[number], JobState>(`${state} WHERE j.job_id = ?`);
  const byScope = db.prepare<[string], JobState>(
    `${state} WHERE j.scope = ? AND j.finished_at IS NULL ORDER BY j.job_id DESC LIMIT 1`,
  );
  const add = db.prepare<[string, number]>('INSERT INTO job (scope, requested_at, records) VALUES (?, ?, 0)');
  const size = db.prepare<[number, number]>('UPDATE job SET records = ? WHERE job_id = ?');
  const countFailed = db.prepare<[number]>('UPDATE job SET failed = failed + 1 WHERE job_id = ?');
  const openScopes = db.prepare<[], { job_id: number; scope: string }>(
    'SELECT job_id, scope FROM job WHERE finished_at IS NULL',
  );
  const tieNew = db.prepare<Bound & { job_id: number }>(
    `UPDATE record SET due_reason = 'requested', job_id = @job_id WHERE fetched_at IS NULL AND job_id IS NULL AND ${where(some)}`,
  );
  const scopeOf = db.prepare<[number], string>('SELECT scope FROM job WHERE job_id = ?').pluck();
  const tieOffSale = db.prepare<{ kind: string; product_id: number; job_id: number }>(
    `UPDATE record SET job_id = @job_id WHERE off_sale_at IS NOT NULL AND job_id IS NULL AND ${where('= @product_id')}`,
  );
  const grow = db.prepare<[number, number]>('UPDATE job SET records = records + ? WHERE job_id = ?');
  const untie = db.prepare<RecordKey>(
    `UPDATE record SET job_id = NULL WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const finish = db.prepare<[number]>(
    'UPDATE job SET finished_at = ? WHERE finished_at IS NULL AND NOT EXISTS (SELECT 1 FROM record r WHERE r.job_id = job.job_id)',
  );

  const bound = (kind: RecordSelection['kinds'][number], product_ids: readonly number[] | null): Bound => ({
    kind: JSON.stringify({ resource: kind.resource, edition: kind.edition, part: kind.part }),
    ...(product_ids === null ? {} : { ids: JSON.stringify(product_ids) }),
  });

  return {
    count: ({ kinds, product_ids }) => {
      const counts = new Map<string, number>();
      for (const kind of kinds) {
        const count = (product_ids === null ? countAll : countSome).get(bound(kind, product_ids)) ?? 0;
        counts.set(kind.resource, (counts.get(kind.resource) ?? 0) + count);
      }
      return counts;
    },
    interrupted: (selection) => byScope.get(JSON.stringify(selection)) ?? null,
    open: (selection, at, lane, dueAt) => {
      const { kinds, product_ids } = selection;
      const job_id = Number(add.run(JSON.stringify(selection), at).lastInsertRowid);
      let records = 0;
      for (const kind of kinds) {
        const update = {
          ...bound(kind, product_ids),
          at: dueAt(kind),
          reason: 'requested' as const,
          lane: laneIndex(lane),
          job_id,
        };
        records += (product_ids === null ? tieAll : tieSome).run(update).changes;
      }
      size.run(records, job_id);
      return byId.get(job_id) as JobState;
    },
    adopt: (product_ids) => {
      for (const { job_id, scope } of openScopes.all()) {
        const selection = JSON.parse(scope) as RecordSelection;
        if (selection.product_ids !== null) continue;
        const tied = selection.kinds.map((kind) => tieNew.run({ ...bound(kind, product_ids), job_id }).changes);
        grow.run(
          tied.reduce((sum, count) => sum + count, 0),
          job_id,
        );
      }
    },
    rejoinOffSale: (product_id, job_id) => {
      const { kinds } = JSON.parse(scopeOf.get(job_id) ?? '{"kinds":[]}') as RecordSelection;
      const dates = kinds.filter(({ resource }) => resource === 'availability');
      const tied = dates.map((kind) => tieOffSale.run({ kind: bound(kind, null).kind, product_id, job_id }).changes);
      grow.run(
        tied.reduce((sum, count) => sum + count, 0),
        job_id,
      );
    },
    find: (job_id) => byId.get(job_id) ?? null,
    giveUp: ({ resource, product_id, edition, part }, job_id) => {
      if (untie.run({ resource, product_id, edition, part }).changes > 0) countFailed.run(job_id);
    },
    finish: (at) => finish.run(at).changes,
  };
}
