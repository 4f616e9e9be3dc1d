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
 * The tokens of callback addresses. Each is derived from the master secret, the subscription and an epoch. Only epochs
 * are stored, so reading the file reveals no address. A rotation calls `begin`, sends the address to the service, then
 * calls `announced`. After a kill in between, the epoch whose `announced_at` is null is the one to send.
 */
export interface CallbackAddresses {
  /** Returns the last segment of the callback address: 43 characters. Throws (78) if no master secret is configured. */
  token(subscription_id: string, epoch: number): string;
  /** Returns all stored epochs, including dropped ones. */
  states(): CallbackEpoch[];
  /** Returns the newest epoch, announced or not; creates the first one. */
  current(subscription_id: string, now: Instant): number;
  /** Returns a new epoch, accepted from now on. If the newest one was not announced yet, returns that instead. */
  begin(subscription_id: string, now: Instant): number;
  /**
   * Records that the service has this address. Older addresses are accepted until `now` + `grace_ms`. Repeated calls do
   * not extend that.
   */
  announced(subscription_id: string, epoch: number, now: Instant, grace_ms: number): void;
  /** Returns the subscription and epoch of a token; null: unknown. Takes the same time for any token. */
  recognise(token: string, now: Instant): RecognisedToken | null;
  /** Replaces all stored epochs, because another instance knew the latest ones. */
  adopt(epochs: readonly CallbackEpoch[]): void;
  /** Reads the epochs again after another writer has changed them. */
  reload(): void;
  /**
   * Returns whether the master secret differs from the one of the last start. Then every address that the service knows
   * is invalid.
   */
  masterChanged(): boolean;
}

export type MasterSecret = { reveal(): string } | null;

interface KnownToken {
  readonly state: CallbackEpoch;
  readonly digest: Buffer;
}

/** Returns a function that recognises the tokens of these epochs, which another instance stores. */
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

/** Time for which a token of our own tests is used. It is accepted for as long again. */
const ownTestMs = 3_600_000;

/**
 * Returns the token with which we test our own public address. Nothing can be delivered to it; our receivers only do not
 * count it as a stranger's. It changes, so that a proxy's log does not hold one that can be used later.
 */
export function ownTestToken(master: { reveal(): string }, now: Instant): string {
  return ownTestOf(master, Math.floor(now / ownTestMs));
}

/** Returns whether a token is one of our own tests. Takes the same time for any token. */
export function isOwnTest(master: MasterSecret, token: string, now: Instant): boolean {
  if (master === null) return false;
  const [digest, period] = [digestOf(token), Math.floor(now / ownTestMs)];
  // The clock of another instance may be ahead of ours.
  const known = [period - 1, period, period + 1].map((each) => digestOf(ownTestOf(master, each)));
  return known.filter((each) => timingSafeEqual(each, digest)).length > 0;
}

function ownTestOf(master: { reveal(): string }, period: number): string {
  return keyed(master, `own-test:${period}`).toString('base64url');
}

/**
 * Creates the addresses in a file that this process writes. A changed master secret begins a new epoch for every
 * subscription.
 */
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
 * Compares the master secret with that of the last start. If it has changed, old tokens cannot be recognised any more:
 * each subscription gets a new epoch that is not announced yet. It is stored, so a kill does not lose it.
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
