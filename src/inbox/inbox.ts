import { randomUUID } from 'node:crypto';
import { CataloguedError, exitCodes } from '../errors.ts';
import type { Database, FileKind } from '../sqlite/database-file.ts';
import { openForReading, openForWriting, schemaVersion, waitForLocks } from '../sqlite/database-file.ts';
import { orSyncFailed } from '../sqlite/failed-sync.ts';
import { type FileStanding, noteOf, watchNames } from '../sqlite/identity.ts';
import { healInstants } from '../sqlite/instants.ts';
import { addressesIn, type CallbackAddresses, type MasterSecret } from './addresses.ts';
import { type Deliveries, type DeliveryReader, deliveriesIn, deliveryReader } from './deliveries.ts';
import { inboxInstants } from './instants.ts';
import { type MachineClockTable, machineClockTable } from './machine-clock.ts';
import { type ToldOrders, toldOrders } from './orders.ts';

/** inbox.db: `CTLI`. The daemon's own: it stays in the state directory, which no storefront may enter. */
export const inboxFile: FileKind = {
  name: 'inbox',
  application_id: 0x43544c49,
  migrations: new URL('../../schema/inbox/', import.meta.url),
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
  readonly addresses: CallbackAddresses;
  /** Whether the open files still have their names: what is written to others is lost. */
  standing(): FileStanding;
  readonly machineClock: MachineClockTable;
  /** When the last process was surely alive; null: there was none. */
  readonly last_alive_at: number | null;
  /** Heals what a wrong clock has written. Returns the rows changed, by table. */
  healInstants(now: number): Record<string, number>;
  /** Notes when the process ended in order. */
  stopped(at: number): void;
  /** Commits a write that changes nothing: throws what any other write would throw now. */
  touch(): void;
  /** Brings up to date what the planner knows of tables that have grown. */
  optimise(): void;
  /** How long a write waits, and blocks the event loop, while another program writes. */
  waitForLocks(ms: number): void;
}

/** What outlives a mirror: with which it is paired, and which numbers its change feed may have given out. */
export interface FeedLedger {
  /** `none` was opened yet, `any` is paired anew, or there is a `known` one. */
  readonly mirror: MirrorState;
  /** Whether this is the mirror that was opened last, by its inode. */
  isSame(mirror_path: string): boolean;
  /** At least those up to this number were given out. */
  readonly witnessed: number;
  /** None above it ever was. Kept in memory; raised by `reserve`. */
  ceiling(): number;
  /** Makes durable that numbers up to `ceiling` may be given out. */
  reserve(ceiling: number): void;
  /** Notes that numbers up to `newest` were given out. */
  witness(newest: number): void;
  /** Notes that the mirror at this path is the one that belongs here. */
  opened(mirror_path: string): void;
}

export type MirrorState = 'none' | 'any' | 'known';

export interface InboxOptions {
  /** The master secret of the callback addresses; null: none is configured, and no address is recognised. */
  readonly master: MasterSecret;
  readonly now: number;
  /** `retention.deliveries_bytes`: what bodies and rows may take. */
  readonly deliveries_bytes?: number;
  /** An argument, so that tests can know it. */
  readonly newPairId?: () => string;
}

/** Opens or makes the inbox, and marks it as in use. */
export function openInbox(
  path: string,
  { master, now, deliveries_bytes, newPairId = randomUUID }: InboxOptions,
): Inbox {
  const db = openForWriting(path, inboxFile);
  try {
    // What is written here is hardly ever read again: the usual cache would hold 16 MB of a flood.
    db.pragma('cache_size = -2000');
    db.prepare("INSERT OR IGNORE INTO inbox (inbox_id, pair_id, mirror_state) VALUES (1, ?, 'none')").run(newPairId());
    const pair_id = db.prepare<[], string>('SELECT pair_id FROM inbox').pluck().get();
    if (pair_id === undefined) throw new Error('the inbox has no row');
    const left = db
      .prepare<[], { stopped_at: number | null; heartbeat_at: number | null }>(
        'SELECT stopped_at, heartbeat_at FROM inbox',
      )
      .get();
    const addresses = addressesIn(db, master, now);
    const standing = watchNames(path);
    const deliveries = deliveriesIn(db, deliveries_bytes === undefined ? {} : { bytes: deliveries_bytes }, standing);
    return {
      path,
      pair_id,
      feed: feedLedger(db),
      deliveries,
      orders: toldOrders(db),
      addresses,
      standing,
      machineClock: machineClockTable(db),
      last_alive_at: Math.max(left?.stopped_at ?? 0, left?.heartbeat_at ?? 0) || null,
      healInstants: (at) => {
        const healed = db.transaction(() => healInstants(db, inboxInstants, at)).immediate();
        if (healed.callback_epoch !== undefined) addresses.reload();
        return healed;
      },
      stopped: (at) => {
        db.prepare<[number]>('UPDATE inbox SET stopped_at = ?').run(at);
      },
      touch: () => {
        try {
          db.exec('UPDATE inbox SET pair_id = pair_id');
        } catch (error) {
          throw orSyncFailed(path, error);
        }
      },
      optimise: () => {
        db.pragma('optimize');
      },
      waitForLocks: (ms) => waitForLocks(db, ms),
      [Symbol.dispose]: () => db.close(),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens the inbox beside a daemon that may be writing it, to look and not to touch. One of an older version: 65. */
export function openInboxForReading(path: string): DeliveryReader & Disposable {
  const db = openForReading(path, inboxFile);
  if (Number(db.pragma('user_version', { simple: true })) < schemaVersion(inboxFile)) {
    db.close();
    throw new CataloguedError('older-inbox', `${path} was written by an older version`, {
      exitCode: exitCodes.data,
      hint: 'start the daemon once: it brings the file up to date',
    });
  }
  return { ...deliveryReader(db), [Symbol.dispose]: () => db.close() };
}

interface FeedRow {
  readonly mirror_state: MirrorState;
  readonly mirror_inode: string | null;
  readonly feed_ceiling: number;
  readonly feed_newest: number;
}

function feedLedger(db: Database): FeedLedger {
  const row = db.prepare<[], FeedRow>('SELECT mirror_state, mirror_inode, feed_ceiling, feed_newest FROM inbox').get();
  if (row === undefined) throw new Error('the inbox has no row');
  const reserve = db.prepare<[number]>('UPDATE inbox SET feed_ceiling = max(feed_ceiling, ?)');
  const witness = db.prepare<{ newest: number }>(
    'UPDATE inbox SET feed_newest = @newest, feed_ceiling = max(feed_ceiling, @newest) WHERE feed_newest < @newest',
  );
  const opened = db.prepare<[string | null]>(`UPDATE inbox SET mirror_state = 'known', mirror_inode = ?`);
  let ceiling = row.feed_ceiling;
  return {
    mirror: row.mirror_state,
    isSame: (path) => row.mirror_inode === null || row.mirror_inode === (noteOf(path)?.inode ?? null),
    witnessed: row.feed_newest,
    ceiling: () => ceiling,
    reserve: (above) => {
      reserve.run(above);
      ceiling = Math.max(ceiling, above);
    },
    witness: (newest) => {
      witness.run({ newest });
    },
    opened: (path) => {
      opened.run(noteOf(path)?.inode ?? null);
    },
  };
}
