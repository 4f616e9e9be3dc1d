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

/** inbox.db: `CATI`. The daemon's own: it stays in the state directory, which no storefront may enter. */
export const inboxFile: FileKind = {
  name: 'inbox',
  application_id: 0x43415449,
  migrations: new URL('schema/inbox/', packageRoot),
  mode: 0o600,
  wal_autocheckpoint: 1000,
  // After a flood the file gives back what it no longer needs.
  auto_vacuum: 'incremental',
};

/** The daemon's own durable file: what was received, and at which addresses. */
export interface Inbox extends Disposable {
  readonly path: string;
  /** Shared with the mirror, so that the wrong two are never used together. */
  readonly pair_id: string;
  /** What the mirror beside it has to be, and what is known of the numbers that its feed gave out. */
  readonly feed: FeedLedger;
  readonly deliveries: Deliveries;
  readonly orders: ToldOrders;
  readonly conditions: ConditionPeriods;
  readonly searches: Searches;
  readonly addresses: CallbackAddresses;
  /** Whether the open files still have their names: what is written to others is lost. */
  standing(): FileStanding;
  readonly machineClock: MachineClockTable;
  /** When the last process was surely alive; null: there was none. */
  readonly last_alive_at: Instant | null;
  /** Heals what a wrong clock has written. Returns the rows changed, by table. */
  healInstants(now: Instant): Record<string, number>;
  /** Notes when the process ended in order. */
  stopped(at: Instant): void;
  /** Commits a write that changes nothing: throws what any other write would throw now. */
  touch(): void;
  /** Brings up to date what the planner knows of tables that have grown. */
  optimise(): void;
  /** How long a write waits, and blocks the event loop, while another program writes. */
  waitForLocks(ms: number): void;
}

export interface InboxOptions {
  /** The master secret of the callback addresses; null: none is configured, and no address is recognised. */
  readonly master: MasterSecret;
  readonly now: Instant;
  /** `retention.deliveries_bytes`: what bodies and rows may take. */
  readonly deliveries_bytes?: number;
  /** Given to a new inbox; absent: a new one is drawn. */
  readonly pair_id?: string;
  readonly entropy?: Entropy;
  readonly inodeOf?: InodeOf;
}

/** Opens or makes the inbox, and marks it as in use. */
export function openInbox(
  path: string,
  { master, now, deliveries_bytes, entropy = systemEntropy, pair_id: given, inodeOf = diskInode }: InboxOptions,
): Inbox {
  const file = openForWriting(path, inboxFile);
  try {
    // What is written here is hardly ever read again: the usual cache would hold 16 MB of a flood.
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

/** The row about the file itself; made where there is none. */
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

/** Opens the inbox beside a daemon that may be writing it, to look and not to touch. One of an older version: 65. */
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
