import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, listed, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, query } from '../mirror/sql/sql.ts';
import { type Lane, laneIndex } from './lanes.rules.ts';
import type { KindKey, RecordKey } from './record.rules.ts';
import { isOfKind, isRecord, type RecordSelection } from './record-reads.store.ts';
import { type Planned, triggeredApartMs } from './records.store.ts';
import { isList } from './resources.rules.ts';

/** A resync that was asked for, and how far it has come. */
export interface ResyncState {
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
 * it is fetched by a call that was sent after the job was requested (records.store.ts), when it is given up, or when
 * another job takes it.
 */
export class ResyncTable extends Store<Writes> {
  readonly #ties = new JobTies(this.db);
  readonly find = this.db.row(({ job_id }: Bound<OfJob>) => jobState().where('j.job_id', '=', job_id));
  readonly #byScope = this.db.row(({ scope }: Bound<{ scope: string }>) =>
    jobState().where('j.scope', '=', scope).where('j.finished_at', 'is', null).orderBy('j.job_id', 'desc').limit(1),
  );
  readonly #scope = this.db.value(byKey('_job', ['job_id'], ['scope']));
  readonly #open = this.db.rows(() =>
    query.selectFrom('_job').select(['job_id', 'scope']).where('finished_at', 'is', null),
  );
  readonly #add = this.db.insert(({ scope, at }: Bound<{ scope: string; at: Instant }>) =>
    query.insertInto('_job').values({ scope, requested_at: at, records: 0 }),
  );
  readonly #grow = this.db.change(({ job_id, records }: Bound<OfJob & { records: number }>) =>
    query
      .updateTable('_job')
      .set(({ eb }) => ({ records: eb('records', '+', records) }))
      .where('job_id', '=', job_id),
  );
  readonly #countFailed = this.db.change(({ job_id }: Bound<OfJob>) =>
    query
      .updateTable('_job')
      .set(({ eb }) => ({ failed: eb('failed', '+', 1) }))
      .where('job_id', '=', job_id),
  );
  readonly #forgetFailed = this.db.change(({ job_id, more }: Bound<OfJob & { more: number }>) =>
    query
      .updateTable('_job')
      .set(({ eb }) => ({ failed: 0, records: eb('records', '+', more) }))
      .where('job_id', '=', job_id),
  );
  readonly #left = this.db.rows(({ job_id }: Bound<OfJob>) =>
    query
      .selectFrom('_record')
      .select(({ fn }) => ['resource', fn.countAll<number>().as('records')])
      .where('job_id', '=', job_id)
      .groupBy('resource'),
  );
  /** Ends the jobs that have no record left; returns how many. */
  readonly finish = this.db.change(({ at }: Bound<{ at: Instant }>) =>
    query
      .updateTable('_job')
      .set({ finished_at: at })
      .where('finished_at', 'is', null)
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('_record as r').select('r.job_id').whereRef('r.job_id', '=', '_job.job_id'))),
      ),
  );

  /** Returns the unfinished job of the same scope: it is under way, or a kill interrupted it. */
  unfinishedOf(selection: RecordSelection): ResyncState | null {
    return this.#byScope({ scope: JSON.stringify(selection) });
  }

  /**
   * Ties the selected records to a new job. `dueAt` returns when each kind is due, all in one lane. A record that waits
   * in the notification lane or a more urgent one keeps that lane and its reason, and is due within a minute: a large
   * resync delays neither notified reads nor those that decide about a closure. A record has one job: another open job
   * that waited for it counts it no more.
   */
  open(selection: RecordSelection, at: Instant, lane: Lane, dueAt: (kind: KindKey) => Instant): ResyncState {
    const { kinds, product_ids } = selection;
    const others = this.#open().map(({ job_id }) => ({ job_id, left: this.find({ job_id })?.left ?? 0 }));
    const job_id = this.#add({ scope: JSON.stringify(selection), at });
    const tied = kinds.map((kind) => this.#ties.tie(requested(kind, job_id, at, lane, dueAt), product_ids));
    for (const other of others)
      this.#growBy(other.job_id, (this.find({ job_id: other.job_id })?.left ?? 0) - other.left);
    this.#growBy(job_id, sum(tied));
    return this.find({ job_id }) as ResyncState;
  }

  /**
   * Ties the selected records to an unfinished job again that failed in it, as `open` ties them: those that were not read
   * since it was requested, and that no job waits for. Where any failed, lists go with them: a list counts as read whatever is
   * held of its rows. Returns the kinds that have any.
   */
  askFailed(
    { job_id, requested_at, failed }: ResyncState,
    { kinds, product_ids }: RecordSelection,
    at: Instant,
    lane: Lane,
    dueAt: (kind: KindKey) => Instant,
  ): readonly KindKey[] {
    if (failed === 0) return [];
    const tied = kinds.map((kind) => {
      const unread_since = isList(kind.resource) ? at : instant(requested_at);
      const again = { ...requested(kind, job_id, at, lane, dueAt), unread_since };
      return { kind, records: this.#ties.tieUnread(again, product_ids) };
    });
    const records = sum(tied.map((each) => each.records));
    // Others that failed were read by their cadence meanwhile; `more`: records that it had left out before.
    this.#forgetFailed({ job_id, more: Math.max(0, records - failed) });
    return tied.flatMap((each) => (each.records === 0 ? [] : [each.kind]));
  }

  /** Returns how many records of a job are still to be read, by resource. */
  left(job_id: number): Map<string, number> {
    return new Map(this.#left({ job_id }).map(({ resource, records }) => [resource, records]));
  }

  /** Those that are not finished, the oldest first, and what each asked for. */
  unfinished(): (ResyncState & { readonly selection: RecordSelection })[] {
    return this.#open().flatMap(({ job_id, scope }) => {
      const job = this.find({ job_id });
      return job === null ? [] : [{ ...job, selection: JSON.parse(scope) as RecordSelection }];
    });
  }

  /** Records that were just made belong to the open jobs that asked for their kind of everything. */
  adopt(product_ids: readonly number[]): void {
    for (const { job_id, scope } of this.#open()) {
      const selection = JSON.parse(scope) as RecordSelection;
      if (selection.product_ids !== null) continue;
      this.#growBy(job_id, sum(selection.kinds.map((kind) => this.#ties.tieNew({ ...kind, job_id }, product_ids))));
    }
  }

  /** The job has asked for a product's dates, and they were answered as not on sale before its own read said otherwise: it waits for them. */
  rejoinOffSale(product_id: number, job_id: number): void {
    const { kinds } = JSON.parse(this.#scope({ job_id }) ?? '{"kinds":[]}') as RecordSelection;
    const dates = kinds.filter(({ resource }) => resource === 'availability');
    this.#growBy(job_id, sum(dates.map((kind) => this.#ties.tieOffSale({ ...kind, product_id, job_id }))));
  }

  /** Removes a record that has failed for good from the job, which goes on without it. */
  giveUp(key: RecordKey, job_id: number): void {
    if (this.#ties.untie(key, job_id)) this.#countFailed({ job_id });
  }

  /** The job counts a record no more: the service has its product no longer, or another record of the job answers for it. */
  leaveOut(key: RecordKey, job_id: number): void {
    if (this.#ties.untie(key, job_id)) this.#growBy(job_id, -1);
  }

  /** Makes a record due at `at` for the job, which waits for it too. One that it has already stays as it is. */
  waitFor(key: RecordKey, job_id: number, at: Instant): void {
    this.#growBy(job_id, this.#ties.tieOne({ ...key, job_id, at, lane: laneIndex('notification') }));
  }

  /** Returns whether any job is unfinished. */
  isAnyOpen(): boolean {
    return this.#open().length > 0;
  }

  #growBy(job_id: number, records: number): void {
    this.#grow({ job_id, records });
  }
}

type OfJob = { job_id: number };
/** `ids`: a JSON array. */
type Products = { ids: string };
type Tied = KindKey & OfJob & Planned & { readonly at: Instant };
type Unread = Tied & { readonly unread_since: Instant };
type Awaited = RecordKey & OfJob & { readonly lane: number; readonly at: Instant };

/** Statements that tie records to jobs. They return how many records they tied. */
class JobTies extends Store<Writes> {
  readonly #all = this.db.change(tie);
  readonly #some = this.db.change((tied: Bound<Tied & Products>) =>
    tie(tied).where('product_id', 'in', listed<number>(tied.ids)),
  );
  readonly #allUnread = this.db.change(tieUnread);
  readonly #someUnread = this.db.change((tied: Bound<Unread & Products>) =>
    tieUnread(tied).where('product_id', 'in', listed<number>(tied.ids)),
  );
  readonly #new = this.db.change((bound: Bound<KindKey & OfJob & Products>) =>
    query
      .updateTable('_record')
      .set({ due_reason: 'requested', job_id: bound.job_id })
      .where('fetched_at', 'is', null)
      .where('job_id', 'is', null)
      .where(isOfKind(bound))
      .where('product_id', 'in', listed<number>(bound.ids)),
  );
  readonly tieOffSale = this.db.change((bound: Bound<RecordKey & OfJob>) =>
    query
      .updateTable('_record')
      .set({ job_id: bound.job_id })
      .where('off_sale_at', 'is not', null)
      .where('job_id', 'is', null)
      .where(isRecord(bound)),
  );
  readonly tieOne = this.db.change((bound: Bound<Awaited>) =>
    query
      .updateTable('_record')
      .set({ due_at: bound.at, due_reason: 'requested', lane: bound.lane, job_id: bound.job_id })
      .where('job_id', 'is', null)
      .where(isRecord(bound)),
  );
  readonly #untie = this.db.change((bound: Bound<RecordKey & OfJob>) =>
    query.updateTable('_record').set({ job_id: null }).where('job_id', '=', bound.job_id).where(isRecord(bound)),
  );

  tie(tied: Tied, product_ids: readonly number[] | null): number {
    if (product_ids === null) return this.#all(tied);
    return this.#some({ ...tied, ids: JSON.stringify(product_ids) });
  }

  tieUnread(tied: Unread, product_ids: readonly number[] | null): number {
    if (product_ids === null) return this.#allUnread(tied);
    return this.#someUnread({ ...tied, ids: JSON.stringify(product_ids) });
  }

  tieNew(tied: KindKey & OfJob, product_ids: readonly number[]): number {
    return this.#new({ ...tied, ids: JSON.stringify(product_ids) });
  }

  /** Returns false where another job has taken the record since its read began. */
  untie(key: RecordKey, job_id: number): boolean {
    return this.#untie({ ...key, job_id }) > 0;
  }
}

function requested(kind: KindKey, job_id: number, at: Instant, lane: Lane, dueAt: (kind: KindKey) => Instant) {
  return { ...kind, at, due_at: dueAt(kind), due_reason: 'requested', lane: laneIndex(lane), job_id } as const;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function jobState() {
  return query
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
}

function tie(tied: Bound<Tied>) {
  return query
    .updateTable('_record')
    .set((eb) => {
      const stays = eb.and([eb('lane', '<=', laneIndex('notification')), eb('lane', '<', tied.lane)]);
      const soon = sql<Instant>`${tied.at} + ${sql.lit(triggeredApartMs)}`;
      return {
        due_at: eb
          .case()
          .when(stays)
          .then(eb.fn<Instant>('min', ['due_at', soon]))
          .else(tied.due_at)
          .end(),
        due_reason: eb.case().when(stays).then(eb.ref('due_reason')).else(tied.due_reason).end(),
        lane: eb.case().when(stays).then(eb.ref('lane')).else(tied.lane).end(),
        job_id: tied.job_id,
      };
    })
    .where(isOfKind(tied));
}

function tieUnread(tied: Bound<Unread>) {
  return tie(tied)
    .where('job_id', 'is', null)
    .where(({ eb, or }) => or([eb('fetched_at', 'is', null), eb('fetched_at', '<', tied.unread_since)]));
}
