import type { DatabaseFacts } from '../../says/conditions/facts.rules.ts';
import type { Postgres } from './connect.ts';

/** Seconds without news after which an instance no longer counts as a standby. */
const silentSeconds = 15;

/** `instance` null: there are no others. Instants are compared by the clock of PostgreSQL alone. */
export async function watchDatabase(postgres: Postgres, instance: string | null): Promise<DatabaseFacts> {
  const others = `(SELECT count(*) FROM _standby WHERE name <> $1 AND seen_at > now() - interval '${silentSeconds} seconds')`;
  const [found] = await postgres.query<DatabaseFacts>(
    `SELECT ${instance === null ? 'NULL::bigint' : others} AS standbys,
       (current_setting('synchronous_standby_names') <> '' AND NOT EXISTS (
         SELECT FROM pg_stat_replication WHERE coalesce(sync_state, 'unknown') IN ('sync', 'quorum', 'unknown')))::int AS unsynchronised,
       coalesce((SELECT max(extract(epoch FROM now() - xact_start) * 1000)::bigint FROM pg_stat_activity
         WHERE backend_xmin IS NOT NULL AND datname = current_database() AND pid <> pg_backend_pid()), 0) AS vacuum_held_ms`,
    instance === null ? [] : [instance],
  );
  if (found === undefined) throw new Error('the database says nothing of itself');
  return found;
}
