import { hash } from 'node:crypto';
import type { Database } from '../sqlite/database-file.ts';
import { orSyncFailed, SyncFailed } from '../sqlite/failed-sync.ts';
import type { FileStanding } from '../sqlite/identity.ts';
import { lostFile } from '../sqlite/refusals.ts';
import { byteBudget } from './byte-budget.ts';
import { asItCame, type Coding, stored } from './stored-body.ts';

/** What came to a callback address. Instants are epoch milliseconds. */
export interface Received {
  readonly received_at: number;
  readonly subscription_id: string;
  readonly epoch: number;
  /** The caller's address, behind the proxies that are believed. */
  readonly peer: string;
  readonly content_type: string | null;
  /** Bytes that came: more than `body` has where it is truncated. */
  readonly length: number;
  readonly truncated: boolean;
  readonly body: Buffer;
}

export type DeliveryState = 'waiting' | 'applied' | 'superseded' | 'quarantined';

export interface Delivery extends Received {
  /** Ascending in the order of arrival, and never used again. */
  readonly delivery_id: number;
  /** Of `body`, in hex. */
  readonly sha256: string;
  readonly state: DeliveryState;
  /** Why it was settled so; null while it waits. */
  readonly reason: string | null;
  readonly settled_at: number | null;
  /** The delivery that this one repeats because a person asked for it. */
  readonly replay_of: number | null;
  /** Whether its body had to go, to stay within the budget: its hash and length are left. */
  readonly body_gone: boolean;
}

export type ListedDelivery = Omit<Delivery, 'body'>;

export interface DeliveryFilter {
  readonly since: number | null;
  readonly state: DeliveryState | null;
  readonly limit: number;
}

/** Received = waiting + applied + superseded + quarantined, for ever; a replay counts as received again. */
export interface DeliveryCounts {
  readonly received: number;
  readonly waiting: number;
  readonly applied: number;
  readonly superseded: number;
  readonly quarantined: number;
}

/** The room that they take. */
export interface StoredBytes {
  /** Bodies as they are stored, and an allowance for each row. */
  readonly stored_bytes: number;
  /** Bodies that had to go, ever. */
  readonly bodies_gone: number;
}

/** What may be asked of a file that a daemon is writing. */
export interface DeliveryReader {
  counts(): DeliveryCounts;
  bytes(): StoredBytes;
  /** Newest first. */
  list(filter: DeliveryFilter): ListedDelivery[];
  find(delivery_id: number): Delivery | null;
  /** How many `replay` would repeat, and how many it cannot: their bodies are gone. */
  replayable(since: number): { readonly deliveries: number; readonly gone: number };
  /** The arrival of each subscription's newest delivery: outlives the delivery. */
  lastBySubscription(): Map<string, number>;
}

/**
 * Deliveries, durable. What writes throws what SQLite throws, after a rollback; after a failed fsync it throws a
 * `SyncFailed`, and nothing is written any more.
 */
export interface Deliveries extends DeliveryReader {
  /** All of them in one durable commit, or none. Older bodies leave for them; `InboxFull` where that is not enough. */
  store(received: readonly Received[]): void;
  /** The waiting ones above a number, ascending, and no more of them than a megabyte and one: what is to be applied. */
  after(delivery_id: number, limit: number): Delivery[];
  /** Ends the waiting of one delivery; one that is settled already stays as it is. */
  settle(delivery_id: number, state: Exclude<DeliveryState, 'waiting'>, reason: string | null, now: number): void;
  /** Several writes in one commit. */
  transaction<Result>(work: () => Result): Result;
  /** Lets copies of what was received since then wait once more, in order, under new numbers; returns how many. */
  replay(since: number, now: number): number;
  /** Forgets what was settled before; what waits never leaves. Returns how many. */
  prune(before: number): number;
  /** Goes on above this number, where the mirror has applied more than this file knows of. */
  goOnAbove(delivery_id: number): void;
  /**
   * What is settled above this number waits again: the mirror is an older one, and has not applied it. Returns how many.
   * `gone_since`: the arrival of the first whose body is gone, which cannot wait; 0: its row is gone too; null: none is.
   */
  waitAgain(delivery_id: number): { readonly deliveries: number; readonly gone_since: number | null };
  /** Gives free pages back to the file system, a little each time; returns whether there are more. */
  shrink(): boolean;
  /** Notes that a delivery could be received at this instant. */
  heartbeat(now: number): void;
  /** The last instant noted before this start: the gap begins there. */
  heartbeats(): { readonly last: number | null };
}

/** What is kept at most. */
export interface DeliveryLimits {
  /** In quarantine, give or take 64 deliveries: beyond it the oldest go first. */
  readonly quarantine: { readonly rows: number; readonly bytes: number };
  /** `retention.deliveries_bytes`. */
  readonly bytes: number;
}

const usualLimits: DeliveryLimits = { quarantine: { rows: 10_000, bytes: 64 * 1024 * 1024 }, bytes: 1024 ** 3 };
/** Bodies that are read and applied together: a batch of large ones would take its memory many times over. */
const appliedTogetherBytes = 1 * 1024 * 1024;
/** Free pages that are kept for what comes next, and how many are given back at once: a few milliseconds. */
const spareBytes = 16 * 1024 * 1024;
const pagesAtOnce = 256;
/** Adding up what is kept takes a millisecond: not for each that comes. */
const trimEvery = 64;

type Row = Omit<Delivery, 'truncated' | 'body_gone'> & { truncated: 0 | 1; coding: Coding };
type ListedRow = Omit<Row, 'body'>;

const listed = `delivery_id, received_at, subscription_id, epoch, peer, content_type, length, truncated, sha256, state,
  reason, settled_at, replay_of, coding`;
// A copy stands for its original, and what waits is applied anyway.
const isSettledSince = `received_at >= @since AND replay_of IS NULL AND state <> 'waiting'`;
const isReplayable = `${isSettledSince} AND coding IS NOT 0`;

export function deliveryReader(db: Database): DeliveryReader {
  const counts = db.prepare<[], DeliveryCounts>(
    `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'delivery'), 0) - skipped_numbers AS received,
       (SELECT count(*) FROM delivery WHERE state = 'waiting') AS waiting, applied, superseded, quarantined FROM inbox`,
  );
  const list = db.prepare<DeliveryFilter, ListedRow>(
    `SELECT ${listed} FROM delivery WHERE (@since IS NULL OR received_at >= @since) AND (@state IS NULL OR state = @state)
     ORDER BY delivery_id DESC LIMIT @limit`,
  );
  const find = db.prepare<[number], Row>(`SELECT ${listed}, body FROM delivery WHERE delivery_id = ?`);
  const bytes = db.prepare<[], StoredBytes>('SELECT stored_bytes, bodies_gone FROM inbox');
  const replayable = db.prepare<{ since: number }, { deliveries: number; gone: number }>(
    `SELECT count(*) FILTER (WHERE coding IS NOT 0) AS deliveries, count(*) FILTER (WHERE coding = 0) AS gone
     FROM delivery WHERE ${isSettledSince}`,
  );
  const last = db.prepare<[], { subscription_id: string; received_at: number }>('SELECT * FROM last_delivery');
  return {
    counts: () => counts.get() ?? { received: 0, waiting: 0, applied: 0, superseded: 0, quarantined: 0 },
    bytes: () => bytes.get() ?? { stored_bytes: 0, bodies_gone: 0 },
    list: (filter) => list.all(filter).map(listedDelivery),
    find: (delivery_id) => {
      const row = find.get(delivery_id);
      return row === undefined ? null : delivery(row);
    },
    replayable: (since) => replayable.get({ since }) ?? { deliveries: 0, gone: 0 },
    lastBySubscription: () =>
      new Map(last.all().map(({ subscription_id, received_at }) => [subscription_id, received_at])),
  };
}

/** The deliveries in a file that this process writes. `standing`: whether it still has its name, without which nothing is kept. */
export function deliveriesIn(
  db: Database,
  given: Partial<DeliveryLimits> = {},
  standing: () => FileStanding = () => 'stands',
): Deliveries {
  const limits = { ...usualLimits, ...given };
  const budget = byteBudget(db);
  const insert = db.prepare(
    `INSERT INTO delivery (received_at, subscription_id, epoch, peer, content_type, length, truncated, sha256, coding, body)
     VALUES (@received_at, @subscription_id, @epoch, @peer, @content_type, @length, @truncated, @sha256, @coding, @body)`,
  );
  // The last to come counts, not the latest instant: a clock that once stood in 2038 is not remembered.
  const noteLast = db.prepare<[string, number]>(
    'INSERT INTO last_delivery VALUES (?, ?) ON CONFLICT DO UPDATE SET received_at = excluded.received_at',
  );
  const after = db.prepare<[number, number], Row>(
    `SELECT ${listed}, body FROM delivery WHERE state = 'waiting' AND delivery_id > ? ORDER BY delivery_id LIMIT ?`,
  );
  const settle = db.prepare<Pick<Row, 'delivery_id' | 'state' | 'reason' | 'settled_at'>>(
    `UPDATE delivery SET state = @state, reason = @reason, settled_at = @settled_at
     WHERE delivery_id = @delivery_id AND state = 'waiting'`,
  );
  const count = {
    applied: db.prepare('UPDATE inbox SET applied = applied + 1'),
    superseded: db.prepare('UPDATE inbox SET superseded = superseded + 1'),
    quarantined: db.prepare<[], number>('UPDATE inbox SET quarantined = quarantined + 1 RETURNING quarantined').pluck(),
  };
  const trim = db.prepare<DeliveryLimits['quarantine']>(
    `DELETE FROM delivery WHERE delivery_id IN (
       SELECT delivery_id FROM (
         SELECT delivery_id, row_number() OVER newest AS row, sum(length(body)) OVER newest AS bytes
         FROM delivery INDEXED BY delivery_quarantined WHERE state = 'quarantined'
         WINDOW newest AS (ORDER BY delivery_id DESC ROWS UNBOUNDED PRECEDING))
       WHERE row > @rows OR bytes > @bytes)`,
  );
  const copy = db.prepare<{ since: number; now: number }>(
    `INSERT INTO delivery (received_at, subscription_id, epoch, peer, content_type, length, truncated, sha256, replay_of, coding, body)
     SELECT @now, subscription_id, epoch, peer, content_type, length, truncated, sha256, delivery_id, coding, body
     FROM delivery WHERE ${isReplayable} ORDER BY delivery_id`,
  );
  const prune = db.prepare<[number]>('DELETE FROM delivery WHERE settled_at < ?');
  const lastNumber = db.prepare<[], number>(`SELECT seq FROM sqlite_sequence WHERE name = 'delivery'`).pluck();
  const beginNumbers = db.prepare(`INSERT INTO sqlite_sequence (name, seq) VALUES ('delivery', 0)`);
  const skipTo = db.prepare<[number]>(`UPDATE sqlite_sequence SET seq = ? WHERE name = 'delivery'`);
  const noteSkipped = db.prepare<[number]>('UPDATE inbox SET skipped_numbers = skipped_numbers + ?');
  const settledAbove = (state: string) =>
    `${state} = ${state} - (SELECT count(*) FROM delivery WHERE delivery_id > @delivery_id AND state = '${state}' AND coding IS NOT 0)`;
  const uncount = db.prepare<{ delivery_id: number }>(
    `UPDATE inbox SET ${['applied', 'superseded', 'quarantined'].map(settledAbove).join(', ')}`,
  );
  const unsettle = db.prepare<{ delivery_id: number }>(
    `UPDATE delivery SET state = 'waiting', reason = NULL, settled_at = NULL
     WHERE delivery_id > @delivery_id AND state <> 'waiting' AND coding IS NOT 0`,
  );
  const goneSince = db
    .prepare<{ delivery_id: number }, number | null>(
      `SELECT CASE WHEN EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'delivery' AND seq > @delivery_id)
           AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery_id = @delivery_id + 1) THEN 0
         ELSE (SELECT min(received_at) FROM delivery WHERE delivery_id > @delivery_id AND coding = 0) END`,
    )
    .pluck();
  const heartbeat = db.prepare<[number]>('UPDATE inbox SET heartbeat_at = ?');
  const lastHeartbeat = db.prepare<[], number | null>('SELECT heartbeat_at FROM inbox').pluck().get() ?? null;
  let broken: SyncFailed | null = null;

  /** One durable commit; rolled back on any error. */
  function commit<Result>(work: () => Result): Result {
    if (broken !== null) throw broken;
    try {
      return db.transaction(work).immediate();
    } catch (error) {
      const cause = orSyncFailed(db.name, error);
      if (cause instanceof SyncFailed) broken = cause;
      throw cause;
    }
  }

  /** A commit into a file that nobody can find any more is none. */
  function kept(work: () => void): void {
    commit(work);
    const found = standing();
    if (found !== 'stands') throw lostFile(db.name, 'inbox', found);
  }

  function freeBytes(): number {
    // A file of an older version keeps its free pages, for what comes next.
    if (db.pragma('auto_vacuum', { simple: true }) !== 2) return 0;
    return Number(db.pragma('freelist_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
  }

  function countQuarantined(): void {
    const ever = count.quarantined.get() ?? 0;
    if (ever % Math.min(limits.quarantine.rows, trimEvery) === 0) trim.run(limits.quarantine);
  }

  return {
    ...deliveryReader(db),
    store: (received) =>
      kept(() => {
        const last = new Map<string, number>();
        for (const each of received) {
          const sha256 = hash('sha256', each.body);
          insert.run({ ...each, ...stored(each.body), truncated: each.truncated ? 1 : 0, sha256 });
          last.set(each.subscription_id, each.received_at);
        }
        for (const [subscription_id, received_at] of last) noteLast.run(subscription_id, received_at);
        budget.keepWithin(limits.bytes);
      }),
    after: (delivery_id, limit) => {
      const found: Delivery[] = [];
      let bytes = 0;
      for (const row of after.iterate(delivery_id, limit)) {
        const next = delivery(row);
        found.push(next);
        bytes += next.body.length;
        if (bytes >= appliedTogetherBytes) break;
      }
      return found;
    },
    settle: (delivery_id, state, reason, now) =>
      commit(() => {
        if (settle.run({ delivery_id, state, reason, settled_at: now }).changes === 0) return;
        if (state === 'quarantined') countQuarantined();
        else count[state].run();
      }),
    transaction: commit,
    replay: (since, now) =>
      commit(() => {
        const { changes } = copy.run({ since, now });
        budget.keepWithin(limits.bytes);
        return changes;
      }),
    prune: (before) => commit(() => prune.run(before).changes),
    goOnAbove: (delivery_id) =>
      commit(() => {
        const last = lastNumber.get();
        if (last === undefined) beginNumbers.run();
        if (delivery_id <= (last ?? 0)) return;
        skipTo.run(delivery_id);
        noteSkipped.run(delivery_id - (last ?? 0));
      }),
    waitAgain: (delivery_id) =>
      commit(() => {
        uncount.run({ delivery_id });
        const gone_since = goneSince.get({ delivery_id }) ?? null;
        return { deliveries: unsettle.run({ delivery_id }).changes, gone_since };
      }),
    shrink: () => {
      if (broken !== null || freeBytes() <= spareBytes) return false;
      db.pragma(`incremental_vacuum(${pagesAtOnce})`);
      return freeBytes() > spareBytes;
    },
    heartbeat: (now) =>
      kept(() => {
        heartbeat.run(now);
      }),
    heartbeats: () => ({ last: lastHeartbeat }),
  };
}

function delivery(row: Row): Delivery {
  return { ...listedDelivery(row), body: asItCame(row) };
}

function listedDelivery({ coding, truncated, ...row }: ListedRow): ListedDelivery {
  return { ...row, truncated: truncated === 1, body_gone: coding === 0 };
}
