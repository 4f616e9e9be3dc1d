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
 * The stored deliveries. Writing methods throw SQLite's errors, after a rollback. After a failed fsync they throw a
 * `SyncFailed`, and nothing is written any more.
 */
export interface Deliveries extends DeliveryReader, Settling, Numbers {
  /**
   * Stores all of them in one durable commit, or none. Removes older bodies to make room; throws `InboxFull` if that is
   * not enough.
   */
  store(received: readonly Received[]): void;
  /**
   * Does the same for deliveries that have numbers already. Numbers between the newest stored one and theirs are
   * skipped.
   */
  storeNumbered(received: readonly Numbered[]): void;
  /**
   * Returns the waiting deliveries above a number, in ascending order. Stops after the delivery with which the bodies
   * reach a megabyte.
   */
  after(delivery_id: number, limit: number): Delivery[];
  /** Runs several writes in one commit. */
  transaction<Result>(work: () => Result): Result;
  /**
   * Stores copies of the deliveries received since an instant, as waiting again, in order and under new numbers.
   * Returns their number.
   */
  replay(since: Instant, now: Instant): number;
  /** Returns some free pages to the file system; true if there are more. */
  shrink(): boolean;
  /** Records that deliveries could be received at this instant. */
  heartbeat(now: Instant): void;
  /** Returns the last recorded instant before this start, where a gap begins; null: none. */
  heartbeats(): { readonly last: number | null };
}

/** The most data that is kept. */
export interface DeliveryLimits {
  /** Limits of the quarantine, with a tolerance of 64 deliveries. Above them the oldest are removed. */
  readonly quarantine: QuarantineLimits;
  /** `retention.deliveries_bytes`. */
  readonly bytes: number;
}

const usualLimits: DeliveryLimits = { quarantine: { rows: 10_000, bytes: 64 * 1024 * 1024 }, bytes: 1024 ** 3 };
/** Bytes of bodies that are read and applied together. Memory use is several times a batch, so it must not be large. */
const appliedTogetherBytes = 1 * 1024 * 1024;
/**
 * Bytes of free pages kept for new deliveries, and the number of pages returned at a time, which takes a few
 * milliseconds.
 */
const spareBytes = 16 * 1024 * 1024;
const pagesAtOnce = 256;

/**
 * Creates the deliveries in a file that this process writes. `standing` returns whether the file still has its name; a
 * file without a name is lost.
 */
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

  /** Commits, and throws if the file has lost its name: nobody can find the commit then. */
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

/** Returns functions that commit until a write to the disk is lost. */
function commitsOf(file: Database, db: Writes) {
  let broken: SyncFailed | null = null;
  return {
    isBroken: () => broken !== null,
    /** Commits durably; rolls back on any error. */
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
