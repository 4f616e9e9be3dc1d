import { newId } from '../clock.ts';
import type { Secret } from '../config/secrets.ts';
import { connectPostgres, type Statements } from '../database/connect.ts';
import { refuseOldTerm } from '../database/lease.ts';
import { publicationOf } from '../database/publication.ts';
import { keepPublishing, type Publisher } from '../database/publisher.ts';
import type { Logger } from '../log.ts';
import type { Wiring } from './wiring.ts';

/**
 * Publishes the mirror into PostgreSQL until it is disposed of, and then once more what the daemon did last. Null: no
 * database is configured, and nothing of its driver is loaded. A malformed URL is refused (78).
 */
export async function startPublishing(
  { config, mirror, ports, sharing }: Pick<Wiring, 'config' | 'mirror' | 'ports' | 'sharing'>,
  url: Secret | null,
  log: Logger,
): Promise<(Publisher & AsyncDisposable) | null> {
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
  return { ...publisher, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}
