import { type Entropy, type Instant, newId, systemEntropy } from '../clock.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { packageRoot } from '../package.ts';
import type { FileKind } from '../sqlite/database-file.ts';
import { openForReading, openForWriting, schemaVersion, waitForLocks } from '../sqlite/database-file.ts';
import { orSyncFailed } from '../sqlite/failed-sync.ts';
import { type FileStanding, watchNames } from '../sqlite/identity.ts';
import { healInstants } from '../sqlite/instants.ts';
import { withinQuota } from '../sqlite/quota.ts';
import { type Bound, readsOf, type Writes, writesTo } from '../sqlite/statements.ts';
import { addressesIn, type CallbackAddresses, type MasterSecret } from './addresses.ts';
import { type ConditionPeriods, conditionPeriods } from './conditions.ts';
import { type Deliveries, deliveriesIn } from './deliveries.ts';
import { type DeliveryReader, deliveryReader } from './delivery-reader.ts';
import { diskInode, type FeedLedger, feedLedger, type InodeOf } from './feed-ledger.ts';
import { inboxInstants } from './instants.ts';
import { type MachineClockTable, machineClockTable } from './machine-clock.ts';
import { type ToldOrders, toldOrders } from './orders.ts';
import { type Searches, type SearchReads, searchesIn, searchReads } from './searches.ts';
import { query } from './tables.ts';

/** inbox.db: `CATI`. It belongs to the daemon alone and stays in the state directory, which storefronts cannot enter. */
export const inboxFile: FileKind = {
  name: 'inbox',
  application_id: 0x43415449,
  migrations: new URL('schema/inbox/', packageRoot),
  mode: 0o600,
  wal_autocheckpoint: 1000,
  // After a flood the file returns unused space.
  auto_vacuum: 'incremental',
};

/** The daemon's durable file: received deliveries, and the addresses at which they came. */
export interface Inbox extends Disposable {
  readonly path: string;
  /** Shared with the mirror, so that two files of different pairs are never used together. */
  readonly pair_id: string;
  /** The mirror that belongs to it, and the numbers that its feed may have used. */
  readonly feed: FeedLedger;
  readonly deliveries: Deliveries;
  readonly orders: ToldOrders;
  readonly conditions: ConditionPeriods;
  readonly searches: Searches;
  readonly addresses: CallbackAddresses;
  /** Returns whether the open files still have their names. Writes to a file without a name are lost. */
  standing(): FileStanding;
  readonly machineClock: MachineClockTable;
  /** The latest instant at which the last process is known to have run; null: there was none. */
  readonly last_alive_at: Instant | null;
  /** Repairs instants that a wrong clock wrote. Returns the number of rows changed, by table. */
  healInstants(now: Instant): Record<string, number>;
  /** Records a clean end of the process. */
  stopped(at: Instant): void;
  /** Commits a write that changes nothing, and throws the error that any other write would throw now. */
  touch(): void;
  /** Updates the statistics that the query planner has of tables that have grown. */
  optimise(): void;
  /** Sets how long a write waits for a lock of another program, in milliseconds. It blocks the event loop meanwhile. */
  waitForLocks(ms: number): void;
}

export interface InboxOptions {
  /** The master secret of the callback addresses; null: none is configured, and no address is recognised. */
  readonly master: MasterSecret;
  readonly now: Instant;
  /** `retention.deliveries_bytes`: the most bytes that bodies and rows may take. */
  readonly deliveries_bytes?: number;
  /** The pair of a new inbox; absent: a new pair is created. */
  readonly pair_id?: string;
  readonly entropy?: Entropy;
  readonly inodeOf?: InodeOf;
}

/** Opens or creates the inbox, and marks it as in use. */
export function openInbox(
  path: string,
  { master, now, deliveries_bytes, entropy = systemEntropy, pair_id: given, inodeOf = diskInode }: InboxOptions,
): Inbox {
  const file = openForWriting(path, inboxFile);
  try {
    // Data written here is hardly ever read again. With the usual cache a flood would fill 16 MB.
    file.pragma('cache_size = -2000');
    const db = writesTo(file);
    const { pair_id, stopped_at, heartbeat_at } = db.transaction(() => ownRow(db, given ?? newId(entropy)));
    const addresses = addressesIn(file, master, now);
    const standing = watchNames(path);
    const deliveries = deliveriesIn(file, deliveries_bytes === undefined ? {} : { bytes: deliveries_bytes }, standing);
    const stop = db.change(({ at }: Bound<{ at: Instant }>) => query.updateTable('inbox').set({ stopped_at: at }));
    const touch = db.change(() => query.updateTable('inbox').set(({ ref }) => ({ pair_id: ref('pair_id') })));
    return {
      path,
      pair_id,
      feed: feedLedger(db, inodeOf),
      deliveries,
      orders: toldOrders(db),
      conditions: conditionPeriods(db),
      searches: searchesIn(db),
      addresses,
      standing,
      machineClock: machineClockTable(db),
      last_alive_at: stopped_at === null || (heartbeat_at ?? 0) > stopped_at ? heartbeat_at : stopped_at,
      healInstants: (at) => {
        const healed = db.transaction(() => healInstants(file, inboxInstants, at));
        if (healed.callback_epoch !== undefined) addresses.reload();
        return healed;
      },
      stopped: (at) => {
        db.transaction(() => stop.run({ at }));
      },
      touch: () => {
        try {
          db.transaction(() => touch.run());
        } catch (error) {
          throw orSyncFailed(path, error);
        }
      },
      optimise: () => void withinQuota(path, () => file.pragma('optimize')),
      waitForLocks: (ms) => waitForLocks(file, ms),
      [Symbol.dispose]: () => file.close(),
    };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Returns the row about the file itself; creates it if there is none. */
function ownRow(db: Writes, pair_id: string) {
  const columns = ['pair_id', 'stopped_at', 'heartbeat_at'] as const;
  const add = db.change((bound: Bound<{ pair_id: string }>) =>
    query.insertInto('inbox').orIgnore().values({ inbox_id: 1, pair_id: bound.pair_id, mirror_state: 'none' }),
  );
  add.run({ pair_id });
  const row = db.rows(() => query.selectFrom('inbox').select(columns)).get();
  if (row === undefined) throw new Error('the inbox has no row');
  return row;
}

/** Opens the inbox for reading beside a daemon that may be writing it. Throws (65) for a file of an older version. */
export function openInboxForReading(path: string): DeliveryReader & { readonly searches: SearchReads } & Disposable {
  const db = openForReading(path, inboxFile);
  if (Number(db.pragma('user_version', { simple: true })) < schemaVersion(inboxFile)) {
    db.close();
    throw new CataloguedError('older-inbox', `${path} was written by an older version`, {
      exitCode: exitCodes.data,
      hint: 'start the daemon once: it brings the file up to date',
    });
  }
  const reads = readsOf(db);
  return { ...deliveryReader(reads), searches: searchReads(reads), [Symbol.dispose]: () => db.close() };
}
