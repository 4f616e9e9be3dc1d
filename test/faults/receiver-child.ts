import { join } from 'node:path';
import { systemClock } from '../../src/kernel/clock.ts';
import { CataloguedError, exitCodes } from '../../src/kernel/errors.ts';
import { createLog } from '../../src/kernel/log.ts';
import { openForWriting } from '../../src/kernel/sqlite/database-file.ts';
import { SyncFailed } from '../../src/kernel/sqlite/failed-sync.ts';
import { CallbackAddresses } from '../../src/receiver/addresses.store.ts';
import { Deliveries } from '../../src/receiver/deliveries.store.ts';
import type { Received } from '../../src/receiver/delivery.ts';
import { inboxFile, openInbox } from '../../src/receiver/inbox.ts';
import { InboxDesk } from '../../src/receiver/inbox-desk.ts';
import { startReceiver } from '../../src/receiver/receiver.ts';
import type { ChildMode } from './child.ts';

/*
 * The inbox and the receiver alone, to be killed, starved and traced: `node receiver-child.ts DIRECTORY MODE`. Prints
 * one line of JSON when it listens, ends with its standard input, and with 74 where the disk has failed it.
 */
const [directory = '.', mode = 'honest'] = process.argv.slice(2) as [string, ChildMode];
const path = join(directory, 'inbox.db');
const now = systemClock.now();
const master = { reveal: () => 'master of the fault harness' };
const log = createLog('error', process.stderr);

function opened(): { deliveries: Deliveries; addresses: CallbackAddresses } {
  if (mode === 'traced' || mode === 'traced-normal') {
    const db = openForWriting(path, { ...inboxFile, wal_autocheckpoint: 60 });
    // The control: better-sqlite3's own default, which loses commits with the power.
    if (mode === 'traced-normal') db.pragma('synchronous = NORMAL');
    db.exec(`INSERT OR IGNORE INTO inbox (inbox_id, pair_id) VALUES (1, 'pair')`);
    return { deliveries: new Deliveries(db), addresses: new CallbackAddresses(db, master, now) };
  }
  return openInbox(path, { master, now });
}

/** Ends as `main` does. */
function fail(error: unknown): never {
  process.stderr.write(`${String(error)}\n`);
  if (error instanceof CataloguedError) process.exit(error.exitCode);
  process.exit(/^SQLITE_(FULL|IOERR)/.test(String((error as { code?: unknown }).code)) ? exitCodes.io : exitCodes.bug);
}

try {
  const { deliveries, addresses } = opened();
  // The controls: one answers before it commits, one hides that it could not.
  const stores: Partial<Record<ChildMode, Deliveries['store']>> = {
    early: (group) => void setTimeout(() => deliveries.store(group), 20),
    deaf: (group) => {
      try {
        deliveries.store(group);
      } catch {
        // Nobody is told.
      }
    },
  };
  const desk = new InboxDesk(stores[mode] ?? ((group) => deliveries.store(group)), systemClock, log);
  const keep = async (delivery: Received) => {
    try {
      await desk.keep(delivery);
    } catch (error) {
      // The disk has lost a write: the sender is answered, and then this ends.
      if (error instanceof SyncFailed) void receiver[Symbol.asyncDispose]().then(() => fail(error));
      throw error;
    }
  };
  const receiver = await startReceiver({
    listen: '127.0.0.1:0',
    public_url: 'http://a/hooks',
    allow: [],
    trusted_proxies: [],
    addresses,
    desk: { keep },
    clock: systemClock,
    log,
  });
  const token = addresses.token('norland', addresses.current('norland', now));
  const { port } = new URL(receiver.address);
  process.stdout.write(`${JSON.stringify({ pid: process.pid, port: Number(port), path: `/hooks/${token}` })}\n`);
  process.stdin.resume().on('end', () => process.exit(0));
} catch (error) {
  fail(error);
}
