import type { Instant } from '../clock.ts';
import type { Database } from '../sqlite/database-file.ts';
import { orSyncFailed, SyncFailed } from '../sqlite/failed-sync.ts';
import type { FileStanding } from '../sqlite/identity.ts';
import { withinQuota } from '../sqlite/quota.ts';
import { lostFile } from '../sqlite/refusals.ts';
import { type Bound, type Writes, writesTo } from '../sqlite/statements.ts';
import { byteBudget } from './byte-budget.ts';
import { type Delivery, deliveryOf, type Numbered, type Received } from './delivery.ts';
import { type DeliveryReader, deliveryReader } from './delivery-reader.ts';
import { type Numbers, numbersIn } from './numbers.ts';
import { type QuarantineLimits, type Settling, settlingIn } from './settling.ts';
import { storingIn } from './storing.ts';
import { query } from './tables.ts';

/**
 * Deliveries, durable. What writes throws what SQLite throws, after a rollback; after a failed fsync it throws a
 * `SyncFailed`, and nothing is written any more.
 */
export interface Deliveries extends DeliveryReader, Settling, Numbers {
  /** All of them in one durable commit, or none. Older bodies leave for them; `InboxFull` where that is not enough. */
  store(received: readonly Received[]): void;
  /** The same for what has its numbers already: those between it and the newest one are skipped. */
  storeNumbered(received: readonly Numbered[]): void;
  /**
   * Returns the waiting ones above a number, ascending, and no more of them than a megabyte and one: what is to be
   * applied.
   */
  after(delivery_id: number, limit: number): Delivery[];
  /** Several writes in one commit. */
  transaction<Result>(work: () => Result): Result;
  /** Lets copies of what was received since then wait once more, in order, under new numbers; returns how many. */
  replay(since: Instant, now: Instant): number;
  /** Gives free pages back to the file system, a little each time; returns whether there are more. */
  shrink(): boolean;
  /** Notes that a delivery could be received at this instant. */
  heartbeat(now: Instant): void;
  /** Returns the last instant noted before this start: the gap begins there. */
  heartbeats(): { readonly last: number | null };
}

/** What is kept at most. */
export interface DeliveryLimits {
  /** In quarantine, give or take 64 deliveries: beyond it the oldest go first. */
  readonly quarantine: QuarantineLimits;
  /** `retention.deliveries_bytes`. */
  readonly bytes: number;
}

const usualLimits: DeliveryLimits = { quarantine: { rows: 10_000, bytes: 64 * 1024 * 1024 }, bytes: 1024 ** 3 };
/** Bodies that are read and applied together: a batch of large ones would take its memory many times over. */
const appliedTogetherBytes = 1 * 1024 * 1024;
/** Free pages that are kept for what comes next, and how many are given back at once: a few milliseconds. */
const spareBytes = 16 * 1024 * 1024;
const pagesAtOnce = 256;

/** The deliveries in a file that this process writes. `standing`: whether it still has its name, without which nothing is kept. */
export function deliveriesIn(
  file: Database,
  given: Partial<DeliveryLimits> = {},
  standing: () => FileStanding = () => 'stands',
): Deliveries {
  const limits = { ...usualLimits, ...given };
  const db = writesTo(file);
  const { commit, isBroken } = commitsOf(file, db);
  const storing = storingIn(db, byteBudget(db), limits.bytes);
  const settling = settlingIn(db, limits.quarantine);
  const numbers = numbersIn(db);
  const beat = db.change(({ now }: Bound<{ now: Instant }>) => query.updateTable('inbox').set({ heartbeat_at: now }));
  const lastBeat = db.values(() => query.selectFrom('inbox').select('heartbeat_at')).get() ?? null;

  /** A commit into a file that nobody can find any more is none. */
  function kept(work: () => void): void {
    commit(work);
    const found = standing();
    if (found !== 'stands') throw lostFile(file.name, 'inbox', found);
  }

  return {
    ...deliveryReader(db),
    store: (received) => kept(() => storing.add(received)),
    storeNumbered: (received) =>
      kept(() => {
        numbers.goOnAbove((received[0]?.delivery_id ?? 1) - 1);
        storing.addNumbered(received);
      }),
    after: waitingIn(db),
    settle: (delivery_id, state, reason, now) => commit(() => settling.settle(delivery_id, state, reason, now)),
    transaction: commit,
    replay: (since, now) => commit(() => storing.copy(since, now)),
    prune: (before) => commit(() => settling.prune(before)),
    newest: numbers.newest,
    goOnAbove: (delivery_id) => commit(() => numbers.goOnAbove(delivery_id)),
    waitAgain: (delivery_id) => commit(() => numbers.waitAgain(delivery_id)),
    shrink: () => !isBroken() && shrink(file),
    heartbeat: (now) => kept(() => void beat.run({ now })),
    heartbeats: () => ({ last: lastBeat }),
  };
}

/** Commits as long as the disk keeps what it was given. */
function commitsOf(file: Database, db: Writes) {
  let broken: SyncFailed | null = null;
  return {
    isBroken: () => broken !== null,
    /** One durable commit; rolled back on any error. */
    commit: <Result>(work: () => Result): Result => {
      if (broken !== null) throw broken;
      try {
        return db.transaction(work);
      } catch (error) {
        const cause = orSyncFailed(file.name, error);
        if (cause instanceof SyncFailed) broken = cause;
        throw cause;
      }
    },
  };
}

function waitingIn(db: Writes): Deliveries['after'] {
  const waiting = db.rows(({ delivery_id, limit }: Bound<{ delivery_id: number; limit: number }>) =>
    query
      .selectFrom('delivery')
      .selectAll()
      .where('state', '=', 'waiting')
      .where('delivery_id', '>', delivery_id)
      .orderBy('delivery_id')
      .limit(limit),
  );
  return (delivery_id, limit) => {
    const found: Delivery[] = [];
    let bytes = 0;
    for (const row of waiting.iterate({ delivery_id, limit })) {
      const next = deliveryOf(row);
      found.push(next);
      bytes += next.body.length;
      if (bytes >= appliedTogetherBytes) break;
    }
    return found;
  };
}

function shrink(file: Database): boolean {
  if (freeBytes(file) <= spareBytes) return false;
  withinQuota(file.name, () => file.pragma(`incremental_vacuum(${pagesAtOnce})`));
  return freeBytes(file) > spareBytes;
}

function freeBytes(file: Database): number {
  return Number(file.pragma('freelist_count', { simple: true })) * Number(file.pragma('page_size', { simple: true }));
}
