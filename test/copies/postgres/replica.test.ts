import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { needs } from '../../fakes/needs.ts';
import { type StartedPostgres, startPostgres } from '../../fakes/start-postgres.ts';
import { type PublishedStage, publishedStage } from './stage.ts';

/** The recipe of docs/postgresql.md, in its order. */
const text = readFileSync(new URL('../../../docs/postgresql.md', import.meta.url), 'utf8');
const recipe = text.slice(text.indexOf('## A logical replica'));
const [onServer = '', onReplica = ''] = [...recipe.matchAll(/```sql\n(.+?)```/gs)].map(([, sql = '']) => sql);
const day_ms = 86_400_000;
const patient = { timeout: 60_000, interval: 200 };

describe('a logical replica, made as docs/postgresql.md says', needs('postgres', 'time'), () => {
  const stack = new AsyncDisposableStack();
  let at: PublishedStage;
  let server: StartedPostgres;
  let replica: Postgres;
  let page: Postgres;
  beforeAll(async () => {
    at = stack.use(await publishedStage(4, { cadence: { availability: { horizon: 31 } } }));
    at.server.sql("ALTER SYSTEM SET wal_level = 'logical'");
    at.server.stop();
    at.server.start();
    server = stack.use(startPostgres({ settings: ['wal_retrieve_retry_interval=100ms'] }));
    for (const each of [at.server, server]) {
      each.sql('CREATE ROLE catalogued_reader');
      each.sql('CREATE ROLE catalogued_follower');
    }
    server.sql('CREATE ROLE page LOGIN IN ROLE catalogued_reader');
    await at.publication.publish();
    at.server.sql(onServer);
    const [, pg_dump = ''] = /^(pg_dump .+?) "\$SHOP"/m.exec(recipe) ?? [];
    const schema = join(server.directory, 'schema.sql');
    const [program = '', ...options] = pg_dump.split(' ');
    at.server.run(program, ...options, '-h', at.server.directory, '-U', 'owner', '-f', schema, 'postgres');
    server.run('psql', '-h', server.directory, '-U', 'owner', '-v', 'ON_ERROR_STOP=1', '-f', schema, 'postgres');
    server.sql(onReplica.replace(/'host=[^']+'/, `'host=${at.server.directory} dbname=postgres user=owner'`));
    replica = stack.use(await connectPostgres({ url: server.url, schema: 'catalogued' }));
    page = stack.use(await connectPostgres({ url: server.urlOf('page'), schema: 'catalogued' }));
  }, 120_000);
  afterAll(() => stack.disposeAsync());

  const clockAt = (postgres: Postgres, now: number) =>
    postgres.query(
      `CREATE OR REPLACE FUNCTION _now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE RETURN ${now}::bigint`,
    );
  const count = async (postgres: Postgres, from: string) =>
    Number((await postgres.query<{ rows: number }>(`SELECT count(*) AS rows FROM ${from}`))[0]?.rows);
  const hashes = async (postgres: Postgres) => {
    const found: Record<string, unknown> = {};
    const readable = await at.postgres.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'catalogued'::regnamespace AND relkind IN ('r', 'v')
       AND has_table_privilege('catalogued_reader', oid, 'SELECT')`,
    );
    for (const { name } of readable)
      [found[name]] = await postgres.query(
        `SELECT md5(string_agg(v::text, ' ' ORDER BY v::text)) AS hash FROM ${name} v`,
      );
    return found;
  };

  it('shows what the server shows, to pages that may read views alone', async () => {
    const now = at.harness.clock.now();
    for (const each of [at.postgres, replica]) await clockAt(each, now);
    await expect.poll(() => hashes(replica), patient).toEqual(await hashes(at.postgres));
    expect(await count(page, 'images')).toBeGreaterThan(0);
    await expect(page.query('SELECT 1 FROM image')).rejects.toMatchObject({ code: 'database-forbidden' });
  });

  it('shows no image and no past date 15 days after the server was lost, although it has their rows', async () => {
    at.server.stop('immediate');
    await clockAt(replica, at.harness.clock.now() + 15 * day_ms);
    expect(await count(page, 'images')).toBe(0);
    expect(await count(replica, 'image')).toBeGreaterThan(0);
    const today = new Date(at.harness.clock.now() + 13 * day_ms).toISOString().slice(0, 10);
    expect(await count(page, `bookable_days WHERE date < '${today}'`)).toBe(0);
    expect(await count(replica, `day WHERE date < '${today}'`)).toBeGreaterThan(0);
    expect(await count(page, 'products WHERE stale = 0')).toBe(0);
  });
});
