import type { Clock } from '../clock.ts';
import { CataloguedError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Finished, Publication } from './publication.ts';

/** Progress of publication to PostgreSQL, as the running daemon knows it. */
export interface PublicationStatus {
  /** Last published state; null if this process has published none yet. */
  readonly state: number | null;
  /** Newest number of the mirror's rows that is published; null as above. */
  readonly source_number: number | null;
  /** Epoch milliseconds at which the mirror was as PostgreSQL is now; null if nothing was published by this process. */
  readonly published_at: number | null;
  /** Instant since which publishing fails; null if it does not fail. */
  readonly failing_since: number | null;
  readonly failure: string | null;
  /** Age of the published data in milliseconds; 0: nothing changed since; null: this process published nothing. */
  readonly lag_ms: number | null;
}

/** Keeps PostgreSQL as the mirror is. */
export interface Publisher {
  /** Publishes what has changed; never throws: what fails is logged once, and tried again. */
  publishDue(): Promise<void>;
  /** Publishes every so often until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
  status(): PublicationStatus;
}

export interface PublisherPorts {
  readonly publication: Publication;
  readonly clock: Clock;
  readonly log: Logger;
  /** In milliseconds. */
  readonly every: number;
  /** Called after each publication. */
  readonly published?: (done: Finished) => void;
}

/** While nothing changes, the age of what is published is noted this often. */
const noteMs = 5000;
/** The longest wait before a database that is away is asked again. */
const longestMs = 15_000;

export function keepPublishing({
  publication,
  clock,
  log,
  every,
  published = () => undefined,
}: PublisherPorts): Publisher {
  let known: Omit<PublicationStatus, 'lag_ms'> = {
    state: null,
    source_number: null,
    published_at: null,
    failing_since: null,
    failure: null,
  };
  let failures = 0;

  async function publishDue(): Promise<void> {
    const { published_at, failing_since } = known;
    if (
      failing_since === null &&
      published_at !== null &&
      clock.now() < published_at + noteMs &&
      !publication.isBehind()
    )
      return;
    const began = clock.monotonic();
    try {
      const done = await publication.publish();
      if (failures > 0) log.info({ failures }, 'the database is published into again');
      if (Object.keys(done.repaired).length > 0)
        log.warn({ tables: done.repaired }, 'rows in PostgreSQL were not those of the mirror: published again');
      if (done.whole)
        log.info({ rows: done.rows, ms: Math.round(clock.monotonic() - began) }, 'a whole mirror is published');
      failures = 0;
      const { state, source_number, published_at } = done;
      known = { state, source_number, published_at, failing_since: null, failure: null };
      published(done);
    } catch (error) {
      const told = error instanceof CataloguedError ? { reason: error.message, hint: error.hint } : { err: error };
      const failure = error instanceof Error ? error.message : String(error);
      // Once for each reason: what is away stays so for a while.
      if (known.failure !== failure) log.error(told, 'the mirror is not published');
      failures += 1;
      known = { ...known, failing_since: known.failing_since ?? clock.now(), failure };
    }
  }

  return {
    publishDue,
    run: async (signal) => {
      while (!signal.aborted) {
        await publishDue();
        const wait = failures === 0 ? every : Math.min(every * 2 ** Math.min(failures, 10), longestMs);
        await clock.sleep(wait, signal).catch(() => undefined);
      }
    },
    status: () => {
      const { published_at } = known;
      const lag_ms =
        published_at === null ? null : publication.isBehind() ? Math.max(0, clock.now() - published_at) : 0;
      return { ...known, lag_ms };
    },
  };
}
