import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { type FeedDecision, judgeFeed } from '../domain/changes/feed.ts';
import type { Resource } from '../domain/schedule/resources.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { type Database, damaged, openForWriting, waitForLocks, walSizeOf } from '../sqlite/database-file.ts';
import { prepareDirectory } from '../sqlite/directory.ts';
import { isDamage, writeTroubleOf } from '../sqlite/fault.ts';
import { type FileStanding, watchNames } from '../sqlite/identity.ts';
import { healInstants } from '../sqlite/instants.ts';
import { planningOnce } from '../sqlite/planned-once.ts';
import { repairHint } from '../sqlite/refusals.ts';
import { writesTo } from '../sqlite/statements.ts';
import { type AvailabilityTables, availabilityTables } from './catalogue/availability.ts';
import { type AvailabilityContextTable, availabilityContext } from './catalogue/availability-context.ts';
import { type CategoryTable, categoryTable } from './catalogue/categories.ts';
import { type CheckoutInformationTable, checkoutInformationTable } from './catalogue/checkout-information.ts';
import { type ExperienceTables, experienceTables } from './catalogue/experiences.ts';
import { type ImageFileTable, imageFileTable } from './catalogue/image-files.ts';
import { type ImageLedger, imageLedger } from './catalogue/image-ledger.ts';
import { type ProductTables, productTables } from './catalogue/products.ts';
import { type RemovalTable, removalTable } from './catalogue/removals.ts';
import { type ListPlaceTable, listPlaceTable } from './catalogue/search/list-places.ts';
import { applySearchRules } from './catalogue/search/rules.ts';
import { type VariantTables, variantTables } from './catalogue/variants.ts';
import { writeZones } from './catalogue/zones.ts';
import { type ChangeTable, changeTable, type FeedCeiling, newestSeq, noCeiling } from './changes/changes.ts';
import { type CheckTables, checkTables } from './checks.ts';
import { type ClosureTable, closureTable } from './push/closures.ts';
import { type SubscriptionTable, subscriptionTable } from './push/subscriptions.ts';
import { type TrustTable, trustTable } from './push/trust.ts';
import { type BudgetTable, budgetTable } from './schedule/budget.ts';
import { type JobTable, jobTable } from './schedule/jobs.ts';
import { type OfferTable, offerTable } from './schedule/offers.ts';
import { moveStaleAt, type Promised, type StaleAfter, writePromises } from './schedule/promises.ts';
import { type RecordTable, recordTable } from './schedule/records.ts';
import { type WalkTable, walkTable } from './schedule/walks.ts';
import { mirrorFile } from './sql/files.ts';
import { mirrorInstants } from './sql/instants.ts';
import { type AlarmTable, alarmTable } from './status/alarms.ts';

/** What the views of this program promise: raised with every addition to schema/contract.json. */
export const contractVersion = 5;

export interface MirrorOptions {
  readonly path: string;
  /** The inbox's pair id: a mirror that belongs to another inbox is refused (78). */
  readonly pair_id: string;
  readonly written_by: string;
  readonly language: string;
  readonly currency: string;
  /** Whose file the view `images` shows; null: no files are kept. */
  readonly image_size: string | null;
  /** Verified copies that exist: beside one, an empty file is damage and not a first run. */
  readonly backups: readonly string[];
  /** What the inbox knows of the feed; absent: nothing outlives this mirror. */
  readonly feed?: FeedMemory;
  /** An argument, so that tests can know it. */
  readonly newFeedId?: () => string;
}

/** What outlives a mirror, so that a new one gives out no number twice. */
export interface FeedMemory extends FeedCeiling {
  /** Whether any mirror is taken and paired again (`any`), or none was there (`none`); else the pair ids have to agree. */
  readonly mirror: 'none' | 'any' | 'known';
  readonly witnessed: number;
  isSame(mirror_path: string): boolean;
  /** Waiting deliveries have numbers above it; null: none waits. */
  readonly waits_above: number | null;
}

/** The local copy, open for writing. One process has it open so (the lock), through one connection. */
export interface Mirror extends Disposable {
  readonly path: string;
  /** Whether the change feed goes on with this start, or begins anew. */
  readonly feed: FeedDecision;
  /** Whether the open files still have their names: what is written to others, no reader sees. */
  standing(): FileStanding;
  readonly products: ProductTables;
  readonly images: ImageLedger;
  readonly trust: TrustTable;
  readonly closures: ClosureTable;
  readonly availability: AvailabilityTables;
  readonly contexts: AvailabilityContextTable;
  readonly checkoutInformation: CheckoutInformationTable;
  readonly variants: VariantTables;
  readonly experiences: ExperienceTables;
  readonly imageFiles: ImageFileTable;
  readonly records: RecordTable;
  readonly walks: WalkTable;
  readonly jobs: JobTable;
  readonly budget: BudgetTable;
  readonly changes: ChangeTable;
  readonly checks: CheckTables;
  readonly offers: OfferTable;
  readonly removals: RemovalTable;
  readonly alarms: AlarmTable;
  readonly categories: CategoryTable;
  readonly listPlaces: ListPlaceTable;
  readonly subscriptions: SubscriptionTable;
  /** All or nothing. Never await inside: there is one connection. */
  transaction<Result>(work: () => Result): Result;
  /** Tells after each commit that added to the change feed: by then any reader sees it. Nothing is told of a rollback. */
  onChanges(listener: () => void): Disposable;
  writePromises(promised: Promised, daysPerRequest: number): boolean;
  /** What is promised of a resource is promised no more. */
  dropPromise(resource: Resource): void;
  /** After a change of what covers a product: its `stale_at` with the cadence. */
  moveStaleAt(cadence: StaleAfter, product_id: number): void;
  writeZones(now: number): void;
  /** Heals what a wrong clock has written, inside the caller's transaction. Returns the rows changed, by table. */
  healInstants(now: number): Record<string, number>;
  /** When the newest stored read was sent; null: there is none. */
  lastReadAt(): number | null;
  /** Notes, once, that every record has been read. */
  markFilled(now: number): void;
  filledAt(): number | null;
  /** Brings up to date what the planner knows of tables that have grown. */
  optimise(): void;
  /** How far the inbox was applied: the number of a delivery, noted in the transaction of its effects. */
  lastDelivery(): number;
  noteDelivery(delivery_id: number): void;
  /** How far the inbox's orders were counted: the number of one, noted in the transaction of its counts. */
  lastOrder(): number;
  noteOrder(order_number: number): void;
  /**
   * Copies the write-ahead log into the file where there is much of it, `tight` also where there is little; returns its
   * size in bytes afterwards. A full disk or another writer leaves it as it is: the next one goes on.
   */
  checkpoint(space?: 'plenty' | 'tight'): number;
  /** Commits a write that changes nothing: throws what any other write would throw now. */
  touch(): void;
  /** How long a write waits, and blocks the event loop, while another program writes. */
  waitForLocks(ms: number): void;
}

const megabyte = 1024 * 1024;

/** Opens or makes the mirror; see `openForWriting` for what is refused, and how. */
export function openMirror(options: MirrorOptions): Mirror {
  prepareDirectory(dirname(options.path), 0o3770);
  const db = openForWriting(options.path, mirrorFile, { backups: options.backups });
  try {
    const feed = claim(db, options);
    applySearchRules(db);
    return mirrorOver(planningOnce(db), options, feed);
  } catch (error) {
    db.close();
    throw asDamage(options.path, error);
  }
}

function asDamage(path: string, error: unknown): unknown {
  return isDamage(error) ? damaged(path, (error as Error).message, error) : error;
}

interface ClaimedRow {
  readonly pair_id: string;
  readonly feed_id: string | null;
}

/** Pairs the mirror with the inbox, and decides whether its feed goes on. */
function claim(db: Database, options: MirrorOptions): FeedDecision {
  const { path, pair_id, written_by, language, currency, image_size, feed, newFeedId = randomUUID } = options;
  const stored = db.prepare<[], ClaimedRow>('SELECT pair_id, feed_id FROM mirror').get();
  const paired = stored?.pair_id === pair_id;
  if (stored !== undefined && !paired && feed?.mirror !== 'any') throw foreignPair(path);
  const decision = judgeFeed({
    identified: (stored?.feed_id ?? null) !== null,
    paired,
    same_file: feed?.isSame(path) ?? true,
    newest: newestSeq(db),
    witnessed: feed?.witnessed ?? 0,
    ceiling: feed?.ceiling() ?? 0,
  });
  const row = {
    pair_id,
    written_by,
    language,
    currency,
    image_size,
    contractVersion,
    schema_version: db.pragma('user_version', { simple: true }),
  };
  const work = () => {
    db.prepare(
      `INSERT INTO mirror (mirror_id, pair_id, contract_version, schema_version, written_by, language, currency, image_size)
       VALUES (1, @pair_id, @contractVersion, @schema_version, @written_by, @language, @currency, @image_size)
       ON CONFLICT DO UPDATE SET pair_id = @pair_id, contract_version = @contractVersion, schema_version = @schema_version,
         written_by = @written_by, language = @language, currency = @currency, image_size = @image_size`,
    ).run(row);
    if (decision.feed === 'new') beginFeed(db, newFeedId(), decision.above);
    // What waits beside it counts from other numbers: all of it is applied.
    if (!paired && feed !== undefined && feed.waits_above !== null)
      db.prepare('UPDATE mirror SET last_delivery_id = min(last_delivery_id, +?)').run(feed.waits_above);
  };
  db.transaction(work).immediate();
  return decision;
}

function beginFeed(db: Database, feed_id: string, above: number | null): void {
  db.prepare('UPDATE mirror SET feed_id = +?').run(feed_id);
  if (above === null) return;
  db.prepare('UPDATE mirror SET feed_floor_seq = max(feed_floor_seq, +?)').run(above);
  const moved = db.prepare("UPDATE sqlite_sequence SET seq = max(seq, +?) WHERE name = 'change'").run(above).changes;
  if (moved === 0) db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('change', +?)").run(above);
}

export function foreignPair(path: string): CataloguedError {
  return new CataloguedError(
    'foreign-pair',
    `${path} belongs to another inbox.db than the one in the state directory`,
    {
      exitCode: exitCodes.configuration,
      hint: `name the mirror.path and mirror.inbox_path that belong together; where that inbox is lost, ${repairHint}`,
    },
  );
}

function mirrorOver(db: Database, { path, feed }: MirrorOptions, decision: FeedDecision): Mirror {
  const writes = writesTo(db);
  const passive = db.prepare<[], { busy: number; log: number; checkpointed: number }>('PRAGMA wal_checkpoint(PASSIVE)');
  const markFilled = db.prepare<[number]>('UPDATE mirror SET filled_at = ? WHERE filled_at IS NULL');
  const filledAt = db.prepare<[], number | null>('SELECT filled_at FROM mirror').pluck();
  const lastReadAt = db.prepare<[], number | null>('SELECT max(fetched_at) FROM record').pluck();
  const lastDelivery = db.prepare<[], number>('SELECT last_delivery_id FROM mirror').pluck();
  const lastOrder = db.prepare<[], number>('SELECT last_order_number FROM mirror').pluck();
  const noteOrder = db.prepare<[number]>('UPDATE mirror SET last_order_number = ?');
  const noteDelivery = db.prepare<[number]>('UPDATE mirror SET last_delivery_id = ?');
  const changes = changeTable(db, feed ?? noCeiling);
  const standing = watchNames(path);
  const dropPromise = db.prepare<[string]>('DELETE FROM promise WHERE resource = ?');
  const closures = closureTable(db);
  const touch = db.prepare('UPDATE mirror SET pair_id = pair_id');
  const listeners = new Set<() => void>();
  let lockWaitMs = 5000;

  function copyLog(space: 'plenty' | 'tight'): void {
    const least = space === 'tight' ? 0 : 8 * megabyte;
    if (walSizeOf(path) <= least) return;
    const { log = 0, checkpointed = 0 } = passive.get() ?? {};
    // Everything is copied, so no reader needs the log any more: it can be cut, without waiting for anybody.
    if (log !== checkpointed || walSizeOf(path) <= (space === 'tight' ? 0 : 64 * megabyte)) return;
    waitForLocks(db, 0);
    try {
      db.pragma('wal_checkpoint(TRUNCATE)');
    } finally {
      waitForLocks(db, lockWaitMs);
    }
  }

  return {
    path,
    feed: decision,
    standing,
    products: productTables(db, changes, closures),
    images: imageLedger(db),
    closures,
    trust: trustTable(db),
    availability: availabilityTables(db, changes),
    contexts: availabilityContext(db),
    checkoutInformation: checkoutInformationTable(db),
    variants: variantTables(writes),
    experiences: experienceTables(db),
    imageFiles: imageFileTable(db),
    records: recordTable(db),
    walks: walkTable(db),
    jobs: jobTable(db),
    budget: budgetTable(db),
    changes,
    checks: checkTables(db),
    offers: offerTable(db),
    removals: removalTable(db, changes),
    alarms: alarmTable(db),
    categories: categoryTable(db),
    listPlaces: listPlaceTable(db),
    subscriptions: subscriptionTable(db),
    transaction: (work) => {
      const before = changes.added();
      const result = writes.transaction(work);
      if (changes.added() > before && !db.inTransaction) for (const listener of listeners) listener();
      return result;
    },
    onChanges: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    writePromises: (promised, daysPerRequest) => writePromises(db, promised, daysPerRequest),
    dropPromise: (resource) => {
      dropPromise.run(resource);
    },
    moveStaleAt: (cadence, product_id) => moveStaleAt(db, cadence, product_id),
    writeZones: (now) => writeZones(db, now),
    healInstants: (now) => healInstants(db, mirrorInstants, now),
    lastReadAt: () => lastReadAt.get() ?? null,
    markFilled: (now) => {
      if (markFilled.run(now).changes > 0) db.pragma('optimize');
    },
    optimise: () => {
      db.pragma('optimize');
    },
    filledAt: () => filledAt.get() ?? null,
    lastDelivery: () => lastDelivery.get() ?? 0,
    lastOrder: () => lastOrder.get() ?? 0,
    noteOrder: (order_number) => {
      noteOrder.run(order_number);
    },
    noteDelivery: (delivery_id) => {
      noteDelivery.run(delivery_id);
    },
    checkpoint: (space = 'plenty') => {
      try {
        copyLog(space);
      } catch (error) {
        if (writeTroubleOf(error) === null) throw error;
      }
      return walSizeOf(path);
    },
    touch: () => {
      touch.run();
    },
    waitForLocks: (ms) => {
      lockWaitMs = ms;
      waitForLocks(db, ms);
    },
    [Symbol.dispose]: () => {
      try {
        passive.get();
      } catch (error) {
        if (writeTroubleOf(error) === null) throw error;
      } finally {
        db.close();
      }
    },
  };
}
