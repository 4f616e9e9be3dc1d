import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/database/connect.ts';
import { isAway } from '../../src/database/errors.ts';
import { canaryMark } from '../fakes/canary.ts';
import { needs } from '../fakes/needs.ts';
import { type StartedPostgres, startPostgres } from '../fakes/start-postgres.ts';

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
