import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { isAway } from '../../../src/copies/postgres/errors.ts';
import { fingerprintOf, joinInstances } from '../../../src/copies/postgres/instances.ts';
import { canaryMark } from '../../fakes/canary.ts';
import { needs } from '../../fakes/needs.ts';
import { type StartedPostgres, startPostgres } from '../../fakes/start-postgres.ts';

describe('accounts in one database', needs('postgres', 'time'), () => {
  let server: StartedPostgres;
  beforeAll(() => {
    server = startPostgres();
  });
  afterAll(() => server[Symbol.dispose]());

  async function join(schema: string, key: string): Promise<string> {
    await using database = await connectPostgres({ url: server.url, schema });
    return await joinInstances(database, schema, { pair_id: `of ${schema}`, key_fingerprint: fingerprintOf(key) });
  }

  it('have a schema and a lease each, and nothing in it tells the key', async () => {
    expect(await join('acct_a', `${canaryMark}-a`)).toBe('of acct_a');
    expect(await join('acct_b', `${canaryMark}-b`)).toBe('of acct_b');
    await using database = await connectPostgres({ url: server.url, schema: 'acct_a' });
    const rows = await database.query('SELECT * FROM acct_a._leader, acct_b._leader b');
    expect(JSON.stringify(rows)).not.toContain(canaryMark);
    expect(fingerprintOf('one key')).not.toBe(fingerprintOf('another'));
  });

  it('never call with one key from two schemas: the second one is refused, and joins with a key of its own (control)', async () => {
    await expect(join('acct_c', `${canaryMark}-a`)).rejects.toMatchObject({
      code: 'same-account',
      exitCode: 78,
      message: expect.stringMatching(/^the schema acct_a in .* already calls with this API key$/),
    });
    expect(await join('acct_c', `${canaryMark}-c`)).toBe('of acct_c');
    // The one that has it comes again, as any other instance of it.
    expect(await join('acct_a', `${canaryMark}-a`)).toBe('of acct_a');
    await expect(join('acct_a', `${canaryMark}-c`)).rejects.toMatchObject({ code: 'same-account' });
    await expect(join('acct_a', `${canaryMark}-d`)).rejects.toMatchObject({ code: 'another-account', exitCode: 78 });
  });

  it('whose user may not read the schemas of others join, and are told nothing of them', async () => {
    await using owner = await connectPostgres({ url: server.url, schema: 'public' });
    await owner.query('CREATE ROLE stranger LOGIN; GRANT CREATE ON DATABASE postgres TO stranger');
    await using database = await connectPostgres({ url: server.urlOf('stranger'), schema: 'acct_s' });
    const shared = { pair_id: 'of a stranger', key_fingerprint: fingerprintOf(`${canaryMark}-a`) };
    expect(await joinInstances(database, 'acct_s', shared)).toBe('of a stranger');
    await owner.query('DROP SCHEMA acct_s CASCADE');
  });

  it('are refused one by one when two begin with one key at the same moment', async () => {
    const both = await Promise.allSettled(['race_a', 'race_b'].map((schema) => join(schema, 'one key')));
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });
});

describe('the door to PostgreSQL', needs('postgres', 'time'), () => {
  let server: StartedPostgres;
  let owner: Postgres;
  beforeAll(async () => {
    server = startPostgres();
    owner = await connectPostgres({ url: server.url, schema: 'shop' });
    await owner.query('CREATE SCHEMA shop');
  });
  afterAll(async () => {
    await owner[Symbol.asyncDispose]();
    server[Symbol.dispose]();
  });
  /** What a server says of itself that cannot be brought about here. */
  const raising = (state: string, message: string) =>
    `DO $$ BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = '${state}'; END $$`;
  const errorOf = async (url: string, text = 'SELECT 1') => {
    await using postgres = await connectPostgres({ url, schema: 'shop' });
    return postgres.query(text).then(
      () => null,
      (error: unknown) => error,
    );
  };

  it('gives whole numbers as numbers, and commits all that a transaction does or nothing', async () => {
    await owner.query('CREATE TABLE kept (value bigint)');
    const failing = owner.transaction(async ({ query }) => {
      await query('INSERT INTO kept VALUES ($1)', [7]);
      throw new Error('in the middle');
    });
    await expect(failing).rejects.toThrow('in the middle');
    expect(await owner.query('SELECT value FROM shop.kept')).toEqual([]);
    await owner.query('INSERT INTO kept VALUES (9007199254740991), (9007199254740992)');
    expect(await owner.query('SELECT value FROM kept ORDER BY value')).toEqual([
      { value: 9007199254740991 },
      { value: '9007199254740992' },
    ]);
  });

  it('says of each kind of refusal what to do, in one line and without the password', async () => {
    await owner.query("CREATE ROLE guest LOGIN; REVOKE ALL ON SCHEMA shop FROM PUBLIC; SET LOCAL x.y = ''");
    const refusals = {
      'database-empty': await errorOf(server.url, 'SELECT * FROM nothing'),
      'no-database': await errorOf(server.urlOf('owner', 'elsewhere')),
      'database-refused': await errorOf(server.urlOf('nobody')),
      'database-forbidden': await errorOf(server.urlOf('guest'), 'SELECT * FROM shop.kept'),
      'database-read-only': await errorOf(server.url, 'SET TRANSACTION READ ONLY; CREATE TABLE t ()'),
      'database-full': await errorOf(server.url, raising('53100', 'could not extend file')),
      'database-away': await errorOf(`postgres://owner:${canaryMark}@127.0.0.1:9/postgres`),
    };
    for (const [code, error] of Object.entries(refusals)) {
      expect(error).toMatchObject({ code, hint: expect.any(String) });
      expect(String((error as Error).message)).not.toMatch(/\n/);
      expect(JSON.stringify(error) + String(error)).not.toContain(canaryMark);
    }
    expect(Object.values(refusals).map(isAway)).toEqual([false, false, false, false, true, true, true]);
  });

  it('says that a server is away, and goes on when it is back', async () => {
    server.stop('immediate');
    const away = await owner.query('SELECT 1').catch((error: unknown) => error);
    server.start();
    expect(isAway(away)).toBe(true);
    expect(await owner.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

it('a URL of something else is refused before anything is connected', async () => {
  for (const url of ['https://db.example.com/shop', 'postgres://host', 'shop', ''])
    await expect(connectPostgres({ url, schema: 'shop' })).rejects.toMatchObject({
      code: 'database-url',
      exitCode: 78,
    });
});
