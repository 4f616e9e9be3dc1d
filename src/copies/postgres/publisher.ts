import type { Clock } from '../../kernel/clock.ts';
import { CataloguedError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
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

/** Keeps PostgreSQL as the mirror is. */
export class Publisher {
  readonly #ports: PublisherPorts;
  #known: Omit<PublicationStatus, 'lag_ms'> = {
    state: null,
    source_number: null,
    published_at: null,
    failing_since: null,
    failure: null,
  };
  #failures = 0;

  constructor(ports: PublisherPorts) {
    this.#ports = ports;
  }

  /** Publishes every so often until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, every } = this.#ports;
    while (!signal.aborted) {
      await this.publishDue();
      const wait = this.#failures === 0 ? every : Math.min(every * 2 ** Math.min(this.#failures, 10), longestMs);
      await clock.sleep(wait, signal).catch(() => undefined);
    }
  }

  /** Publishes what has changed; never throws: what fails is logged once, and tried again. */
  async publishDue(): Promise<void> {
    const { publication, clock, log, published } = this.#ports;
    const { published_at, failing_since } = this.#known;
    const isNoted = failing_since === null && published_at !== null && clock.now() < published_at + noteMs;
    if (isNoted && !publication.isBehind()) return;
    const began = clock.monotonic();
    try {
      const done = await publication.publish();
      if (this.#failures > 0) log.info({ failures: this.#failures }, 'the database is published into again');
      if (Object.keys(done.repaired).length > 0)
        log.warn({ tables: done.repaired }, 'rows in PostgreSQL were not those of the mirror: published again');
      if (done.whole)
        log.info({ rows: done.rows, ms: Math.round(clock.monotonic() - began) }, 'a whole mirror is published');
      this.#failures = 0;
      const { state, source_number, published_at } = done;
      this.#known = { state, source_number, published_at, failing_since: null, failure: null };
      published?.(done);
    } catch (error) {
      const reported = error instanceof CataloguedError ? { reason: error.message, hint: error.hint } : { err: error };
      const failure = error instanceof Error ? error.message : String(error);
      // Once for each reason: what is away stays so for a while.
      if (this.#known.failure !== failure) log.error(reported, 'the mirror is not published');
      this.#failures += 1;
      this.#known = { ...this.#known, failing_since: failing_since ?? clock.now(), failure };
    }
  }

  status(): PublicationStatus {
    const { publication, clock } = this.#ports;
    const { published_at } = this.#known;
    const behind_ms = published_at === null ? null : Math.max(0, clock.now() - published_at);
    return { ...this.#known, lag_ms: behind_ms === null || publication.isBehind() ? behind_ms : 0 };
  }
}
