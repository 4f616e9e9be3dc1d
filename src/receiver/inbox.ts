import { type Entropy, type Instant, newId, systemEntropy } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import type { Database, FileKind } from '../kernel/sqlite/database-file.ts';
import { openForReading, openForWriting, schemaVersion, waitForLocks } from '../kernel/sqlite/database-file.ts';
import { orSyncFailed } from '../kernel/sqlite/failed-sync.ts';
import { type FileStanding, watchNames } from '../kernel/sqlite/identity.ts';
import { healInstants } from '../kernel/sqlite/instants.ts';
import { withinQuota } from '../kernel/sqlite/quota.ts';
import { type Bound, pick, readsOf, Store, type Writes, writesTo } from '../kernel/sqlite/statements.ts';
import { packageRoot } from '../package.ts';
import { CallbackAddresses, type MasterSecret } from './addresses.store.ts';
import { ConditionPeriods } from './conditions.store.ts';
import { Deliveries } from './deliveries.store.ts';
import { DeliveryReads } from './delivery-reads.store.ts';
import { diskInode, FeedLedger, type InodeOf } from './feed-ledger.store.ts';
import { ReportedOrders } from './orders.store.ts';
import { Searches, SearchReads } from './searches.store.ts';
import { type InboxTables, inboxInstants, query } from './tables.ts';

/** The state of the machine's clock as an earlier process believed it. */
type StoredAnchor = Readonly<Omit<InboxTables['machine_clock'], 'clock_id'>>;

const clockColumns = ['boot_id', 'booted_at', 'confirmed', 'doubted_at'] as const;

class MachineClockTable extends Store<Writes> {
  /** Null: nothing is stored yet. */
  readonly anchor = this.db.row(() => query.selectFrom('machine_clock').select(clockColumns));
  readonly #write = this.db.change((anchor: Bound<StoredAnchor>) =>
    query.replaceInto('machine_clock').values({ clock_id: 1, ...pick(anchor, clockColumns) }),
  );

  save(anchor: StoredAnchor): void {
    this.db.transaction(() => this.#write(anchor));
  }
}

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

/** The daemon's durable file: received deliveries, and the addresses at which they came. */
export class Inbox extends Store<Writes> implements Disposable {
  readonly #stop = this.db.change(({ at }: Bound<{ at: Instant }>) =>
    query.updateTable('inbox').set({ stopped_at: at }),
  );
  readonly #touch = this.db.change(() => query.updateTable('inbox').set(({ ref }) => ({ pair_id: ref('pair_id') })));
  readonly orders = new ReportedOrders(this.db);
  readonly conditions = new ConditionPeriods(this.db);
  readonly searches = new Searches(this.db);
  readonly machineClock = new MachineClockTable(this.db);
  readonly #file: Database;
  readonly path: string;
  /** Shared with the mirror, so that two files of different pairs are never used together. */
  readonly pair_id: string;
  /** The latest instant at which the last process is known to have run; null: there was none. */
  readonly last_alive_at: Instant | null;
  /** The mirror that belongs to it, and the numbers that its feed may have used. */
  readonly feed: FeedLedger;
  readonly addresses: CallbackAddresses;
  /** Returns whether the open files still have their names. Writes to a file without a name are lost. */
  readonly standing: () => FileStanding;
  readonly deliveries: Deliveries;

  constructor(file: Database, { master, now, deliveries_bytes: bytes, ...options }: InboxOptions) {
    super(writesTo(file));
    const { entropy = systemEntropy, pair_id: given, inodeOf = diskInode } = options;
    const { pair_id, stopped_at, heartbeat_at } = this.db.transaction(() => ownRow(this.db, given ?? newId(entropy)));
    this.#file = file;
    this.path = file.name;
    this.pair_id = pair_id;
    this.last_alive_at = stopped_at === null || (heartbeat_at ?? 0) > stopped_at ? heartbeat_at : stopped_at;
    this.feed = new FeedLedger(this.db, inodeOf);
    this.addresses = new CallbackAddresses(file, master, now);
    this.standing = watchNames(file.name);
    this.deliveries = new Deliveries(file, bytes === undefined ? {} : { bytes }, this.standing);
  }

  /** Repairs instants that a wrong clock wrote. Returns the number of rows changed, by table. */
  healInstants(now: Instant): Record<string, number> {
    const healed = this.db.transaction(() => healInstants(this.#file, inboxInstants, now));
    if (healed.callback_epoch !== undefined) this.addresses.reload();
    return healed;
  }

  /** Records a clean end of the process. */
  stopped(at: Instant): void {
    this.db.transaction(() => this.#stop({ at }));
  }

  /** Commits a write that changes nothing, and throws the error that any other write would throw now. */
  touch(): void {
    try {
      this.db.transaction(() => this.#touch());
    } catch (error) {
      throw orSyncFailed(this.path, error);
    }
  }

  /** Updates the statistics that the query planner has of tables that have grown. */
  optimise(): void {
    withinQuota(this.path, () => this.#file.pragma('optimize'));
  }

  /** Sets how long a write waits for a lock of another program, in milliseconds. It blocks the event loop meanwhile. */
  waitForLocks(ms: number): void {
    waitForLocks(this.#file, ms);
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}

/** Opens or creates the inbox, and marks it as in use. */
export function openInbox(path: string, options: InboxOptions): Inbox {
  const file = openForWriting(path, inboxFile);
  try {
    // Data written here is hardly ever read again. With the usual cache a flood would fill 16 MB.
    file.pragma('cache_size = -2000');
    return new Inbox(file, options);
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
  add({ pair_id });
  const row = db.row(() => query.selectFrom('inbox').select(columns))();
  if (row === null) throw new Error('the inbox has no row');
  return row;
}

/** An inbox beside a daemon that may be writing it. */
export class ReadInbox extends DeliveryReads implements Disposable {
  readonly searches = new SearchReads(this.db);
  readonly #file: Database;

  constructor(file: Database) {
    super(readsOf(file));
    this.#file = file;
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}

/** Opens the inbox for reading beside a daemon that may be writing it. Throws (65) for a file of an older version. */
export function openInboxForReading(path: string): ReadInbox {
  const db = openForReading(path, inboxFile);
  if (Number(db.pragma('user_version', { simple: true })) < schemaVersion(inboxFile)) {
    db.close();
    throw new CataloguedError('older-inbox', `${path} was written by an older version`, {
      exitCode: exitCodes.data,
      hint: 'start the daemon once: it brings the file up to date',
    });
  }
  return new ReadInbox(db);
}
