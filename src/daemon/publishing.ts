import { newId } from '../clock.ts';
import type { Secret } from '../config/secrets.ts';
import { connectPostgres, type Statements } from '../database/connect.ts';
import { isAway } from '../database/errors.ts';
import { refuseOldTerm } from '../database/lease.ts';
import { publicationOf } from '../database/publication.ts';
import { rowsAfter, rowsOfKeys } from '../database/published-rows.ts';
import { keepPublishing } from '../database/publisher.ts';
import { type Published, publishedIn } from '../database/schema.ts';
import { watchDatabase } from '../database/watch.ts';
import type { DatabaseFacts } from '../domain/conditions/facts.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { begunAnew, type PublishedPage, type RowPages, type RowQuestion } from '../mirror/rows/pages.ts';
import type { DatabaseStatus } from '../status/daemon-status.ts';
import type { Mirroring } from './mirroring.ts';

export interface Publishing extends AsyncDisposable {
  status(): DatabaseStatus;
  /**
   * Resolves when the mirror's rows up to a number are published. Throws `not-published` if that takes too long.
   * Resolves at once if there is no other instance.
   */
  told(number: number, signal: AbortSignal): Promise<void>;
  /**
   * Returns a page for a follower. Where other instances stand by it is of what is published: a follower that began with a
   * copy of this instance's file is brought to a published state first, and goes on at whichever instance leads.
   */
  rows(question: RowQuestion, own: RowPages, signal: AbortSignal): Promise<PublishedPage>;
}

/** Milliseconds for which a caller waits for publication, and between two checks of it. */
const patienceMs = 10_000;
const lookMs = 20;
/** A follower that lacks more rows of the file is given these first. */
const mostBrought = 5000;
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
export async function startPublishing(
  { config, mirror, sync, sharing, writer }: Mirroring,
  url: Secret | null,
): Promise<Publishing | null> {
  if (url === null) return null;
  const { schema } = config.database;
  await using stack = new AsyncDisposableStack();
  const { clock, entropy, log } = sync;
  let answered_at: number = clock.now();
  const answered = () => {
    answered_at = clock.now();
  };
  const postgres = stack.use(await connectPostgres({ url: url.reveal(), schema, connections: 1, answered }));
  // Apart: a publication may take long, an inspection may not.
  const watchdog = stack.use(
    await connectPostgres({ url: url.reveal(), schema, connections: 1, patience_ms: watchMs.patience, answered }),
  );
  // Apart: no publication waits for what followers ask.
  const followers = stack.use(await connectPostgres({ url: url.reveal(), schema, connections: 1 }));
  const publication = stack.use(
    publicationOf({
      postgres,
      schema,
      mirror_path: mirror.path,
      now: clock.now,
      newOrigin: () => newId(entropy),
      ...(sharing === null
        ? {}
        : {
            fence: (statements: Statements) => refuseOldTerm(statements, sharing.leadership.term),
            begun: sharing.begun,
          }),
    }),
  );
  const tell = (change: number) => mirror.transaction(() => mirror.changes.tell(change));
  const published = ({ change }: { readonly change: number }) => {
    if (sharing !== null) writer.soon('told', () => tell(change));
  };
  const publisher = keepPublishing({ publication, clock, log, every: publishEveryMs, published });
  const stopping = new AbortController();
  const running = publisher.run(stopping.signal);
  let watched: DatabaseFacts | null = null;
  let silence: string | null = null;
  const watch = async () => {
    try {
      watched = await watchDatabase(watchdog, sharing?.name ?? null);
      silence = null;
    } catch (error) {
      // The facts are unknown then. A publication would notice only after its own patience that nothing is answered.
      watched = null;
      silence = isAway(error) ? (error as Error).message : null;
    }
    await clock.sleep(silence === null ? watchMs.usual : watchMs.failed, stopping.signal).catch(() => undefined);
  };
  const watching = (async () => {
    while (!stopping.signal.aborted) await watch();
  })();
  stack.defer(async () => {
    stopping.abort();
    await Promise.all([running, watching]);
    await publisher.publishDue();
  });
  const told: Publishing['told'] = async (number, signal) => {
    const until = clock.monotonic() + patienceMs;
    while (sharing !== null && (publisher.status().source_number ?? -1) < number) {
      if (clock.monotonic() >= until) throw notPublished();
      await clock.sleep(lookMs, signal);
    }
  };
  const ofPublished = <Result>(work: (statements: Statements, found: Published) => Promise<Result>) =>
    followers
      .transaction(async (statements) => {
        const found = await publishedIn(statements);
        if (found === null) throw notPublished();
        return await work(statements, found);
      }, 'REPEATABLE READ READ ONLY')
      .catch((error: unknown) => {
        throw isAway(error) ? notPublished() : error;
      });
  /** Brings a follower that knows own rows to a published state. Null: it lacks more than one page of them. */
  const broughtOver = async (question: RowQuestion, own: RowPages, signal: AbortSignal) => {
    await told(question.after, signal);
    return await ofPublished(async (statements, found) => {
      if (found.source_origin !== question.origin || found.source_number < question.after) throw notPublished();
      // Read last: all that was published after the follower's number is among them.
      const keys = own.keysAfter({ ...question, limit: mostBrought });
      return keys.whole ? await rowsOfKeys(statements, found, keys) : null;
    });
  };
  const closing = stack.move();
  return {
    status: () => {
      const { state, published_at, lag_ms, ...publishing } = publisher.status();
      // Behind a pooler with one connection an inspection waits for a publication, which is answered meanwhile.
      const since = [publishing.failing_since, silence === null ? null : answered_at].filter((each) => each !== null);
      const failing_since = since.length === 0 ? null : Math.min(...since);
      const failure = publishing.failure ?? silence;
      const leads = sharing && { name: sharing.name, term: sharing.leadership.term.number };
      const { standbys = null, unsynchronised = 0, vacuum_held_ms = 0 } = watched ?? {};
      return { state, published_at, lag_ms, failing_since, failure, leads, standbys, unsynchronised, vacuum_held_ms };
    },
    told,
    rows: async (question, own, signal) => {
      if (sharing !== null && !own.knows(question)) {
        const page = await ofPublished((statements, found) =>
          rowsAfter(statements, found, { question, wanted: 'all' }),
        );
        if (page === 'begun-anew') throw begunAnew();
        return page;
      }
      const brought = sharing === null ? null : await broughtOver(question, own, signal);
      return brought ?? { published_at: clock.now(), ...own.after(question) };
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

function notPublished(): CataloguedError {
  return new CataloguedError('not-published', 'the database does not take what other instances would have to know', {
    exitCode: exitCodes.retryLater,
    hint: 'ask again when it does: catalogued status',
  });
}
