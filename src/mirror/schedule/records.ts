import { quarantineAfter } from '../../domain/schedule/backoff.ts';
import { type Lane, type LaneEntry, laneIndex, laneOf, lanes } from '../../domain/schedule/lanes.ts';
import {
  type Due,
  type DueReason,
  futureToleranceMs,
  type RecordFacts,
  type RecordKey,
} from '../../domain/schedule/record.ts';
import type { Resource } from '../../domain/schedule/resources.ts';
import type { Volatility } from '../../domain/schedule/volatility.ts';
import type { Database } from '../../sqlite/database-file.ts';
import { earliestMs, longestAheadMs } from '../../sqlite/instants.ts';
import { param, prepare, query, raw } from '../sql/sql.ts';

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
  /** How often something was made due since the start: as long as it stays, only time makes more due. */
  generation(): number;
  /** Those of a lane that are due at `now`, the longest due first; of those that notifications made due, the ones that confirm a closure first. */
  due(now: number, entry: LaneEntry, limit: number): RecordFacts[];
  /** The same of one job, whatever their lanes. */
  dueOfJob(now: number, job_id: number, limit: number): RecordFacts[];
  /** When the next record is due, of a job or of all; null where there is none. */
  nextDueAt(job_id: number | null): number | null;
  find(key: RecordKey): RecordFacts | null;
  /** Makes what is missing for these products; what exists stays as it is. */
  create(templates: readonly RecordTemplate[], product_ids: readonly number[]): void;
  /** The same for all visible products of a category (null: of none). */
  createFor(category: string | null, templates: readonly RecordTemplate[]): void;
  createWalk(template: RecordTemplate): void;
  /** Drops the records of kinds that the configuration no longer asks for. */
  dropOthers(templates: readonly RecordTemplate[]): void;
  /** Drops every record of a resource, out of its jobs too: the service does not have it. */
  dropResource(resource: Resource): void;
  /** Drops the windows that lie beyond `last_part`, of a product, or of a category's products (null: of those without one). */
  dropBeyond(product_id: number, last_part: number): void;
  dropBeyondFor(category: string | null, last_part: number): void;
  /** A request sent at `sent_at` was answered and stored. */
  fetched(
    key: Pick<RecordFacts, keyof RecordKey | 'due_reason'>,
    read: {
      sent_at: number;
      changed: boolean;
      body_hash: string | null;
      stale_at: number;
      due: Due;
      /** Null: this visit taught nothing. */
      volatility: Volatility | null;
      /** Since when its answers say "not on sale"; null: this one does not. */
      off_sale_at: number | null;
      /** Since when some of its dates are left out; null: none is. */
      unanswered_at: number | null;
    },
  ): void;
  /** A failed order said that it has changed since its last read, and what that taught. */
  told(key: RecordKey, at: number, volatility: Volatility): void;
  /** A request came to nothing, after `failures` others in a row. It stays in its job unless `final`. */
  failed(key: Pick<RecordFacts, keyof RecordKey | 'failures'>, failure: { at: number; text: string; due: Due }): void;
  /** Makes records due, unless they are due before that anyway. */
  bringForward(selection: RecordSelection, at: number, reason: DueReason): number;
  /** The service answered for other dates than it was asked for, since `at`. */
  astray(key: RecordKey, at: number): void;
  /** How many products had their last read answered for other dates altogether. */
  answeredAstray(): number;
  /** How many products have dates that the service left out, or answered others for. */
  unanswered(): number;
  /** The product's own read says that it is on sale: dates that were answered as not on sale are due. `since_at`: the two disagree from then on; null: they did before. */
  askOffSale(product_id: number, at: number, since_at: number | null): number;
  /** Notifications received at `at` name these products: all of them is due, each record at most once a minute. */
  notify(product_ids: readonly number[], at: number, now: number): number;
  setDue(key: RecordKey, due: Due): void;
  /** The next answer is decoded and stored, also where it is the one that was stored last. */
  forgetBody(key: RecordKey): void;
  /** What `reschedule` needs after a changed cadence: records that wait for it; of one product, or (null) of all. */
  waiting(product_id: number | null): WaitingRecord[];
  reschedule(key: RecordKey, due: Due, stale_at: number): void;
  /** A page of a long list was stored: what failed before is forgotten. */
  progressed(key: RecordKey): void;
  /** Everything that is known of a product's records, for people. */
  ofProduct(product_id: number): RecordDetail[];
  /** The availability records after `cursor` in the order of the key, for the price: null when there are no more. */
  adaptiveAfter(cursor: RecordKey | null, limit: number): AdaptiveRecord[];
  fill(): FillState;
  /** Records that a wrong clock has read, or made due: at instants that have not come, cannot be planned for, or are too long ago. */
  beyond(now: number): RecordKey[];
}

type RecordRow = RecordFacts;

/** A record that waits for its cadence, with what the cadence depends on. */
export interface WaitingRecord extends RecordKey {
  readonly fetched_at: number;
  readonly category: string | null;
  readonly dynamic: 0 | 1;
  readonly covered: 0 | 1;
}

/** One read a product and minute at most, however many notifications come (reliability.md 2.3). */
const triggeredApartMs = 60_000;
/** A notification later than this after a read was sent did not come during it: the clock was wrong. */
const longestReadMs = 600_000;

/** A record with what people ask about it. */
export interface RecordDetail extends RecordFacts {
  readonly lane: Lane;
  readonly fetched_reason: DueReason | null;
  readonly stale_at: number | null;
  readonly failed_at: number | null;
  readonly failure: string | null;
}

/** A record that adaptive scheduling may read before its cadence. */
export interface AdaptiveRecord extends RecordKey {
  readonly category: string | null;
  readonly sold: number;
  readonly sold_at: number | null;
  readonly shape: number | null;
  readonly exposure: number | null;
}

export function recordTable(db: Database): RecordTable {
  const facts = query
    .selectFrom('record')
    .select([
      'resource',
      'product_id',
      'edition',
      'part',
      'due_at',
      'due_reason',
      'fetched_at',
      'changed_at',
      'body_hash',
      'failures',
      'job_id',
      'notified_at',
      'shape',
      'exposure',
      'told_at',
      'off_sale_at',
      'unanswered_at',
    ]);
  const ofLane = facts.where('lane', '=', param<number>('lane')).where('due_at', '<=', param<number>('now'));
  const dueRows = prepare<{ now: number; lane: number; limit: number }, RecordRow>(
    db,
    ofLane.orderBy('due_at').limit(param<number>('limit')),
  );
  const triggered = "('notified', 'closure-unconfirmed')";
  const othersOfLane = prepare<{ now: number; lane: number; limit: number }, RecordRow>(
    db,
    ofLane
      .where(raw<boolean>(`due_reason NOT IN ${triggered}`))
      .orderBy('due_at')
      .limit(param<number>('limit')),
  );
  const triggeredRows = prepare<{ now: number; lane: number; limit: number }, RecordRow>(
    db,
    ofLane
      .where(raw<boolean>(`due_reason IN ${triggered}`))
      .orderBy(raw("due_reason = 'notified'"))
      .orderBy('due_at')
      .limit(param<number>('limit')),
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
  // One look into the index a lane.
  const next = db
    .prepare<[], number | null>(
      `SELECT min(at) FROM (${lanes.map((_, lane) => `SELECT min(due_at) AS at FROM record WHERE lane = ${lane}`).join(' UNION ALL ')})`,
    )
    .pluck();
  const nextOfJob = db.prepare<[number], number | null>('SELECT min(due_at) FROM record WHERE job_id = ?').pluck();
  const template = `json_extract(k.value, '$.resource') AS resource, json_extract(k.value, '$.edition') AS edition,
    json_extract(k.value, '$.part') AS part, json_extract(k.value, '$.due_at') AS due_at`;
  const insert = (products: string) =>
    db.prepare<{ templates: string; ids?: string; category?: string | null }>(
      `INSERT OR IGNORE INTO record (resource, product_id, edition, part, due_at, due_reason, lane)
       SELECT t.resource, p.product_id, t.edition, t.part, t.due_at, 'never-fetched', ${laneIndex('fill')}
       FROM (SELECT ${template} FROM json_each(@templates) k) t CROSS JOIN (${products}) p`,
    );
  const createOfCategory = insert(
    'SELECT product_id FROM product WHERE withdrawn_at IS NULL AND category IS @category',
  );
  const dropBeyondOne = db.prepare<[number, number]>(
    "DELETE FROM record WHERE resource = 'availability' AND product_id = ? AND part > ?",
  );
  const dropBeyond = db.prepare<{ category: string | null; last_part: number }>(
    `DELETE FROM record WHERE resource = 'availability' AND part > @last_part
       AND product_id IN (SELECT product_id FROM product WHERE category IS @category)`,
  );
  const createSome = insert('SELECT value AS product_id FROM json_each(@ids)');
  const createOne = insert('SELECT 0 AS product_id');
  const dropOthers = db.prepare<{ templates: string }>(
    `DELETE FROM record WHERE (resource, edition, part) NOT IN
       (SELECT resource, edition, part FROM (SELECT ${template} FROM json_each(@templates) k))`,
  );
  const outOfJobs = db.prepare<{ resource: Resource }>(
    `UPDATE job SET records = records - (SELECT count(*) FROM record r WHERE r.job_id = job.job_id AND r.resource = @resource)
     WHERE finished_at IS NULL`,
  );
  const dropResource = db.prepare<[Resource]>('DELETE FROM record WHERE resource = ?');
  const unanswered = `(notified_at >= @sent_at AND notified_at <= @sent_at + ${longestReadMs})`;
  // A failed order that was told of after the request was sent keeps the record due.
  const untold = `(told_at > @sent_at AND told_at <= @sent_at + ${longestReadMs})`;
  const markFetched = db.prepare(
    `UPDATE record SET fetched_at = @sent_at, changed_at = CASE WHEN @changed THEN @sent_at ELSE changed_at END, body_hash = @body_hash,
       stale_at = @stale_at, fetched_reason = @reason, failures = 0, failed_at = NULL, failure = NULL, job_id = NULL,
       off_sale_at = @off_sale_at, unanswered_at = @unanswered_at, shape = COALESCE(@shape, shape), exposure = COALESCE(@exposure, exposure), told_at = CASE WHEN ${untold} THEN told_at END,
       -- A notification that came after the request was sent has not been answered.
       notified_at = CASE WHEN ${unanswered} THEN notified_at END,
       due_at = CASE WHEN ${unanswered} THEN @sent_at + ${triggeredApartMs} WHEN ${untold} THEN due_at ELSE @due_at END,
       due_reason = CASE WHEN ${unanswered} THEN 'notified' WHEN ${untold} THEN due_reason ELSE @due_reason END,
       lane = CASE WHEN ${unanswered} THEN ${laneIndex('notification')} WHEN ${untold} THEN lane ELSE @lane END
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const markTold = db.prepare(
    `UPDATE record SET told_at = @at, shape = @shape, exposure = @exposure
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const markFailed = db.prepare(
    `UPDATE record SET failures = max(failures, @failures) + 1, failed_at = @at, failure = @text, due_at = @due_at, due_reason = @due_reason, lane = @lane
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  // Again a minute after the last read that a notification asked for, else at once; what is due anyway and as urgent stays.
  const afterTriggered = (now: string, reasons: string) => `CASE
    WHEN fetched_reason IN ${reasons} AND fetched_at BETWEEN ${now} - ${triggeredApartMs} AND ${now} THEN fetched_at + ${triggeredApartMs}
    WHEN failed_at BETWEEN ${now} - ${triggeredApartMs} AND ${now} THEN failed_at + ${triggeredApartMs} ELSE ${now} END`;
  const dueNotified = afterTriggered('@now', triggered);
  const stays = `(fetched_at IS NULL OR lane <= @lane AND due_at <= ${dueNotified})`;
  const notify = db.prepare<{ ids: string; at: number; now: number; lane: number }>(
    `UPDATE record SET notified_at = CASE WHEN notified_at BETWEEN @at AND @at + ${futureToleranceMs} THEN notified_at ELSE @at END, due_at = CASE WHEN ${stays} THEN due_at ELSE ${dueNotified} END,
       due_reason = CASE WHEN ${stays} THEN due_reason ELSE 'notified' END, lane = CASE WHEN ${stays} THEN lane ELSE @lane END
     WHERE product_id IN (SELECT value FROM json_each(@ids))`,
  );
  // The first read that decides about a closure waits for nothing, the next ones for their minute.
  const dueBrought = `CASE @reason WHEN 'closure-unconfirmed' THEN ${afterTriggered('@at', "('closure-unconfirmed')")} ELSE @at END`;
  const bring = (products: string) =>
    db.prepare<{ kind: string; ids?: string; at: number; reason: DueReason; lane: number }>(
      `UPDATE record SET due_at = min(due_at, ${dueBrought}), due_reason = @reason, lane = @lane
       -- What presses but fails keeps its backoff, or it would be asked for every minute; a fill keeps its order.
       WHERE (failures = 0 OR @reason <> 'image-limit') AND (due_at > @at OR @reason = 'closure-unconfirmed' OR lane > @lane AND (fetched_at IS NOT NULL OR @lane <= ${laneIndex('reopening')})) AND product_id ${products} AND (resource, edition, part) =
         (json_extract(@kind, '$.resource'), json_extract(@kind, '$.edition'), json_extract(@kind, '$.part'))`,
    );
  const bringAll = bring('IS NOT NULL');
  const bringSome = bring('IN (SELECT value FROM json_each(@ids))');
  const askOffSale = db.prepare<{ product_id: number; at: number; since_at: number | null; lane: number }>(
    `UPDATE record SET due_at = min(due_at, @at), due_reason = CASE WHEN due_at > @at THEN 'sale-status-changed' ELSE due_reason END,
       lane = min(lane, @lane), off_sale_at = COALESCE(@since_at, off_sale_at)
     WHERE resource = 'availability' AND product_id = @product_id AND off_sale_at IS NOT NULL`,
  );
  const markAstray = db.prepare(
    `UPDATE record SET unanswered_at = @at WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const countUnanswered = (where: string) =>
    db
      .prepare<[], number>(`SELECT count(DISTINCT product_id) FROM record WHERE unanswered_at IS NOT NULL AND ${where}`)
      .pluck();
  const [answeredAstray, allUnanswered] = [countUnanswered('failures > 0'), countUnanswered('1')];
  const putDue = db.prepare(
    `UPDATE record SET due_at = @due_at, due_reason = @due_reason, lane = @lane
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const waitingRows = (where: string) =>
    `SELECT r.resource, r.product_id, r.edition, r.part, r.fetched_at, p.category, COALESCE(p.covered, 0) AS covered,
       EXISTS (SELECT 1 FROM checkout_information_read c WHERE c.product_id = r.product_id AND c.has_dynamic_pricing = 1) AS dynamic
     FROM record r
     LEFT JOIN product p ON p.product_id = r.product_id
     WHERE ${where} r.fetched_at IS NOT NULL AND r.failures = 0 AND r.due_reason IN ('cadence-elapsed', 'likely-changed')`;
  const waitingAll = db.prepare<[], WaitingRecord>(waitingRows(''));
  const waitingOf = db.prepare<[number], WaitingRecord>(waitingRows('r.product_id = ? AND'));
  const reschedule = db.prepare(
    `UPDATE record SET due_at = @due_at, due_reason = @due_reason, lane = @lane, stale_at = @stale_at
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const fill = db.prepare<[], FillState>(
    `SELECT count(*) AS records, COALESCE(sum(fetched_at IS NULL), 0) AS never_fetched, COALESCE(sum(failures > 0), 0) AS failing,
       COALESCE(sum(fetched_at IS NULL AND failures < ${quarantineAfter}), 0) AS waiting FROM record`,
  );
  const beyond = db.prepare<{ fetched_after: number; fetched_before: number; due_after: number }, RecordKey>(
    `SELECT resource, product_id, edition, part FROM record
     WHERE fetched_at > @fetched_after OR fetched_at < @fetched_before OR due_at > @due_after`,
  );
  const forgetBody = db.prepare<RecordKey>(
    `UPDATE record SET body_hash = NULL
     WHERE resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const forgetFailures = db.prepare<RecordKey>(
    `UPDATE record SET failures = 0, failed_at = NULL, failure = NULL
     WHERE failures > 0 AND resource = @resource AND product_id = @product_id AND edition = @edition AND part = @part`,
  );
  const ofProduct = db.prepare<[number], Omit<RecordDetail, 'lane'> & { lane: number }>(
    `SELECT resource, product_id, edition, part, due_at, due_reason, fetched_at, changed_at, body_hash, failures, job_id, notified_at, shape, exposure, told_at, off_sale_at, unanswered_at,
       lane, fetched_reason, stale_at, failed_at, failure FROM record WHERE product_id = ? ORDER BY resource, edition, part`,
  );
  const adaptive = db.prepare<{ product_id: number; edition: string; part: number; limit: number }, AdaptiveRecord>(
    `SELECT r.resource, r.product_id, r.edition, r.part, p.category, p.sold, p.sold_at, r.shape, r.exposure
     FROM record r CROSS JOIN product p ON p.product_id = r.product_id
     WHERE r.resource = 'availability' AND (r.product_id, r.edition, r.part) > (@product_id, @edition, @part)
       AND p.sellable = 1 AND r.fetched_at IS NOT NULL
     ORDER BY r.product_id, r.edition, r.part LIMIT @limit`,
  );

  let generation = 0;
  return {
    generation: () => generation,
    due: (now, queue, limit) => {
      if (queue === 'triggered') return triggeredRows.all({ now, lane: laneIndex('notification'), limit });
      const rows = queue === 'notification' ? othersOfLane : dueRows;
      return rows.all({ now, lane: laneIndex(queue), limit });
    },
    dueOfJob: (now, job_id, limit) => jobRows.all({ now, limit, job_id }),
    nextDueAt: (job_id) => (job_id === null ? next.get() : nextOfJob.get(job_id)) ?? null,
    find: (key) => oneRow.get(only(key)) ?? null,
    create: (templates, ids) => {
      generation += 1;
      createSome.run({ templates: JSON.stringify(templates), ids: JSON.stringify(ids) });
    },
    createFor: (category, templates) => {
      generation += 1;
      createOfCategory.run({ templates: JSON.stringify(templates), category });
    },
    dropBeyond: (product_id, last_part) => {
      dropBeyondOne.run(product_id, last_part);
    },
    dropBeyondFor: (category, last_part) => {
      dropBeyond.run({ category, last_part });
    },
    createWalk: (walk) => {
      generation += 1;
      createOne.run({ templates: JSON.stringify([walk]) });
    },
    dropOthers: (templates) => {
      dropOthers.run({ templates: JSON.stringify(templates) });
    },
    dropResource: (resource) => {
      outOfJobs.run({ resource });
      dropResource.run(resource);
    },
    fetched: (key, { due, changed, volatility, ...read }) => {
      const { shape, exposure } = volatility ?? { shape: null, exposure: null };
      const reason = key.due_reason;
      markFetched.run({
        ...only(key),
        ...read,
        ...planned(key, due),
        reason,
        changed: changed ? 1 : 0,
        shape,
        exposure,
      });
    },
    told: (key, at, { shape, exposure }) => {
      markTold.run({ ...only(key), at, shape, exposure });
    },
    failed: (key, { at, text, due }) => {
      markFailed.run({ ...only(key), failures: key.failures, at, text, ...planned(key, due) });
    },
    bringForward: ({ kinds, product_ids }, at, reason) => {
      generation += 1;
      let brought = 0;
      for (const { resource, edition, part } of kinds) {
        const lane = laneIndex(laneOf({ resource, part }, reason));
        const bound = { kind: JSON.stringify({ resource, edition, part }), at, reason, lane };
        brought +=
          product_ids === null
            ? bringAll.run(bound).changes
            : bringSome.run({ ...bound, ids: JSON.stringify(product_ids) }).changes;
      }
      return brought;
    },
    astray: (key, at) => {
      markAstray.run({ ...only(key), at });
    },
    answeredAstray: () => answeredAstray.get() ?? 0,
    unanswered: () => allUnanswered.get() ?? 0,
    askOffSale: (product_id, at, since_at) => {
      const asked = askOffSale.run({ product_id, at, since_at, lane: laneIndex('notification') }).changes;
      if (asked > 0) generation += 1;
      return asked;
    },
    notify: (product_ids, at, now) => {
      generation += 1;
      return notify.run({ ids: JSON.stringify(product_ids), at, now, lane: laneIndex('notification') }).changes;
    },
    setDue: (key, due) => {
      generation += 1;
      putDue.run({ ...only(key), ...planned(key, due) });
    },
    waiting: (product_id) => (product_id === null ? waitingAll.all() : waitingOf.all(product_id)),
    reschedule: (key, due, stale_at) => {
      reschedule.run({ ...only(key), ...planned(key, due), stale_at });
    },
    progressed: (key) => {
      forgetFailures.run(only(key));
    },
    ofProduct: (product_id) =>
      ofProduct.all(product_id).map((row) => ({ ...row, lane: lanes[row.lane] ?? ('fill' as const) })),
    adaptiveAfter: (cursor, limit) => {
      const { product_id, edition, part } = cursor ?? { product_id: -1, edition: '', part: 0 };
      return adaptive.all({ product_id, edition, part, limit });
    },
    beyond: (now) =>
      beyond.all({
        fetched_after: now + futureToleranceMs,
        fetched_before: earliestMs,
        due_after: now + longestAheadMs,
      }),
    forgetBody: (key) => {
      forgetBody.run(only(key));
    },
    fill: () => fill.get() ?? { records: 0, never_fetched: 0, failing: 0, waiting: 0 },
  };
}

/** A due instant as it is stored, with the lane that goes with its reason. */
function planned(key: RecordKey, { at, reason }: Due) {
  return { due_at: at, due_reason: reason, lane: laneIndex(laneOf(key, reason)) };
}

function only({ resource, product_id, edition, part }: RecordKey): RecordKey {
  return { resource, product_id, edition, part };
}
