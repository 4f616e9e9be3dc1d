import { newId } from '../clock.ts';
import type { Secret } from '../config/secrets.ts';
import { connectPostgres, type Statements } from '../database/connect.ts';
import { refuseOldTerm } from '../database/lease.ts';
import { publicationOf } from '../database/publication.ts';
import { keepPublishing } from '../database/publisher.ts';
import { watchDatabase } from '../database/watch.ts';
import type { DatabaseFacts } from '../domain/conditions/facts.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import type { LiveAlarm } from '../files/storage-status.ts';
import type { Logger } from '../log.ts';
import type { DatabaseStatus } from '../status/daemon-status.ts';
import type { Wiring } from './wiring.ts';

export interface Publishing extends AsyncDisposable {
  /** Returns an alarm while nothing can be published for longer than PostgreSQL takes to restart. */
  alarms(): LiveAlarm[];
  status(): DatabaseStatus;
  /**
   * Resolves when the mirror's rows up to a number are published. Throws `not-published` if that takes too long.
   * Resolves at once if there is no other instance.
   */
  told(number: number, signal: AbortSignal): Promise<void>;
}

const restartMs = 10_000;
/** Milliseconds for which a caller waits for publication, and between two checks of it. */
const patienceMs = 10_000;
const lookMs = 20;
/** Milliseconds between two inspections of the database. */
const watchEveryMs = 5000;

/**
 * Publishes the mirror into PostgreSQL until it is disposed of, and then once more with the daemon's last changes.
 * Null: no database is configured, and its driver is not loaded. A malformed URL is refused (78).
 */
export async function startPublishing(
  { config, mirror, ports, sharing, storage }: Pick<Wiring, 'config' | 'mirror' | 'ports' | 'sharing' | 'storage'>,
  url: Secret | null,
  log: Logger,
): Promise<Publishing | null> {
  if (url === null) return null;
  const { schema, publish_every } = config.database;
  await using stack = new AsyncDisposableStack();
  const postgres = stack.use(await connectPostgres({ url: url.reveal(), schema, connections: 2 }));
  const { clock, entropy } = ports;
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
    if (sharing !== null) storage.soon('told', () => tell(change));
  };
  const publisher = keepPublishing({ publication, clock, log, every: publish_every, published });
  const stopping = new AbortController();
  const running = publisher.run(stopping.signal);
  let watched: DatabaseFacts | null = null;
  // If the query fails, the facts are unknown. An unreachable database is reported elsewhere.
  const watch = async () => {
    watched = await watchDatabase(postgres, sharing?.name ?? null).catch(() => null);
    await clock.sleep(watchEveryMs, stopping.signal).catch(() => undefined);
  };
  const watching = (async () => {
    while (!stopping.signal.aborted) await watch();
  })();
  stack.defer(async () => {
    stopping.abort();
    await Promise.all([running, watching]);
    await publisher.publishDue();
  });
  const closing = stack.move();
  return {
    alarms: () => {
      const { failing_since } = publisher.status();
      if (failing_since === null || clock.now() < failing_since + restartMs) return [];
      return [{ kind: 'database-behind', raised_at: failing_since, products: 0 }];
    },
    status: () => {
      const { state, published_at, failing_since, failure, lag_ms } = publisher.status();
      const leads = sharing && { name: sharing.name, term: sharing.leadership.term.number };
      const { standbys = null, unsynchronised = 0, vacuum_held_ms = 0 } = watched ?? {};
      return { state, published_at, lag_ms, failing_since, failure, leads, standbys, unsynchronised, vacuum_held_ms };
    },
    told: async (number, signal) => {
      const until = clock.monotonic() + patienceMs;
      while (sharing !== null && (publisher.status().source_number ?? -1) < number) {
        if (clock.monotonic() >= until) throw notPublished();
        await clock.sleep(lookMs, signal);
      }
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
