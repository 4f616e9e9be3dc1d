import { newId } from '../clock.ts';
import type { Secret } from '../config/secrets.ts';
import { connectPostgres, type Statements } from '../database/connect.ts';
import { refuseOldTerm } from '../database/lease.ts';
import { publicationOf } from '../database/publication.ts';
import { keepPublishing } from '../database/publisher.ts';
import type { LiveAlarm } from '../files/storage-status.ts';
import type { Logger } from '../log.ts';
import type { Wiring } from './wiring.ts';

export interface Publishing extends AsyncDisposable {
  /** Returns an alarm while nothing can be published, but for what a restart of PostgreSQL takes. */
  alarms(): LiveAlarm[];
}

const restartMs = 10_000;

/**
 * Publishes the mirror into PostgreSQL until it is disposed of, and then once more what the daemon did last. Null: no
 * database is configured, and nothing of its driver is loaded. A malformed URL is refused (78).
 */
export async function startPublishing(
  { config, mirror, ports, sharing }: Pick<Wiring, 'config' | 'mirror' | 'ports' | 'sharing'>,
  url: Secret | null,
  log: Logger,
): Promise<Publishing | null> {
  if (url === null) return null;
  const { schema, publish_every } = config.database;
  await using stack = new AsyncDisposableStack();
  const postgres = stack.use(await connectPostgres({ url: url.reveal(), schema, connections: 1 }));
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
        : { fence: (statements: Statements) => refuseOldTerm(statements, sharing.leadership.term) }),
    }),
  );
  const publisher = keepPublishing({ publication, clock, log, every: publish_every });
  const stopping = new AbortController();
  const running = publisher.run(stopping.signal);
  stack.defer(async () => {
    stopping.abort();
    await running;
    await publisher.publishDue();
  });
  const closing = stack.move();
  return {
    alarms: () => {
      const { failing_since } = publisher.status();
      if (failing_since === null || clock.now() < failing_since + restartMs) return [];
      return [{ kind: 'database-behind', raised_at: failing_since, products: 0 }];
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
