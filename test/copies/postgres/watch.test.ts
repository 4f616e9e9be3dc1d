import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { joinInstances } from '../../../src/copies/postgres/instances.ts';
import { Lease } from '../../../src/copies/postgres/lease.ts';
import { watchDatabase } from '../../../src/copies/postgres/watch.ts';
import { systemClock, systemEntropy } from '../../../src/kernel/clock.ts';
import { conditionsOf, noPeriods } from '../../../src/says/conditions/decide.rules.ts';
import { type ConditionCode, conditionTable } from '../../../src/says/conditions/table.rules.ts';
import { needs } from '../../fakes/needs.ts';
import { type StartedPostgres, startPostgres } from '../../fakes/start-postgres.ts';
import { testLog } from '../../fakes/test-log.ts';
import { healthy } from '../../says/conditions/healthy-facts.ts';

const hour = 3_600_000;
const never = new AbortController().signal;

/** Each is planted in a real PostgreSQL, and mended. */
describe('what is watched of PostgreSQL', needs('postgres', 'time'), () => {
  const stack = new AsyncDisposableStack();
  let server: StartedPostgres;
  let database: Postgres;
  const connect = async (user = 'owner') =>
    stack.use(await connectPostgres({ url: server.urlOf(user), schema: 'shop', connections: 1 }));
  beforeAll(async () => {
    // A commit that waits for a server that is not there would wait here for ever.
    server = stack.use(startPostgres({ settings: ['synchronous_commit=local'] }));
    database = await connect();
    await joinInstances(database, 'shop', { pair_id: 'p', key_fingerprint: 'k' });
  });
  afterAll(() => stack.disposeAsync());

  /** What is shown an hour later, where nothing changes until then. */
  async function shown(instance: string | null, later: object = {}): Promise<ConditionCode[]> {
    const facts = {
      ...healthy,
      database: { failing_since: null, ...(await watchDatabase(database, instance)), ...later },
    };
    const met = new Map(Object.keys(conditionTable).map((code) => [code as ConditionCode, 0]));
    return conditionsOf({ ...facts, at: hour }, { ...noPeriods, met }).map(({ code }) => code);
  }

  it('is nothing where all is well, and knows of no others where there are none', async () => {
    expect(await watchDatabase(database, null)).toEqual({ standbys: null, unsynchronised: 0, vacuum_held_ms: 0 });
    expect(await shown(null)).toEqual([]);
  });

  it('names a leader beside whom nobody stands by, until another one does', async () => {
    const instance = async (name: string) => {
      const own = await connect();
      const times = { lease: 5000, renew: 100, margin: 200 };
      const log = testLog('silent').log;
      const options = { database: own, times, instance: { name, advertise: null }, entropy: systemEntropy, log };
      return new Lease({ ...options, clock: systemClock });
    };
    const [a, b] = [await instance('a'), await instance('b')];
    await using _ = await a.win(never);
    expect(await shown('a')).toEqual(['standby-missing']);
    const ending = new AbortController();
    const standing = b.win(ending.signal).catch(() => undefined);
    await expect.poll(() => shown('a')).toEqual([]);
    ending.abort();
    await standing;
    // By the clock of the server: what it last heard is long ago.
    await database.query("UPDATE _standby SET seen_at = seen_at - interval '16 seconds'");
    expect(await shown('a')).toEqual(['standby-missing']);
  });

  it('names a synchronous standby that is asked for and is not there', async () => {
    const ask = async (names: string) => {
      await (await raw()).query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      await database.query('SELECT pg_reload_conf()');
      await delay(300);
    };
    await ask('nobody');
    expect(await shown(null)).toEqual(['database-unsynchronised']);
    await ask('');
    expect(await shown(null)).toEqual([]);
  });

  it('names a transaction that somebody left open, as soon as it has lasted ten minutes', async () => {
    const reader = await connect();
    const open = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const reading = reader.transaction(async ({ query }) => {
      await query('SELECT count(*) FROM _leader');
      begun.resolve();
      await open.promise;
    }, 'REPEATABLE READ READ ONLY');
    await begun.promise;
    await delay(20);
    const { vacuum_held_ms } = await watchDatabase(database, null);
    expect(vacuum_held_ms).toBeGreaterThan(10);
    expect(await shown(null)).toEqual([]);
    expect(await shown(null, { vacuum_held_ms: vacuum_held_ms + hour / 6 })).toEqual(['database-vacuum-held']);
    open.resolve();
    await reading;
    expect((await watchDatabase(database, null)).vacuum_held_ms).toBe(0);
  });

  /** ALTER SYSTEM stands in no transaction. */
  async function raw() {
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    stack.defer(() => client.end());
    return client;
  }
});
