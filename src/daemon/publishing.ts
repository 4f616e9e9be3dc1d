import type { Secret } from '../config/secrets.ts';
import { PublishedRows } from '../copies/follow/published-rows.ts';
import { SourceAway } from '../copies/follow/source.ts';
import { connectPostgres, type Postgres } from '../copies/postgres/connect.ts';
import { isAway } from '../copies/postgres/errors.ts';
import { refuseOldTerm } from '../copies/postgres/lease.ts';
import { type Finished, Publication } from '../copies/postgres/publication.ts';
import { Publisher } from '../copies/postgres/publisher.ts';
import type { PublishedState } from '../copies/postgres/schema.ts';
import { watchDatabase } from '../copies/postgres/watch.ts';
import type { BegunAnew, RowPage, RowPages, RowQuestion } from '../feed/pages.store.ts';
import { type Clock, newId } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import type { DatabaseFacts } from '../says/conditions/facts.rules.ts';
import type { DatabaseStatus } from '../says/status/daemon-status.ts';
import type { Mirroring } from './mirroring.ts';
import type { Sharing } from './sharing/sharing.ts';

/** Milliseconds for which a caller waits for publication, and between two checks of it. */
const patienceMs = 10_000;
const lookMs = 20;
/** Milliseconds between two publications: readers of PostgreSQL see a change within a second. */
const publishEveryMs = 250;
/**
 * Milliseconds between two inspections of the database, after a failed one, and for which one may take. Two fail within the
 * ten seconds after which the condition is shown.
 */
const watchMs = { usual: 2000, failed: 500, patience: 3000 } as const;

/**
 * Publishes the mirror into PostgreSQL until it is disposed of, and then once more with the daemon's last changes.
 * Null: no database is configured, and its driver is not loaded. A malformed URL is refused (78).
 */
export async function startPublishing(mirroring: Mirroring, url: Secret | null): Promise<Publishing | null> {
  if (url === null) return null;
  const { schema } = mirroring.config.database;
  const { clock } = mirroring.sync;
  await using stack = new AsyncDisposableStack();
  const answer = { at: clock.now() as number };
  const options = { url: url.reveal(), schema, connections: 1 };
  const answered = () => {
    answer.at = clock.now();
  };
  const postgres = stack.use(await connectPostgres({ ...options, answered }));
  // Apart: a publication may take long, an inspection may not.
  const watched = stack.use(await connectPostgres({ ...options, patience_ms: watchMs.patience, answered }));
  // Apart: no publication waits for what followers ask.
  const followers = stack.use(await connectPostgres(options));
  return new Publishing(mirroring, { postgres, watched, followers, answer, stack: stack.move() });
}

interface Connections {
  readonly postgres: Postgres;
  readonly watched: Postgres;
  readonly followers: Postgres;
  /** Instant of the last answer of the database. */
  readonly answer: { readonly at: number };
  /** Closes them. */
  readonly stack: AsyncDisposableStack;
}

export class Publishing implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #sharing: Sharing | null;
  readonly #connections: Connections;
  readonly #rows: PublishedRows;
  readonly #publisher: Publisher;
  readonly #stopping = new AbortController();
  readonly #stack: AsyncDisposableStack;
  /** Null: the facts are unknown. */
  #facts: DatabaseFacts | null = null;
  /** Reason for which the database does not answer; null: it does. */
  #silence: string | null = null;

  constructor({ config, mirror, sync, sharing, writer }: Mirroring, connections: Connections) {
    const { clock, entropy, log } = sync;
    const { schema } = config.database;
    const { postgres, followers, stack } = connections;
    this.#clock = clock;
    this.#sharing = sharing;
    this.#connections = connections;
    this.#stack = stack;
    this.#rows = new PublishedRows(followers, schema, 'all');
    const publication = stack.use(
      new Publication({
        postgres,
        schema,
        mirror_path: mirror.path,
        now: clock.now,
        newOrigin: () => newId(entropy),
        ...(sharing === null
          ? {}
          : { fence: (statements) => refuseOldTerm(statements, sharing.leadership.term), begun: sharing.begun }),
      }),
    );
    const published = ({ change }: Finished) => {
      if (sharing !== null) writer.soon('told', () => mirror.transaction(() => mirror.changes.tell(change)));
    };
    this.#publisher = new Publisher({ publication, clock, log, every: publishEveryMs, published });
    const running = [this.#publisher.run(this.#stopping.signal), this.#watch()];
    stack.defer(async () => {
      this.#stopping.abort();
      await Promise.all(running);
      await this.#publisher.publishDue();
    });
  }

  status(): DatabaseStatus {
    const { state, published_at, lag_ms, ...publishing } = this.#publisher.status();
    // Behind a pooler with one connection an inspection waits for a publication, which is answered meanwhile.
    const silent_since = this.#silence === null ? null : this.#connections.answer.at;
    const since = [publishing.failing_since, silent_since].filter((each) => each !== null);
    const failing_since = since.length === 0 ? null : Math.min(...since);
    const failure = publishing.failure ?? this.#silence;
    const leads = this.#sharing && { name: this.#sharing.name, term: this.#sharing.leadership.term.number };
    const { standbys = null, unsynchronised = 0, vacuum_held_ms = 0 } = this.#facts ?? {};
    return { state, published_at, lag_ms, failing_since, failure, leads, standbys, unsynchronised, vacuum_held_ms };
  }

  /**
   * Resolves when the mirror's rows up to a number are published. Throws `not-published` if that takes too long.
   * Resolves at once if there is no other instance.
   */
  async told(number: number, signal: AbortSignal): Promise<void> {
    const until = this.#clock.monotonic() + patienceMs;
    while (this.#sharing !== null && (this.#publisher.status().source_number ?? -1) < number) {
      if (this.#clock.monotonic() >= until) throw notPublished();
      await this.#clock.sleep(lookMs, signal);
    }
  }

  /** Returns a page for a follower: where other instances stand by, of what is published, which all of them know. */
  rows(question: RowQuestion, own: RowPages): Promise<RowPage | BegunAnew> | RowPage | BegunAnew {
    if (this.#sharing === null) return own.after(question, this.#clock.now());
    return this.#ofPublished(this.#rows.after(question));
  }

  /**
   * Returns the published state, which a copy that is made now has, or a newer one: a follower that begins with the copy goes
   * on from there at whichever instance leads. Null: there is no other instance.
   */
  async standing(): Promise<PublishedState | null> {
    if (this.#sharing === null) return null;
    const published = await this.#ofPublished(this.#rows.published());
    if (published === null) throw notPublished();
    return { origin: published.origin, state: published.state };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  async #ofPublished<Result>(reading: Promise<Result>): Promise<Result> {
    try {
      return await reading;
    } catch (error) {
      const isEmpty = error instanceof CataloguedError && error.code === 'nothing-published';
      throw isEmpty || error instanceof SourceAway ? notPublished() : error;
    }
  }

  async #watch(): Promise<void> {
    const { watched } = this.#connections;
    while (!this.#stopping.signal.aborted) {
      try {
        this.#facts = await watchDatabase(watched, this.#sharing?.name ?? null);
        this.#silence = null;
      } catch (error) {
        // A publication would notice only after its own patience that nothing is answered.
        this.#facts = null;
        this.#silence = isAway(error) ? (error as Error).message : null;
      }
      const wait = this.#silence === null ? watchMs.usual : watchMs.failed;
      await this.#clock.sleep(wait, this.#stopping.signal).catch(() => undefined);
    }
  }
}

function notPublished(): CataloguedError {
  return new CataloguedError('not-published', 'the database does not take what other instances would have to know', {
    exitCode: exitCodes.retryLater,
    hint: 'ask again when it does: catalogued status',
  });
}
