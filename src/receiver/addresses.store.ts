import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { type Instant, instant } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import type { Database } from '../kernel/sqlite/database-file.ts';
import { type Bound, type Writes, writesTo } from '../kernel/sqlite/statements.ts';
import { type CallbackEpoch, EpochTable } from './epochs.store.ts';
import { query } from './tables.ts';

export interface RecognisedToken {
  readonly subscription_id: string;
  readonly epoch: number;
  readonly standing: 'current' | 'grace' | 'dropped';
}

export type MasterSecret = { reveal(): string } | null;

interface KnownToken {
  readonly state: CallbackEpoch;
  readonly digest: Buffer;
}

/** Time for which a token of our own tests is used. It is accepted for as long again. */
const ownTestMs = 3_600_000;

/** The callback addresses that are recognised, and the tests of our own. */
export class KnownAddresses {
  protected readonly master: MasterSecret;
  #known: readonly KnownToken[] = [];

  constructor(master: MasterSecret) {
    this.master = master;
  }

  /** Recognises the tokens of these epochs, and no others. */
  know(epochs: readonly CallbackEpoch[]): void {
    const { master } = this;
    if (master === null) return;
    this.#known = epochs.map((state) => ({
      state,
      digest: digestOf(tokenOf(master, state.subscription_id, state.epoch)),
    }));
  }

  /** Returns the subscription and epoch of a token; null: unknown. Takes the same time for any token. */
  recognise(token: string, now: Instant): RecognisedToken | null {
    const digest = digestOf(token);
    let found: CallbackEpoch | null = null;
    for (const each of this.#known) if (timingSafeEqual(each.digest, digest)) found = each.state;
    if (found === null) return null;
    const { subscription_id, epoch, until } = found;
    return { subscription_id, epoch, standing: until === null ? 'current' : now < until ? 'grace' : 'dropped' };
  }

  /**
   * Returns whether a token is one of our own tests (`ownTestToken`), which is refused but not counted or logged. Takes the
   * same time for any token.
   */
  isOwnTest(token: string, now: Instant): boolean {
    const { master } = this;
    if (master === null) return false;
    const [digest, period] = [digestOf(token), Math.floor(now / ownTestMs)];
    // The clock of another instance may be ahead of ours.
    const known = [period - 1, period, period + 1].map((each) => digestOf(ownTestOf(master, each)));
    return known.filter((each) => timingSafeEqual(each, digest)).length > 0;
  }
}

/**
 * The tokens of callback addresses, in a file that this process writes. Each is derived from the master secret, the
 * subscription and an epoch. Only epochs are stored, so reading the file reveals no address. A rotation calls `begin`, sends
 * the address to the service, then calls `announced`. After a kill in between, the epoch whose `announced_at` is null is the
 * one to send.
 */
export class CallbackAddresses extends KnownAddresses {
  readonly #db: Writes;
  readonly #epochs: EpochTable;
  readonly #changed: boolean;

  constructor(file: Database, master: MasterSecret, now: Instant) {
    super(master);
    this.#db = writesTo(file);
    this.#epochs = new EpochTable(this.#db);
    this.#changed = this.#db.transaction(() => this.#noteMaster(now));
    this.reload();
  }

  /** Returns the last segment of the callback address: 43 characters. Throws (78) if no master secret is configured. */
  token(subscription_id: string, epoch: number): string {
    if (this.master === null)
      throw new CataloguedError('no-receiver-secret', 'there is no master secret for the callback addresses', {
        exitCode: exitCodes.configuration,
        hint: 'make one (openssl rand -hex 32, mode 0600) and name it in receiver.secret_file',
      });
    return tokenOf(this.master, subscription_id, epoch);
  }

  /** Returns all stored epochs, including dropped ones. */
  states(): CallbackEpoch[] {
    return this.#epochs.all();
  }

  /** Returns the newest epoch, announced or not; creates the first one. */
  current(subscription_id: string, now: Instant): number {
    const found = this.#epochs.newest({ subscription_id });
    if (found !== null) return found.epoch;
    this.#change(() => this.#epochs.add({ subscription_id, epoch: 1, begun_at: now }));
    return 1;
  }

  /** Returns a new epoch, accepted from now on. If the newest one was not announced yet, returns that instead. */
  begin(subscription_id: string, now: Instant): number {
    const last = this.#epochs.newest({ subscription_id });
    if (last !== null && last.announced_at === null) return last.epoch;
    const epoch = (last?.epoch ?? 0) + 1;
    this.#change(() => this.#epochs.add({ subscription_id, epoch, begun_at: now }));
    return epoch;
  }

  /**
   * Records that the service has this address. Older addresses are accepted until `now` + `grace_ms`. Repeated calls do
   * not extend that.
   */
  announced(subscription_id: string, epoch: number, now: Instant, grace_ms: number): void {
    this.#change(() => {
      this.#epochs.announced({ subscription_id, epoch, at: now });
      this.#epochs.endOlder({ subscription_id, epoch, until: instant(now + grace_ms) });
      this.#epochs.forgetDropped({ subscription_id, now });
    });
  }

  /** Replaces all stored epochs, because another instance knew the latest ones. */
  adopt(epochs: readonly CallbackEpoch[]): void {
    this.#change(() => this.#epochs.replace(epochs));
  }

  /** Reads the epochs again after another writer has changed them. */
  reload(): void {
    this.know(this.#epochs.all());
  }

  /**
   * Returns whether the master secret differs from the one of the last start. Then every address that the service knows is
   * invalid, and each subscription has a new epoch.
   */
  masterChanged(): boolean {
    return this.#changed;
  }

  #change(work: () => void): void {
    this.#db.transaction(work);
    this.reload();
  }

  /**
   * Compares the master secret with that of the last start. If it has changed, old tokens cannot be recognised any more:
   * each subscription gets a new epoch that is not announced yet. It is stored, so a kill does not lose it.
   */
  #noteMaster(now: Instant): boolean {
    if (this.master === null) return false;
    const fingerprint = keyed(this.master, 'fingerprint').toString('hex').slice(0, 16);
    const known = this.#db.value(() => query.selectFrom('inbox').select('master_fingerprint'))();
    if (known === fingerprint) return false;
    const note = this.#db.change(({ to }: Bound<{ to: string }>) =>
      query.updateTable('inbox').set({ master_fingerprint: to }),
    );
    note({ to: fingerprint });
    if (known === null) return false;
    this.#epochs.beginAll(now);
    return true;
  }
}

/**
 * Returns the token with which we test our own public address. Nothing can be delivered to it; our receivers only do not
 * count it as a stranger's. It changes, so that a proxy's log does not hold one that can be used later.
 */
export function ownTestToken(master: { reveal(): string }, now: Instant): string {
  return ownTestOf(master, Math.floor(now / ownTestMs));
}

function ownTestOf(master: { reveal(): string }, period: number): string {
  return keyed(master, `own-test:${period}`).toString('base64url');
}

function tokenOf(master: { reveal(): string }, subscription_id: string, epoch: number): string {
  return keyed(master, `callback:${subscription_id}:${epoch}`).toString('base64url');
}

function keyed(master: { reveal(): string }, message: string): Buffer {
  return createHmac('sha256', master.reveal()).update(message).digest();
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
