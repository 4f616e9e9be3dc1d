import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { type Instant, instant } from '../clock.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import type { Database } from '../sqlite/database-file.ts';
import { type Bound, type Writes, writesTo } from '../sqlite/statements.ts';
import { type CallbackEpoch, type EpochTable, epochTable } from './epochs.ts';
import { query } from './tables.ts';

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
  /** Returns the newest epoch, announced or not; makes the first. */
  current(subscription_id: string, now: Instant): number;
  /** A new epoch, accepted from now on; the one before where that has not been announced yet. */
  begin(subscription_id: string, now: Instant): number;
  /** The service knows this address: older ones are accepted until now + grace. May be said again. */
  announced(subscription_id: string, epoch: number, now: Instant, grace_ms: number): void;
  /** Whose token this is; null: nobody's. Takes the same time whichever it is. */
  recognise(token: string, now: Instant): RecognisedToken | null;
  /** Replaces all that are remembered: another instance was the last to know. */
  adopt(epochs: readonly CallbackEpoch[]): void;
  /** Reads the epochs again, after something else has changed them. */
  reload(): void;
  /** Tells whether the master secret is another one than at the last start: every address the service knows is void. */
  masterChanged(): boolean;
}

export type MasterSecret = { reveal(): string } | null;

interface KnownToken {
  readonly state: CallbackEpoch;
  readonly digest: Buffer;
}

/** Recognises the tokens of these epochs, which somebody else keeps. */
export function recogniser(master: MasterSecret, epochs: readonly CallbackEpoch[]): CallbackAddresses['recognise'] {
  const known = knownTokens(master, epochs);
  return (token, now) => recognisedAmong(known, token, now);
}

function knownTokens(master: MasterSecret, epochs: readonly CallbackEpoch[]): readonly KnownToken[] {
  if (master === null) return [];
  return epochs.map((state) => ({ state, digest: digestOf(tokenOf(master, state.subscription_id, state.epoch)) }));
}

function recognisedAmong(known: readonly KnownToken[], given: string, at: Instant): RecognisedToken | null {
  const digest = digestOf(given);
  let found: CallbackEpoch | null = null;
  for (const each of known) if (timingSafeEqual(each.digest, digest)) found = each.state;
  if (found === null) return null;
  const { subscription_id, epoch, until } = found;
  return { subscription_id, epoch, standing: until === null ? 'current' : at < until ? 'grace' : 'dropped' };
}

function tokenOf(master: { reveal(): string }, subscription_id: string, epoch: number): string {
  return keyed(master, `callback:${subscription_id}:${epoch}`).toString('base64url');
}

/** The addresses in a file that this process writes. A changed master begins a new epoch for every subscription. */
export function addressesIn(file: Database, master: MasterSecret, now: Instant): CallbackAddresses {
  const db = writesTo(file);
  const epochs = epochTable(db);
  const changed = db.transaction(() => noteMaster(db, epochs, master, now));
  let known = readKnown();

  function token(subscription_id: string, epoch: number): string {
    if (master === null)
      throw new CataloguedError('no-receiver-secret', 'there is no master secret for the callback addresses', {
        exitCode: exitCodes.configuration,
        hint: 'make one (openssl rand -hex 32, mode 0600) and name it in receiver.secret_file',
      });
    return tokenOf(master, subscription_id, epoch);
  }

  function readKnown(): readonly KnownToken[] {
    return knownTokens(master, epochs.all());
  }

  function change<Result>(work: () => Result): Result {
    const result = db.transaction(work);
    known = readKnown();
    return result;
  }

  return {
    token,
    states: () => epochs.all(),
    current: (subscription_id, at) => {
      const found = epochs.newest(subscription_id);
      if (found !== undefined) return found.epoch;
      change(() => epochs.add(subscription_id, 1, at));
      return 1;
    },
    begin: (subscription_id, at) => {
      const last = epochs.newest(subscription_id);
      if (last !== undefined && last.announced_at === null) return last.epoch;
      const epoch = (last?.epoch ?? 0) + 1;
      change(() => epochs.add(subscription_id, epoch, at));
      return epoch;
    },
    announced: (subscription_id, epoch, at, grace_ms) =>
      change(() => {
        epochs.announced(subscription_id, epoch, at);
        epochs.endOlder(subscription_id, epoch, instant(at + grace_ms));
        epochs.forgetDropped(subscription_id, at);
      }),
    recognise: (given, at) => recognisedAmong(known, given, at),
    adopt: (given) => change(() => epochs.replace(given)),
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
function noteMaster(db: Writes, epochs: EpochTable, master: MasterSecret, now: Instant): boolean {
  if (master === null) return false;
  const fingerprint = keyed(master, 'fingerprint').toString('hex').slice(0, 16);
  const known = db.values(() => query.selectFrom('inbox').select('master_fingerprint')).get() ?? null;
  if (known === fingerprint) return false;
  db.change(({ to }: Bound<{ to: string }>) => query.updateTable('inbox').set({ master_fingerprint: to })).run({
    to: fingerprint,
  });
  if (known === null) return false;
  epochs.beginAll(now);
  return true;
}

function keyed(master: { reveal(): string }, message: string): Buffer {
  return createHmac('sha256', master.reveal()).update(message).digest();
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
