import { type Clock, type Entropy, newId } from '../clock.ts';
import {
  claimableIn,
  type LeaseRow,
  type LeaseTimes,
  type SeenLease,
  seenAgain,
  trustedUntil,
} from '../domain/leadership/lease.ts';
import type { Logger } from '../log.ts';
import type { Postgres, Statements } from './connect.ts';

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

/** A term of this process. Disposing resigns, so that another instance need not wait for the end of the lease. */
export interface Leadership extends AsyncDisposable {
  readonly term: Term;
  /** Returns whether no other instance can have begun to lead: called right before anything that only the leader may do. */
  trusted(): boolean;
  /** Aborted when another instance leads, or the database has forgotten this term. */
  readonly lost: AbortSignal;
  /** Returns whether an instance stands by whose mirror was equal to what is published. */
  hasWarmStandby(): Promise<boolean>;
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
  readonly clock: Pick<Clock, 'boot' | 'sleep'>;
  readonly entropy: Entropy;
  readonly log: Logger;
}

export interface Lease {
  /** Returns the leader at the last look; null if nobody has looked since this instance led. */
  seen(): Leader | null;
  /** Waits until nobody else leads, and leads once the candidate may. Rejects with the reason of the signal. */
  win(signal: AbortSignal, candidate?: Candidate): Promise<Leadership>;
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

export function leaseIn(options: LeaseOptions): Lease {
  const { database, times, clock, log } = options;
  /** The highest number known here: a restored database goes on above it. */
  let known = 0;
  let seen: SeenLease | null = null;
  let leader: Leader | null = null;

  async function look(warm: boolean): Promise<Leader> {
    const [row] = await database.query<Leader>(
      `WITH standing AS (
         INSERT INTO _standby (name, warm) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET seen_at = now(), warm = excluded.warm)
       SELECT term, holder, beat, name, advertise FROM _leader`,
      [options.instance.name, warm],
    );
    if (row === undefined) throw new Error('the schema has no row in _leader');
    known = Math.max(known, row.term);
    leader = row;
    return row;
  }

  async function claim(found: SeenLease): Promise<Leadership | null> {
    const holder = newId(options.entropy);
    const { name, advertise } = options.instance;
    const attempt_at = clock.boot();
    const [won] = await database.query<{ term: number }>(
      `UPDATE _leader SET term = greatest(term, $1) + 1, holder = $2, beat = 0, name = $3, advertise = $4
       WHERE term = $5 AND holder IS NOT DISTINCT FROM $6 AND beat = $7 RETURNING term`,
      [known, holder, name, advertise, found.term, found.holder, found.beat],
    );
    if (won === undefined) return null;
    known = won.term;
    // The previous leader says nothing about who leads after this term.
    leader = null;
    seen = null;
    return lead(options, { number: won.term, holder }, attempt_at);
  }

  /** Returns the term, or in how many milliseconds to look again. */
  async function attempt({ mayClaim, isWarm }: Candidate): Promise<Leadership | number> {
    const row = await look(isWarm());
    const now = clock.boot();
    seen = seenAgain(seen, row, now);
    const wait = claimableIn(seen, now, times);
    if (wait > 0 || !mayClaim(row)) return Math.min(wait || times.renew, times.renew);
    return (await claim(seen)) ?? times.renew;
  }

  return {
    seen: () => leader,
    win: async (signal, candidate = { mayClaim: () => true, isWarm: () => false }) => {
      let away = false;
      for (;;) {
        signal.throwIfAborted();
        const won = await attempt(candidate).catch((error: unknown) => {
          if (!away) log.warn({ err: error }, 'the database does not tell who leads');
          away = true;
          return times.renew;
        });
        if (typeof won !== 'number') return won;
        await clock.sleep(won, signal);
      }
    },
  };
}

/** Renews a term until it is lost or disposed of. */
function lead({ database, times, clock, log, instance }: LeaseOptions, term: Term, won_at: number): Leadership {
  const lost = new AbortController();
  const ending = new AbortController();
  let until = trustedUntil(won_at, times);
  const trusted = () => !lost.signal.aborted && !ending.signal.aborted && clock.boot() < until;

  async function renew(): Promise<void> {
    const attempt_at = clock.boot();
    const held = await database.query(
      'UPDATE _leader SET beat = beat + 1 WHERE term = $1 AND holder = $2 RETURNING beat',
      [term.number, term.holder],
    );
    if (held.length === 0) lost.abort(new TermOver());
    else until = trustedUntil(attempt_at, times);
  }

  async function renewing(): Promise<void> {
    const stop = AbortSignal.any([ending.signal, lost.signal]);
    let away = false;
    while (!stop.aborted) {
      await clock.sleep(times.renew, stop).catch(() => undefined);
      if (stop.aborted) break;
      try {
        await renew();
        if (away) log.info({ term: term.number }, 'the lease is renewed again');
        away = false;
      } catch (error) {
        if (!away) log.warn({ err: error, term: term.number }, 'the lease cannot be renewed');
        away = true;
      }
    }
  }

  log.info({ term: term.number, instance: instance.name }, 'this instance leads');
  const renewed = renewing();
  return {
    term,
    trusted,
    lost: lost.signal,
    hasWarmStandby: async () => {
      const [found] = await database.query(
        "SELECT 1 FROM _standby WHERE name <> $1 AND warm AND seen_at > now() - $2 * interval '1 ms' LIMIT 1",
        [instance.name, times.lease],
      );
      return found !== undefined;
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await renewed;
      if (lost.signal.aborted) return;
      await database
        .query('UPDATE _leader SET holder = NULL WHERE term = $1 AND holder = $2', [term.number, term.holder])
        .catch((error: unknown) => log.warn({ err: error }, 'could not resign: others wait for the end of the lease'));
    },
  };
}
