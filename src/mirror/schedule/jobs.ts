import { type Instant, instant } from '../../clock.ts';
import { type Lane, laneIndex } from '../../domain/schedule/lanes.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import { isList } from '../../domain/schedule/resources.ts';
import { type Bound, listed, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import {
  isOfKind,
  isRecord,
  type KindKey,
  type Planned,
  type RecordSelection,
  triggeredApartMs,
} from './record-rows.ts';

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

/**
 * Resyncs, which `/v1/jobs` calls jobs; the daemon's scheduled jobs are in daemon/jobs.ts. A record leaves its job when
 * it is fetched by a call that was sent after the job was requested (record-outcomes.ts), when it is given up, or when
 * another job takes it.
 */
export interface JobTable {
  /** Returns how many records a selection names, by resource. */
  count(selection: RecordSelection): Map<string, number>;
  /** Returns the unfinished job of the same scope: it is under way, or a kill interrupted it. */
  unfinishedOf(selection: RecordSelection): JobState | null;
  /**
   * Ties the selected records to a new job. `dueAt` returns when each kind is due, all in one lane. A record that waits
   * in the notification lane or a more urgent one keeps that lane and its reason, and is due within a minute: a large
   * resync delays neither notified reads nor those that decide about a closure. A record has one job: another open job
   * that waited for it counts it no more.
   */
  open(selection: RecordSelection, at: Instant, lane: Lane, dueAt: (kind: KindKey) => Instant): JobState;
  /**
   * Ties the selected records to an unfinished job again that failed in it, as `open` ties them: those that were not read
   * since it was requested, and that no job waits for. Where any failed, lists go with them: a list counts as read whatever is
   * held of its rows. Returns the kinds that have any.
   */
  askFailed(
    job: JobState,
    selection: RecordSelection,
    at: Instant,
    lane: Lane,
    dueAt: (kind: KindKey) => Instant,
  ): readonly KindKey[];
  find(job_id: number): JobState | null;
  /** Returns how many records of a job are still to be read, by resource. */
  left(job_id: number): Map<string, number>;
  /** Those that are not finished, the oldest first, and what each asked for. */
  unfinished(): (JobState & { readonly selection: RecordSelection })[];
  /** Records that were just made belong to the open jobs that asked for their kind of everything. */
  adopt(product_ids: readonly number[]): void;
  /** The job has asked for a product's dates, and they were answered as not on sale before its own read said otherwise: it waits for them. */
  rejoinOffSale(product_id: number, job_id: number): void;
  /** Removes a record that has failed for good from the job, which goes on without it. */
  giveUp(key: RecordKey, job_id: number): void;
  /** The job counts a record no more: the service has its product no longer, or another record of the job answers for it. */
  leaveOut(key: RecordKey, job_id: number): void;
  /** Makes a record due at `at` for the job, which waits for it too. One that it has already stays as it is. */
  waitFor(key: RecordKey, job_id: number, at: Instant): void;
  /** Returns whether any job is unfinished. */
  isAnyOpen(): boolean;
  /** Ends the jobs that have no record left; returns how many. */
  finish(at: Instant): number;
}

export function jobTable(db: Writes): JobTable {
  const jobs = jobRows(db);
  const ties = jobTies(db);
  const count = countingRecords(db);
  const left = db.rows(({ job_id }: Bound<OfJob>) =>
    query
      .selectFrom('_record')
      .select(({ fn }) => ['resource', fn.countAll<number>().as('records')])
      .where('job_id', '=', job_id)
      .groupBy('resource'),
  );
  return {
    count,
    unfinishedOf: (selection) => jobs.ofScope(JSON.stringify(selection)),
    open: (selection, at, lane, dueAt) => {
      const { kinds, product_ids } = selection;
      const others = jobs.open().map((job) => ({ job_id: job.job_id, left: jobs.find(job.job_id)?.left ?? 0 }));
      const job_id = jobs.add(JSON.stringify(selection), at);
      const tied = kinds.map((kind) => ties.tie(requested(kind, job_id, at, lane, dueAt), product_ids));
      for (const other of others) jobs.grow(other.job_id, (jobs.find(other.job_id)?.left ?? 0) - other.left);
      jobs.grow(job_id, sum(tied));
      return jobs.find(job_id) as JobState;
    },
    askFailed: ({ job_id, requested_at, failed }, { kinds, product_ids }, at, lane, dueAt) => {
      if (failed === 0) return [];
      const tied = kinds.map((kind) => {
        const unread_since = isList(kind.resource) ? at : instant(requested_at);
        const again = { ...requested(kind, job_id, at, lane, dueAt), unread_since };
        return { kind, records: ties.tieUnread(again, product_ids) };
      });
      const records = sum(tied.map((each) => each.records));
      // Others that failed were read by their cadence meanwhile.
      jobs.forgetFailed(job_id, Math.max(0, records - failed));
      return tied.flatMap((each) => (each.records === 0 ? [] : [each.kind]));
    },
    adopt: (product_ids) => {
      for (const { job_id, scope } of jobs.open()) {
        const selection = JSON.parse(scope) as RecordSelection;
        if (selection.product_ids !== null) continue;
        jobs.grow(job_id, sum(selection.kinds.map((kind) => ties.tieNew({ ...kind, job_id }, product_ids))));
      }
    },
    rejoinOffSale: (product_id, job_id) => {
      const { kinds } = JSON.parse(jobs.scope(job_id) ?? '{"kinds":[]}') as RecordSelection;
      const dates = kinds.filter(({ resource }) => resource === 'availability');
      jobs.grow(job_id, sum(dates.map((kind) => ties.tieOffSale({ ...kind, product_id, job_id }))));
    },
    find: jobs.find,
    left: (job_id) => new Map(left.all({ job_id }).map(({ resource, records }) => [resource, records])),
    unfinished: () =>
      jobs.open().flatMap(({ job_id, scope }) => {
        const job = jobs.find(job_id);
        return job === null ? [] : [{ ...job, selection: JSON.parse(scope) as RecordSelection }];
      }),
    giveUp: (key, job_id) => {
      if (ties.untie(key, job_id)) jobs.countFailed(job_id);
    },
    leaveOut: (key, job_id) => {
      if (ties.untie(key, job_id)) jobs.grow(job_id, -1);
    },
    waitFor: (key, job_id, at) => {
      jobs.grow(job_id, ties.tieOne({ ...key, job_id, at, lane: laneIndex('notification') }));
    },
    isAnyOpen: () => jobs.open().length > 0,
    finish: jobs.finish,
  };
}

function requested(kind: KindKey, job_id: number, at: Instant, lane: Lane, dueAt: (kind: KindKey) => Instant) {
  return { ...kind, at, due_at: dueAt(kind), due_reason: 'requested', lane: laneIndex(lane), job_id } as const;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function countingRecords(db: Writes): JobTable['count'] {
  const count = (bound: Bound<KindKey>) =>
    query
      .selectFrom('_record')
      .select(({ fn }) => fn.countAll<number>().as('records'))
      .where(isOfKind(bound));
  const all = db.values(count);
  const some = db.values((bound: Bound<KindKey & { ids: string }>) =>
    count(bound).where('product_id', 'in', listed<number>(bound.ids)),
  );
  return ({ kinds, product_ids }) => {
    const ids = JSON.stringify(product_ids);
    const counts = new Map<string, number>();
    for (const kind of kinds) {
      const records = (product_ids === null ? all.get(kind) : some.get({ ...kind, ids })) ?? 0;
      counts.set(kind.resource, (counts.get(kind.resource) ?? 0) + records);
    }
    return counts;
  };
}

/** The rows about jobs themselves. */
function jobRows(db: Writes) {
  const state = () =>
    query
      .selectFrom('_job as j')
      .select(({ fn, selectFrom }) => [
        'j.job_id',
        'j.requested_at',
        'j.records',
        'j.failed',
        'j.finished_at',
        selectFrom('_record as r')
          .select(fn.countAll<number>().as('left'))
          .whereRef('r.job_id', '=', 'j.job_id')
          .$asScalar()
          .$notNull()
          .as('left'),
      ]);
  const byId = db.rows(({ job_id }: Bound<OfJob>) => state().where('j.job_id', '=', job_id));
  const byScope = db.rows(({ scope }: Bound<{ scope: string }>) =>
    state().where('j.scope', '=', scope).where('j.finished_at', 'is', null).orderBy('j.job_id', 'desc').limit(1),
  );
  const scopeOf = db.values(({ job_id }: Bound<OfJob>) =>
    query.selectFrom('_job').select('scope').where('job_id', '=', job_id),
  );
  const open = db.rows(() => query.selectFrom('_job').select(['job_id', 'scope']).where('finished_at', 'is', null));
  const add = db.change(({ scope, at }: Bound<{ scope: string; at: Instant }>) =>
    query.insertInto('_job').values({ scope, requested_at: at, records: 0 }),
  );
  const grow = db.change(({ job_id, records }: Bound<OfJob & { records: number }>) =>
    query
      .updateTable('_job')
      .set(({ eb }) => ({ records: eb('records', '+', records) }))
      .where('job_id', '=', job_id),
  );
  const countFailed = db.change(({ job_id }: Bound<OfJob>) =>
    query
      .updateTable('_job')
      .set(({ eb }) => ({ failed: eb('failed', '+', 1) }))
      .where('job_id', '=', job_id),
  );
  const forgetFailed = db.change(({ job_id, more }: Bound<OfJob & { more: number }>) =>
    query
      .updateTable('_job')
      .set(({ eb }) => ({ failed: 0, records: eb('records', '+', more) }))
      .where('job_id', '=', job_id),
  );
  const finish = db.change(({ at }: Bound<{ at: Instant }>) =>
    query
      .updateTable('_job')
      .set({ finished_at: at })
      .where('finished_at', 'is', null)
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('_record as r').select('r.job_id').whereRef('r.job_id', '=', '_job.job_id'))),
      ),
  );
  return {
    find: (job_id: number): JobState | null => byId.get({ job_id }) ?? null,
    ofScope: (scope: string): JobState | null => byScope.get({ scope }) ?? null,
    scope: (job_id: number) => scopeOf.get({ job_id }),
    open: () => open.all(),
    /** Returns its id. */
    add: (scope: string, at: Instant) => Number(add.run({ scope, at }).lastInsertRowid),
    grow: (job_id: number, records: number) => {
      grow.run({ job_id, records });
    },
    countFailed: (job_id: number) => {
      countFailed.run({ job_id });
    },
    /** `more`: records that it had left out before. */
    forgetFailed: (job_id: number, more: number) => {
      forgetFailed.run({ job_id, more });
    },
    finish: (at: Instant) => finish.run({ at }).changes,
  };
}

type OfJob = { job_id: number };

/** Functions that tie records to jobs. They return how many records they tied. */
function jobTies(db: Writes) {
  type Tied = KindKey & OfJob & Planned & { readonly at: Instant };
  const tie = (bound: Bound<Tied>) =>
    query
      .updateTable('_record')
      .set((eb) => {
        const stays = eb.and([eb('lane', '<=', laneIndex('notification')), eb('lane', '<', bound.lane)]);
        const soon = sql<Instant>`${bound.at} + ${sql.lit(triggeredApartMs)}`;
        return {
          due_at: eb
            .case()
            .when(stays)
            .then(eb.fn<Instant>('min', ['due_at', soon]))
            .else(bound.due_at)
            .end(),
          due_reason: eb.case().when(stays).then(eb.ref('due_reason')).else(bound.due_reason).end(),
          lane: eb.case().when(stays).then(eb.ref('lane')).else(bound.lane).end(),
          job_id: bound.job_id,
        };
      })
      .where(isOfKind(bound));
  const tieAll = db.change(tie);
  const tieSome = db.change((bound: Bound<Tied & { ids: string }>) =>
    tie(bound).where('product_id', 'in', listed<number>(bound.ids)),
  );
  type Unread = Tied & { readonly unread_since: Instant };
  const tieUnread = (bound: Bound<Unread>) =>
    tie(bound)
      .where('job_id', 'is', null)
      .where(({ eb, or }) => or([eb('fetched_at', 'is', null), eb('fetched_at', '<', bound.unread_since)]));
  const tieAllUnread = db.change(tieUnread);
  const tieSomeUnread = db.change((bound: Bound<Unread & { ids: string }>) =>
    tieUnread(bound).where('product_id', 'in', listed<number>(bound.ids)),
  );
  const tieNew = db.change((bound: Bound<KindKey & OfJob & { ids: string }>) =>
    query
      .updateTable('_record')
      .set({ due_reason: 'requested', job_id: bound.job_id })
      .where('fetched_at', 'is', null)
      .where('job_id', 'is', null)
      .where(isOfKind(bound))
      .where('product_id', 'in', listed<number>(bound.ids)),
  );
  const tieOffSale = db.change((bound: Bound<RecordKey & OfJob>) =>
    query
      .updateTable('_record')
      .set({ job_id: bound.job_id })
      .where('off_sale_at', 'is not', null)
      .where('job_id', 'is', null)
      .where(isRecord(bound)),
  );
  type Awaited = RecordKey & OfJob & Pick<Planned, 'lane'> & { readonly at: Instant };
  const tieOne = db.change((bound: Bound<Awaited>) =>
    query
      .updateTable('_record')
      .set({ due_at: bound.at, due_reason: 'requested', lane: bound.lane, job_id: bound.job_id })
      .where('job_id', 'is', null)
      .where(isRecord(bound)),
  );
  const untie = db.change((bound: Bound<RecordKey & OfJob>) =>
    query.updateTable('_record').set({ job_id: null }).where('job_id', '=', bound.job_id).where(isRecord(bound)),
  );
  return {
    tie: (tied: Tied, product_ids: readonly number[] | null) =>
      (product_ids === null ? tieAll.run(tied) : tieSome.run({ ...tied, ids: JSON.stringify(product_ids) })).changes,
    tieUnread: (tied: Unread, product_ids: readonly number[] | null) =>
      (product_ids === null ? tieAllUnread.run(tied) : tieSomeUnread.run({ ...tied, ids: JSON.stringify(product_ids) }))
        .changes,
    tieNew: (tied: KindKey & OfJob, product_ids: readonly number[]) =>
      tieNew.run({ ...tied, ids: JSON.stringify(product_ids) }).changes,
    tieOne: (awaited: Awaited) => tieOne.run(awaited).changes,
    tieOffSale: (tied: RecordKey & OfJob) => tieOffSale.run(tied).changes,
    /** Returns false where another job has taken the record since its read began. */
    untie: (key: RecordKey, job_id: number) => untie.run({ ...key, job_id }).changes > 0,
  };
}
