import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { CataloguedError, exitCodes } from '../errors.ts';
import type { FileKind } from '../sqlite/database-file.ts';
import { openForReading, openForWriting, schemaVersion, waitForLocks } from '../sqlite/database-file.ts';
import { orSyncFailed } from '../sqlite/failed-sync.ts';
import { healInstants } from '../sqlite/instants.ts';
import { addressesIn, type CallbackAddresses, type MasterSecret } from './addresses.ts';
import { type Deliveries, type DeliveryReader, deliveriesIn, deliveryReader } from './deliveries.ts';
import { inboxInstants } from './instants.ts';
import { type MachineClockTable, machineClockTable } from './machine-clock.ts';

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
  /** Whether the last process ended cleanly and the mirror's file is still as it left it. */
  readonly clean: boolean;
  readonly deliveries: Deliveries;
  readonly addresses: CallbackAddresses;
  readonly machineClock: MachineClockTable;
  /** When the last process was surely alive; null: there was none. */
  readonly last_alive_at: number | null;
  /** Heals what a wrong clock has written. Returns the rows changed, by table. */
  healInstants(now: number): Record<string, number>;
  /** Commits a write that changes nothing: throws what any other write would throw now. */
  touch(): void;
  /** How long a write waits, and blocks the event loop, while another program writes. */
  waitForLocks(ms: number): void;
  /** Notes a clean end, after the mirror was closed. */
  stopped(mirror_path: string, now: number): void;
}

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
  mirror_path: string,
  { master, now, deliveries_bytes, newPairId = randomUUID }: InboxOptions,
): Inbox {
  const db = openForWriting(path, inboxFile);
  try {
    // What is written here is hardly ever read again: the usual cache would hold 16 MB of a flood.
    db.pragma('cache_size = -2000');
    db.prepare('INSERT OR IGNORE INTO inbox (inbox_id, pair_id) VALUES (1, ?)').run(newPairId());
    const row = db
      .prepare<
        [],
        {
          pair_id: string;
          stopped_at: number | null;
          heartbeat_at: number | null;
          mirror_size: number | null;
          mirror_modified_at: number | null;
        }
      >('SELECT pair_id, stopped_at, heartbeat_at, mirror_size, mirror_modified_at FROM inbox')
      .get();
    if (row === undefined) throw new Error('the inbox has no row');
    const found = sizeAndTime(mirror_path);
    const untouched = row.mirror_size === found.size && row.mirror_modified_at === found.modified_at;
    const addresses = addressesIn(db, master, now);
    const deliveries = deliveriesIn(db, deliveries_bytes === undefined ? {} : { bytes: deliveries_bytes });
    db.exec('UPDATE inbox SET stopped_at = NULL');
    return {
      path,
      pair_id: row.pair_id,
      clean: row.stopped_at !== null && untouched,
      deliveries,
      addresses,
      machineClock: machineClockTable(db),
      last_alive_at: Math.max(row.stopped_at ?? 0, row.heartbeat_at ?? 0) || null,
      healInstants: (at) => {
        const healed = db.transaction(() => healInstants(db, inboxInstants, at)).immediate();
        if (healed.callback_epoch !== undefined) addresses.reload();
        return healed;
      },
      touch: () => {
        try {
          db.exec('UPDATE inbox SET pair_id = pair_id');
        } catch (error) {
          throw orSyncFailed(path, error);
        }
      },
      waitForLocks: (ms) => waitForLocks(db, ms),
      stopped: (stopped_path, at) => {
        const { size, modified_at } = sizeAndTime(stopped_path);
        db.prepare('UPDATE inbox SET stopped_at = ?, mirror_size = ?, mirror_modified_at = ?').run(
          at,
          size,
          modified_at,
        );
      },
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

function sizeAndTime(path: string): { size: number | null; modified_at: number | null } {
  const stats = statSync(path, { throwIfNoEntry: false });
  return { size: stats?.size ?? null, modified_at: stats === undefined ? null : Math.trunc(stats.mtimeMs) };
}
