import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { CataloguedError, exitCodes } from '../errors.ts';
import type { Database } from '../sqlite/database-file.ts';

/** One callback address of a subscription; instants in epoch milliseconds. */
export interface CallbackEpoch {
  readonly subscription_id: string;
  /** Counts up with each rotation. */
  readonly epoch: number;
  /** Accepted from here on. */
  readonly begun_at: number;
  /** When the service was told of it; null: that is still to be done. */
  readonly announced_at: number | null;
  /** Accepted before this instant; null: as long as no newer one was announced. */
  readonly until: number | null;
}

export interface RecognisedToken {
  readonly subscription_id: string;
  readonly epoch: number;
  readonly standing: 'current' | 'grace' | 'dropped';
}

/**
 * The tokens of callback addresses. Each is made of the master secret, the subscription and an epoch; only epochs are
 * stored, so whoever reads the file learns no address. Rotation: `begin`, tell the service, `announced`; after a
 * kill between two of them, the epoch whose `announced_at` is null is the one to tell the service of.
 */
export interface CallbackAddresses {
  /** The last segment of the callback address: 43 characters. Throws where no master secret is configured (78). */
  token(subscription_id: string, epoch: number): string;
  /** All that are remembered, dropped ones too. */
  states(): CallbackEpoch[];
  /** The newest epoch, announced or not; makes the first. */
  current(subscription_id: string, now: number): number;
  /** A new epoch, accepted from now on; the one before where that has not been announced yet. */
  begin(subscription_id: string, now: number): number;
  /** The service knows this address: older ones are accepted until now + grace. May be said again. */
  announced(subscription_id: string, epoch: number, now: number, grace_ms: number): void;
  /** Whose token this is; null: nobody's. Takes the same time whichever it is. */
  recognise(token: string, now: number): RecognisedToken | null;
  /** Reads the epochs again, after something else has changed them. */
  reload(): void;
  /** Whether the master secret is another one than at the last start: every address the service knows is void. */
  masterChanged(): boolean;
}

export type MasterSecret = { reveal(): string } | null;

/** Dropped epochs that are still recognised, so that their use is noticed. */
const droppedKept = 4;

/** The addresses in a file that this process writes. A changed master begins a new epoch for every subscription. */
export function addressesIn(db: Database, master: MasterSecret, now: number): CallbackAddresses {
  const all = db.prepare<[], CallbackEpoch>('SELECT * FROM callback_epoch ORDER BY subscription_id, epoch');
  const newest = db.prepare<[string], CallbackEpoch>(
    'SELECT * FROM callback_epoch WHERE subscription_id = ? ORDER BY epoch DESC LIMIT 1',
  );
  const add = db.prepare<[string, number, number]>(
    'INSERT INTO callback_epoch (subscription_id, epoch, begun_at) VALUES (?, ?, ?)',
  );
  const announce = db.prepare<[number, string, number]>(
    'UPDATE callback_epoch SET announced_at = coalesce(announced_at, ?) WHERE subscription_id = ? AND epoch = ?',
  );
  // Said again, it does not prolong the grace; an end that a clock from 2038 has set is drawn in.
  const endOlder = db.prepare<{ subscription_id: string; epoch: number; until: number }>(
    `UPDATE callback_epoch SET until = min(coalesce(until, @until), @until)
     WHERE subscription_id = @subscription_id AND epoch < @epoch`,
  );
  const forget = db.prepare<{ subscription_id: string; now: number }>(
    `DELETE FROM callback_epoch WHERE (subscription_id, epoch) IN (
       SELECT subscription_id, epoch FROM callback_epoch WHERE subscription_id = @subscription_id AND until <= @now
       ORDER BY epoch DESC LIMIT -1 OFFSET ${droppedKept})`,
  );
  const changed = db.transaction(() => noteMaster(db, master, now)).immediate();
  let known = readKnown();

  function token(subscription_id: string, epoch: number): string {
    if (master === null)
      throw new CataloguedError('no-receiver-secret', 'there is no master secret for the callback addresses', {
        exitCode: exitCodes.configuration,
        hint: 'make one (openssl rand -hex 32, mode 0600) and name it in receiver.secret_file',
      });
    return keyed(master, `callback:${subscription_id}:${epoch}`).toString('base64url');
  }

  function readKnown(): { state: CallbackEpoch; digest: Buffer }[] {
    if (master === null) return [];
    return all.all().map((state) => ({ state, digest: digestOf(token(state.subscription_id, state.epoch)) }));
  }

  function change<Result>(work: () => Result): Result {
    const result = db.transaction(work).immediate();
    known = readKnown();
    return result;
  }

  return {
    token,
    states: () => all.all(),
    current: (subscription_id, at) => {
      const found = newest.get(subscription_id);
      if (found !== undefined) return found.epoch;
      change(() => add.run(subscription_id, 1, at));
      return 1;
    },
    begin: (subscription_id, at) => {
      const last = newest.get(subscription_id);
      if (last !== undefined && last.announced_at === null) return last.epoch;
      const epoch = (last?.epoch ?? 0) + 1;
      change(() => add.run(subscription_id, epoch, at));
      return epoch;
    },
    announced: (subscription_id, epoch, at, grace_ms) =>
      change(() => {
        announce.run(at, subscription_id, epoch);
        endOlder.run({ subscription_id, epoch, until: at + grace_ms });
        forget.run({ subscription_id, now: at });
      }),
    recognise: (given, at) => {
      const digest = digestOf(given);
      let found: CallbackEpoch | null = null;
      for (const each of known) if (timingSafeEqual(each.digest, digest)) found = each.state;
      if (found === null) return null;
      const { subscription_id, epoch, until } = found;
      return { subscription_id, epoch, standing: until === null ? 'current' : at < until ? 'grace' : 'dropped' };
    },
    reload: () => {
      known = readKnown();
    },
    masterChanged: () => changed,
  };
}

/**
 * Compares the master with the one of the last start. With another one the old tokens cannot even be recognised:
 * each subscription gets an epoch that is still to be announced, which a kill does not forget.
 */
function noteMaster(db: Database, master: MasterSecret, now: number): boolean {
  if (master === null) return false;
  const fingerprint = keyed(master, 'fingerprint').toString('hex').slice(0, 16);
  const stored = db.prepare<[], string | null>('SELECT master_fingerprint FROM inbox').pluck().get() ?? null;
  if (stored === fingerprint) return false;
  db.prepare('UPDATE inbox SET master_fingerprint = ?').run(fingerprint);
  if (stored === null) return false;
  db.prepare(
    `INSERT INTO callback_epoch (subscription_id, epoch, begun_at)
     SELECT subscription_id, max(epoch) + 1, ? FROM callback_epoch GROUP BY subscription_id`,
  ).run(now);
  db.exec(
    `DELETE FROM callback_epoch AS old WHERE EXISTS (
       SELECT 1 FROM callback_epoch newer WHERE newer.subscription_id = old.subscription_id AND newer.epoch > old.epoch)`,
  );
  return true;
}

function keyed(master: { reveal(): string }, message: string): Buffer {
  return createHmac('sha256', master.reveal()).update(message).digest();
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
