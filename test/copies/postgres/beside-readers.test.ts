import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Postgres, Statements } from '../../../src/copies/postgres/connect.ts';
import { Publication, type PublicationOptions } from '../../../src/copies/postgres/publication.ts';
import { Publisher } from '../../../src/copies/postgres/publisher.ts';
import { needs } from '../../fakes/needs.ts';
import { otherWriter } from '../../fakes/other-writer.ts';
import { testLog } from '../../fakes/test-log.ts';
import { age, besideReaders, lineOf, ratedAlike } from './beside-readers.ts';
import { type PublishedStage, publishedStage } from './stage.ts';

/** What a reader may wait where nothing else keeps the machine busy. */
const most_ms = Number(process.env.CATALOGUED_WAIT_MS ?? 100);

describe('pages that read while a mirror is published', needs('postgres', 'time'), () => {
  const stack = new AsyncDisposableStack();
  let at: PublishedStage;
  beforeAll(async () => {
    at = stack.use(await publishedStage(4, { cadence: { availability: { horizon: 31 } } }));
    ratedAlike(at.mirror);
  });
  afterAll(() => stack.disposeAsync());

  it.each([1, 4, 16])(
    'see one state each time and fail never: %i readers, a first, a repeated, a changed and an upgraded mirror, and a kill',
    async (readers) => {
      const told = await besideReaders(at, readers);
      for (const each of told) {
        process.stdout.write(`${lineOf(readers, each)}\n`);
        expect(each).toMatchObject({ error: null, failed: [], torn: 0 });
        expect(each.longest_wait_ms).toBeLessThanOrEqual(most_ms);
      }
      expect(told.at(-1)?.freed_ms).toBeLessThan(5000);
      expect(await at.postgres.query("SELECT 1 FROM pg_attribute WHERE attname = 'former'")).toEqual([]);
      expect(await at.postgres.query("SELECT to_regclass('_former') AS former")).toEqual([{ former: null }]);
      expect(await at.differing()).toEqual({});
    },
    300_000,
  );

  it('wait where a publication locks what they read (control)', async () => {
    const fence = async ({ query }: Statements) => {
      await query('LOCK TABLE _product IN ACCESS EXCLUSIVE MODE');
      await query('SELECT pg_sleep(0.5)');
    };
    class Locking extends Publication {
      constructor(options: PublicationOptions) {
        super({ ...options, fence });
      }
    }
    const told = await besideReaders(at, 4, { version: { root: '', Publication: Locking }, kills: false });
    expect(Math.max(...told.slice(1).map(({ longest_wait_ms }) => longest_wait_ms))).toBeGreaterThan(most_ms);
  }, 300_000);

  it('of a view of their own keep it from falling: the publication says which, and nothing is changed', async () => {
    await besideReaders(at, 1, { kills: false });
    await at.postgres.query(`ALTER TABLE _product ADD COLUMN colour text;
      CREATE VIEW shop.colours AS SELECT product_id, colour FROM catalogued._product;
      UPDATE _published SET source_origin = ''`);
    const db = otherWriter(at.mirror);
    db.exec('UPDATE _product SET rating = 5');
    db.close();
    using publication = new Publication(at.options);
    const before = await at.postgres.query('SELECT DISTINCT rating FROM products');
    await expect(publication.publish()).rejects.toMatchObject({
      code: 'database-depended-on',
      exitCode: 78,
      message: expect.stringContaining('view shop.colours (reads _product.colour)'),
      hint: expect.stringContaining('DROP VIEW shop.colours'),
    });
    expect(await at.postgres.query('SELECT DISTINCT rating FROM products')).toEqual(before);
    await at.postgres.query('DROP VIEW shop.colours');
    await publication.publish();
    expect(await at.postgres.query('SELECT DISTINCT rating FROM products')).toEqual([{ rating: 5 }]);
    expect(await at.postgres.query("SELECT 1 FROM pg_attribute WHERE attname = 'colour'")).toEqual([]);
  }, 300_000);

  it.each([0, 1, 2, 5, 15, 25])(
    'that is upgraded is finished by the next publication where one is killed before its transaction %i',
    async (at_transaction) => {
      await at.postgres.query('DROP SCHEMA IF EXISTS shop CASCADE; DROP SCHEMA IF EXISTS catalogued CASCADE');
      using former = new Publication(at.options);
      await former.publish();
      ratedAlike(at.mirror);
      await age(at);
      let transactions = 0;
      const postgres: Postgres = {
        ...at.postgres,
        transaction: (work, isolation) =>
          at.postgres.transaction(async (statements) => {
            if (transactions++ >= at_transaction)
              await statements.query('SELECT pg_terminate_backend(pg_backend_pid())');
            return await work(statements);
          }, isolation),
      };
      using killed = new Publication({ ...at.options, postgres });
      await expect(killed.publish()).rejects.toMatchObject({ exitCode: 69 });
      using next = new Publication(at.options);
      await next.publish();
      expect(await at.postgres.query("SELECT 1 FROM pg_attribute WHERE attname = 'former'")).toEqual([]);
      expect(await at.postgres.query("SELECT 1 FROM _made WHERE hash = '' AND kind <> 'table'")).toEqual([]);
      expect(await at.differing()).toEqual({});
    },
    300_000,
  );

  it('gains a column, and views of a shop on what was there stay', async () => {
    await besideReaders(at, 1, { kills: false });
    const [{ columns, text } = { columns: [''], text: '' }] = await at.postgres.query<{
      columns: string[];
      text: string;
    }>(
      `SELECT json_agg(attname ORDER BY attnum) AS columns, pg_get_viewdef('products'::regclass) AS text
       FROM pg_attribute WHERE attrelid = 'products'::regclass AND attnum > 0`,
    );
    const last = columns.at(-1);
    await at.postgres.query(`DROP VIEW products CASCADE;
      CREATE VIEW products AS SELECT ${columns.slice(0, -1).join(', ')} FROM (${text.replace(/;$/, '')}) AS later;
      CREATE VIEW shop.everything AS SELECT * FROM catalogued.products;
      UPDATE _made SET hash = '' WHERE kind = 'view'`);
    const shown = () => at.postgres.query('SELECT * FROM shop.everything ORDER BY product_id, language');
    const before = await shown();
    using publication = new Publication(at.options);
    await publication.publish();
    expect(before.length).toBeGreaterThan(0);
    expect(await shown()).toEqual(before);
    expect(Object.keys((await at.postgres.query('SELECT * FROM products LIMIT 1'))[0] ?? {})).toContain(last);
    expect(await at.differing()).toEqual({});
  }, 300_000);
});

const day = 24 * 3_600_000;

describe('rows that a person deleted in PostgreSQL', needs('postgres'), () => {
  const stack = new AsyncDisposableStack();
  let at: PublishedStage;
  beforeAll(async () => {
    at = stack.use(await publishedStage(3, { cadence: { availability: { horizon: 31 } } }));
    await at.publication.publish();
  });
  afterAll(() => stack.disposeAsync());
  const spoil = () =>
    at.postgres.query('DELETE FROM _product WHERE product_id = (SELECT min(product_id) FROM _product)');

  it('are published again when a daemon starts, which says how many were missing', async () => {
    await spoil();
    expect(await at.differing()).not.toEqual({});
    const { log, lines } = testLog('info');
    using publication = new Publication(at.options);
    await new Publisher({ publication, clock: at.harness.clock, log, every: 1 }).publishDue();
    expect(await at.differing()).toEqual({});
    expect(lines()).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        msg: 'rows in PostgreSQL were not those of the mirror: published again',
        tables: { _product: { mirror: 3, database: 2 } },
      }),
    );
  });

  it('are published again a day after the last count, and also those that a person added', async () => {
    let now: number = at.harness.clock.now();
    using publication = new Publication({ ...at.options, now: () => now });
    expect(await publication.publish()).toMatchObject({ repaired: {} });
    await spoil();
    now += day - 1;
    expect(await publication.publish()).toMatchObject({ repaired: {} });
    expect(await at.differing()).not.toEqual({});
    now += 1;
    expect(await publication.publish()).toMatchObject({ repaired: { _product: { mirror: 3, database: 2 } } });
    expect(await at.differing()).toEqual({});
    await at.postgres.query('INSERT INTO product_tags SELECT product_id, -1 FROM product_tags LIMIT 1');
    now += day;
    expect(Object.keys((await publication.publish()).repaired)).toEqual(['product_tags']);
    expect(await at.differing()).toEqual({});
  });

  it('are published again with a table that a person dropped', async () => {
    let now: number = at.harness.clock.now();
    using publication = new Publication({ ...at.options, now: () => now });
    await publication.publish();
    await at.postgres.query('DROP TABLE product_tags CASCADE');
    now += day;
    expect(await publication.publish()).toMatchObject({ whole: true });
    expect(await at.differing()).toEqual({});
  });
});
