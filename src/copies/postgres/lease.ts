import { type Clock, type Entropy, newId } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Postgres, Statements } from './connect.ts';
import { claimableIn, type LeaseRow, type LeaseTimes, type SeenLease, seenAgain, trustedUntil } from './lease.rules.ts';

/** A leader's term. Compared as a whole: a restored database may give out a number twice, never a holder. */
export interface Term {
  readonly number: number;
  readonly holder: string;
}

/** Leader, as recorded in the database. */
export interface Leader extends LeaseRow {
  /** Name of the instance that leads, or led last; null if none ever has. */
  readonly name: string | null;
  readonly advertise: string | null;
}

/** Facts that decide whether a standby may lead. */
export interface Candidate {
  mayClaim(leader: Leader): boolean;
  /** True if its mirror was equal to the published one. */
  isWarm(): boolean;
}

export interface LeaseOptions {
  readonly database: Postgres;
  readonly times: LeaseTimes;
  readonly instance: { readonly name: string; readonly advertise: string | null };
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Logger;
}

/** A leader that stands still in a transaction is cut off, so that another can lead: far longer than one that works ever waits. */
const standstillMs = 2000;

/** Throws unless the term is the database's; until the transaction ends no other one begins. It can be renewed meanwhile. */
export async function refuseOldTerm(statements: Statements, { number, holder }: Term): Promise<void> {
  await statements.query(`SET LOCAL idle_in_transaction_session_timeout = ${standstillMs}`);
  const [found] = await statements.query('SELECT 1 FROM _leader WHERE term = $1 AND holder = $2 FOR KEY SHARE', [
    number,
    holder,
  ]);
  if (found === undefined) throw new TermOver();
}

/** Another instance leads by now. */
export class TermOver extends Error {
  override readonly name = 'TermOver';
  constructor() {
    super('another instance leads by now');
  }
}

/** The lease of the schema, by which one instance leads at a time. */
export class Lease {
  readonly #options: LeaseOptions;
  /** The highest number known here: a restored database goes on above it. */
  #known = 0;
  #seen: SeenLease | null = null;
  #leader: Leader | null = null;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Returns the leader at the last look; null if nobody has looked since this instance led. */
  seen(): Leader | null {
    return this.#leader;
  }

  /** Waits until nobody else leads, and leads once the candidate may. Rejects with the reason of the signal. */
  async win(
    signal: AbortSignal,
    candidate: Candidate = { mayClaim: () => true, isWarm: () => false },
  ): Promise<Leadership> {
    const { clock, times, log } = this.#options;
    let away = false;
    for (;;) {
      signal.throwIfAborted();
      const won = await this.#attempt(candidate).catch((error: unknown) => {
        if (!away) log.warn({ err: error }, 'the database does not tell who leads');
        away = true;
        return times.renew;
      });
      if (typeof won !== 'number') return won;
      await clock.sleep(won, signal);
    }
  }

  /** Returns the term, or in how many milliseconds to look again. */
  async #attempt({ mayClaim, isWarm }: Candidate): Promise<Leadership | number> {
    const { clock, times } = this.#options;
    const row = await this.#look(isWarm());
    const now = clock.boot();
    this.#seen = seenAgain(this.#seen, row, now);
    const wait = claimableIn(this.#seen, now, times);
    if (wait > 0 || !mayClaim(row)) return Math.min(wait || times.renew, times.renew);
    return (await this.#claim(this.#seen)) ?? times.renew;
  }

  async #look(warm: boolean): Promise<Leader> {
    const { database, instance } = this.#options;
    const [row] = await database.query<Leader>(
      `WITH standing AS (
         INSERT INTO _standby (name, warm) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET seen_at = now(), warm = excluded.warm)
       SELECT term, holder, beat, name, advertise FROM _leader`,
      [instance.name, warm],
    );
    if (row === undefined) throw new Error('the schema has no row in _leader');
    this.#known = Math.max(this.#known, row.term);
    this.#leader = row;
    return row;
  }

  async #claim(found: SeenLease): Promise<Leadership | null> {
    const { database, clock, entropy, instance } = this.#options;
    const holder = newId(entropy);
    const attempt_at = clock.boot();
    const [won] = await database.query<{ term: number }>(
      `UPDATE _leader SET term = greatest(term, $1) + 1, holder = $2, beat = 0, name = $3, advertise = $4
       WHERE term = $5 AND holder IS NOT DISTINCT FROM $6 AND beat = $7 RETURNING term`,
      [this.#known, holder, instance.name, instance.advertise, found.term, found.holder, found.beat],
    );
    if (won === undefined) return null;
    this.#known = won.term;
    // The previous leader says nothing about who leads after this term.
    this.#leader = null;
    this.#seen = null;
    return new Leadership(this.#options, { number: won.term, holder }, attempt_at);
  }
}

/**
 * A term of this process, renewed until it is lost. Disposing resigns, so that another instance need not wait for the end of
 * the lease.
 */
export class Leadership implements AsyncDisposable {
  readonly term: Term;
  readonly #options: LeaseOptions;
  readonly #lost = new AbortController();
  readonly #ending = new AbortController();
  readonly #renewed: Promise<void>;
  /** Until when no other instance can have begun to lead. */
  #until: number;

  constructor(options: LeaseOptions, term: Term, won_at: number) {
    this.#options = options;
    this.term = term;
    this.#until = trustedUntil(won_at, options.times);
    options.log.info({ term: term.number, instance: options.instance.name }, 'this instance leads');
    this.#renewed = this.#renewing();
  }

  /** Aborted when another instance leads, or the database has forgotten this term. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Returns whether no other instance can have begun to lead: called right before anything that only the leader may do. */
  trusted(): boolean {
    return !this.#lost.signal.aborted && !this.#ending.signal.aborted && this.#options.clock.boot() < this.#until;
  }

  /** Returns whether an instance stands by whose mirror was equal to what is published. */
  async hasWarmStandby(): Promise<boolean> {
    const { database, instance, times } = this.#options;
    const [found] = await database.query(
      "SELECT 1 FROM _standby WHERE name <> $1 AND warm AND seen_at > now() - $2 * interval '1 ms' LIMIT 1",
      [instance.name, times.lease],
    );
    return found !== undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { database, log } = this.#options;
    this.#ending.abort();
    await this.#renewed;
    if (this.#lost.signal.aborted) return;
    await database
      .query('UPDATE _leader SET holder = NULL WHERE term = $1 AND holder = $2', [this.term.number, this.term.holder])
      .catch((error: unknown) => log.warn({ err: error }, 'could not resign: others wait for the end of the lease'));
  }

  async #renewing(): Promise<void> {
    const { clock, times, log } = this.#options;
    const stop = AbortSignal.any([this.#ending.signal, this.#lost.signal]);
    let away = false;
    while (!stop.aborted) {
      await clock.sleep(times.renew, stop).catch(() => undefined);
      if (stop.aborted) break;
      try {
        await this.#renew();
        if (away) log.info({ term: this.term.number }, 'the lease is renewed again');
        away = false;
      } catch (error) {
        if (!away) log.warn({ err: error, term: this.term.number }, 'the lease cannot be renewed');
        away = true;
      }
    }
  }

  async #renew(): Promise<void> {
    const { database, clock, times } = this.#options;
    const attempt_at = clock.boot();
    const held = await database.query(
      'UPDATE _leader SET beat = beat + 1 WHERE term = $1 AND holder = $2 RETURNING beat',
      [this.term.number, this.term.holder],
    );
    if (held.length === 0) this.#lost.abort(new TermOver());
    else this.#until = trustedUntil(attempt_at, times);
  }
}
