import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres } from '../../src/database/connect.ts';
import { fingerprintOf, joinInstances } from '../../src/database/instances.ts';
import { canaryMark } from '../fakes/canary.ts';
import { needs } from '../fakes/needs.ts';
import { type StartedPostgres, startPostgres } from '../fakes/start-postgres.ts';

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
