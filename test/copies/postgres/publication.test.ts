import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FollowedFile } from '../../../src/copies/follow/followed-file.ts';
import { follow } from '../../../src/copies/follow/follower.ts';
import { PublishedRows } from '../../../src/copies/follow/published-rows.ts';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { joinInstances } from '../../../src/copies/postgres/instances.ts';
import { lookAtDatabase } from '../../../src/copies/postgres/look.ts';
import { Publication } from '../../../src/copies/postgres/publication.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import type { Near } from '../../../src/storefront/near-place.ts';
import { openMirrorAt } from '../../fakes/mirror-at.ts';
import { needs } from '../../fakes/needs.ts';
import { otherWriter } from '../../fakes/other-writer.ts';
import { openReader } from '../../fakes/reader.ts';
import { testLog } from '../../fakes/test-log.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { type PublishedStage, publishedStage } from './stage.ts';

const hour = 3_600_000;
const shop = {
  cadence: { availability: { horizon: 31 } },
  service: { languages: ['en', 'nl'], currencies: ['EUR', 'USD'] },
};

/** The long form (`npm run faults -- --long --only S1`) compares more than 150,000 rows. */
const long = process.env.CATALOGUED_LONG === '1';
const products = long ? 40 : 4;
const longest = long ? 900_000 : 120_000;

describe('a mirror that is published into PostgreSQL', needs('postgres', 'time'), () => {
  const stack = new AsyncDisposableStack();
  let at: PublishedStage;
  let copy = '';
  beforeAll(async () => {
    at = stack.use(await publishedStage(products, shop));
    copy = join(stack.use(temporaryDirectory()).path, 'copy.db');
    await at.postgres.query('CREATE ROLE catalogued_reader; CREATE ROLE catalogued_follower');
    await at.postgres.query(
      'CREATE ROLE page LOGIN IN ROLE catalogued_reader; CREATE ROLE branch LOGIN IN ROLE catalogued_follower',
    );
  }, longest);
  afterAll(() => stack.disposeAsync());

  /** As it is done on another host: asks once. */
  async function followOnce(user = 'branch'): Promise<void> {
    await using other = await connectPostgres({ url: at.server.urlOf(user), schema: 'catalogued', connections: 1 });
    const source = new PublishedRows(other, 'catalogued');
    const ending = new AbortController();
    const clock = { ...systemClock, sleep: async () => ending.abort() };
    await follow({ source, path: copy, every: 250, clock, log: testLog('silent').log, own: 1 }, ending.signal);
  }

  it(
    'has views that show what those of the file show, as has a file that follows, through a day and a restart',
    async () => {
      const first = await at.publication.publish();
      expect(first).toMatchObject({ state: 1 });
      for (let looks = 1; looks <= 3; looks += 1) {
        await followOnce();
        expect(await at.differing()).toEqual({});
        expect(await at.differing(copy)).toEqual({});
        await at.harness.live(8 * hour);
        if (looks === 2) await at.harness.restart();
        const next = await at.publication.publish();
        expect(next).toMatchObject({ origin: first.origin, state: looks + 1 });
        expect(next.rows).toBeLessThan(first.rows / 2);
      }
      process.stdout.write(`${at.compared()} rows compared, 0 differ\n`);
      expect(at.compared()).toBeGreaterThan(long ? 150_000 : 10_000);
      // The comparison sees what it is there for.
      expect(Object.keys(await at.differing(copy))).toContain('availability_days');
    },
    longest,
  );

  it('tells how old its reads are as the file does, also where a product is off sale and read more rarely', async () => {
    const writer = otherWriter(at.mirror);
    writer.exec(`UPDATE _record SET off_sale_at = fetched_at, fetched_at = fetched_at - ${24 * hour}
      WHERE resource = 'availability' AND product_id = (SELECT min(product_id) FROM _product)`);
    writer.close();
    await at.publication.publish();
    expect(await at.differing()).toEqual({});
  });

  it('shows what is held as the file does: stale, and expired later', async () => {
    const writer = otherWriter(at.mirror);
    for (const table of ['date_window', '_text_read', '_price_read', '_variant', 'checkout'])
      writer.exec(
        `UPDATE ${table} SET held_at = ${at.harness.clock.now() - hour} WHERE product_id = (SELECT max(product_id) FROM _product)`,
      );
    writer.close();
    await at.publication.publish();
    expect(await at.differing()).toEqual({});
  });

  it('is searched with the same sets of hits, those in the city that was typed first: words, beginnings of words, and places', async () => {
    const file = openMirrorAt(at.mirror, at.harness.clock.now());
    const titles = file.prepare<[], string>('SELECT title FROM products').pluck().all();
    const words = [...new Set(titles.flatMap((title) => title.split(' ')))];
    const asked = [...words, ...words.map((word) => word.slice(0, 3)), ...titles, 'of', 'nothinglikeit', 'museam'];
    let hits = 0;
    for (const text of asked)
      for (const language of ['en', 'nl']) {
        const ours = file.prepare<object, number>(plainSearch).pluck().all({ text, language });
        const theirs = await at.postgres.query<{ product_id: number }>(
          'SELECT product_id FROM search_products($1, $2)',
          [text, language],
        );
        expect(theirs.map(({ product_id }) => product_id).toSorted(), `${language}: ${text}`).toEqual(ours.toSorted());
        hits += ours.length;
      }
    expect(hits).toBeGreaterThan(words.length);
    const [city = { city_name: '' }] = file
      .prepare<[], { city_name: string }>("SELECT city_name FROM products WHERE city_name NOT LIKE '% %' LIMIT 1")
      .all();
    const writer = otherWriter(at.mirror);
    writer.exec(`UPDATE _search_text SET title = title || ' ' || (SELECT term FROM search_words WHERE word = lower('${city.city_name}') LIMIT 1)
      WHERE search_id IN (SELECT search_id FROM search_entries WHERE language = 'en')`);
    writer.close();
    await at.publication.publish();
    const all = await at.postgres.query<{ is_there: boolean }>(
      'SELECT p.city_name = $1 AS is_there FROM search_products($1, $2) WITH ORDINALITY s JOIN products p USING (product_id) WHERE p.language = $2 ORDER BY s.ordinality',
      [city.city_name, 'en'],
    );
    const there = all.map(({ is_there }) => is_there);
    expect(there).toContain(false);
    expect(there.slice(there.indexOf(false))).not.toContain(true);
    using reader = openReader(at.mirror);
    const [place] = await at.postgres.query<{ latitude: number; longitude: number }>(
      'SELECT latitude, longitude FROM products LIMIT 1',
    );
    for (const km of [1, 300, 2000, 9000, 19_000, 20_038])
      for (const near of [
        { ...place, km } as Near,
        { latitude: 89, longitude: 180, km },
        { latitude: -10, longitude: -179, km },
      ]) {
        const ours = reader.exact({ near, limit: 100 }).map(({ product_id }) => product_id);
        const theirs = await at.postgres.query<{ product_id: number }>(
          'SELECT product_id FROM products_near($1, $2, $3)',
          [near.latitude, near.longitude, km],
        );
        expect(theirs.map(({ product_id }) => product_id).toSorted()).toEqual(ours.toSorted());
      }
    file.close();
  });

  it('is, after a failure at any statement, what it was before, and then whole', async () => {
    const changing = otherWriter(at.mirror);
    let rating = 1;
    let statement = 0;
    for (let failed = true; failed; statement += 1) {
      changing.prepare('UPDATE _product SET rating = ?').run(++rating / 8);
      using publication = new Publication({ ...at.options, postgres: breakingAt(at.postgres, statement) });
      const before = await ratings(at.postgres);
      failed = await publication.publish().then(
        () => false,
        () => true,
      );
      expect(await ratings(at.postgres)).toEqual(failed ? before : [rating / 8]);
    }
    changing.close();
    expect(statement).toBeGreaterThan(8);
  });

  it('shows a reader the views and nothing else, and lets a follower read rows', async () => {
    await using page = await connectPostgres({ url: at.server.urlOf('page'), schema: 'catalogued' });
    expect(await page.query('SELECT count(*) > 0 AS some FROM availability_days')).toEqual([{ some: true }]);
    for (const table of ['day', '_published', '_mirror'])
      await expect(page.query(`SELECT * FROM ${table}`)).rejects.toMatchObject({
        code: 'database-forbidden',
        exitCode: 77,
      });
    await expect(page.query('DELETE FROM products')).rejects.toThrow();
    await expect(followOnce('page')).rejects.toMatchObject({ code: 'database-forbidden' });
    await followOnce();
  });

  it('is joined with tables of the shop, whose own views outlive a publication of everything', async () => {
    await at.postgres.query(`CREATE SCHEMA shop;
      CREATE TABLE shop.page (product_id bigint PRIMARY KEY, headline text);
      INSERT INTO shop.page SELECT product_id, 'Best of ' || title FROM products WHERE language = 'en';
      CREATE VIEW shop.front AS SELECT g.headline, b.date::date AS day, b.lowest_price
        FROM shop.page g JOIN catalogued.bookable_days b USING (product_id) WHERE b.currency = 'EUR'`);
    // The mirror's clock is a day ahead of the database's: what is past for one of them is shown by the other.
    const front = () => at.postgres.query('SELECT count(*) AS days FROM shop.front WHERE day > current_date + 2');
    const days = await front();
    const before = await at.publication.publish();
    await at.postgres.query("UPDATE _published SET source_origin = 'of another file'; DELETE FROM product_tags");
    const { origin, state, whole, rows } = await at.publication.publish();
    expect(whole).toBe(true);
    expect(rows).toBeGreaterThan(0);
    expect(await front()).toEqual(days);
    expect(await at.differing()).toEqual({});
    // Followers go on: what was found to differ is a state like any other.
    expect({ origin, state }).toEqual({ origin: before.origin, state: before.state + 1 });
    await followOnce();
    expect(await at.differing(copy)).toEqual({});
  });

  it('has a table that computed other columns before made again, as one of before computes what rows have no more', async () => {
    const columns = () =>
      at.postgres.query(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'product'::regclass AND attname ~ 'stale_at'",
      );
    expect(await columns()).toEqual([]);
    await at.postgres.query('ALTER TABLE product ADD COLUMN stale_at bigint NOT NULL DEFAULT 1');
    await at.postgres.query(`ALTER TABLE product ALTER COLUMN stale_at DROP DEFAULT,
      ADD COLUMN shown_stale_at bigint NOT NULL GENERATED ALWAYS AS (stale_at) STORED`);
    await at.postgres.query("UPDATE _published SET source_origin = 'of another file'");
    expect(await at.publication.publish()).toMatchObject({ whole: true });
    expect(await columns()).toEqual([]);
    expect(await at.differing()).toEqual({});
  });

  it('that lost its last states, as a restored database does, goes on, and only who follows those begins anew', async () => {
    const source = new PublishedRows(at.postgres, 'catalogued');
    const after = (origin: string, after: number) => source.after({ origin, after, limit: 1000 });
    const rate = (rating: number) => {
      const writer = otherWriter(at.mirror);
      writer.prepare('UPDATE _product SET rating = ?').run(rating);
      writer.close();
    };
    // A connection that was open when the server stopped fails once.
    const answers = () =>
      expect.poll(() => at.postgres.query('SELECT 1').catch(() => []), { timeout: 20_000 }).toHaveLength(1);
    rate(4.1);
    const { origin, state } = await at.publication.publish();
    await at.server.losing(async () => {
      await answers();
      rate(4.2);
      await at.publication.publish();
      await followOnce();
    });
    await answers();
    using file = new FollowedFile(copy);
    expect(file.standing()).toMatchObject({ origin, number: state + 1 });
    expect(await after(origin, state + 1)).toBe('begun-anew');
    const again = await at.publication.publish();
    expect(again).toMatchObject({ state: state + 1, whole: false });
    // Another state has the number of the one that was lost.
    expect(await after(origin, state + 1)).toBe('begun-anew');
    expect(await after(origin, state)).toMatchObject({ origin: again.origin, number: state + 1, whole: true });
    expect(again.origin).not.toBe(origin);
    expect(await at.differing()).toEqual({});
    await followOnce();
    expect(await at.differing(copy)).toEqual({});
  });

  it('is followed in pages of whole states, each with the rows as they are now', async () => {
    const source = new PublishedRows(at.postgres, 'catalogued');
    const first = await at.publication.publish();
    const writer = otherWriter(at.mirror);
    for (const rating of [1, 2, 3]) {
      writer.prepare('UPDATE _product SET rating = ?').run(rating);
      await at.publication.publish();
    }
    writer.close();
    const states: unknown[] = [];
    for (let question = { origin: first.origin, after: first.state }; ; ) {
      const page = await source.after({ ...question, limit: 1 });
      if (page === 'begun-anew') throw new Error('the states are known');
      const { number, whole, tables } = page;
      const [products] = tables.filter(({ table }) => table === '_product');
      const rating = products?.columns.indexOf('rating') ?? -1;
      states.push({
        number: number - first.state,
        whole,
        ratings: [...new Set(products?.rows.map((row) => row[rating]))],
      });
      if (whole) break;
      question = { origin: page.origin, after: number };
    }
    expect(states).toEqual([
      { number: 1, whole: false, ratings: [3] },
      { number: 2, whole: false, ratings: [3] },
      { number: 3, whole: true, ratings: [3] },
    ]);
  });

  it('refuses a schema of another installation, of a newer version, and of somebody else, untouched', async () => {
    const publishing = (schema: string, text: string) => async () => {
      await using postgres = await connectPostgres({ url: at.server.url, schema });
      await postgres.query(text);
      using publication = new Publication({ ...at.options, postgres, schema });
      return await publication.publish();
    };
    await expect(publishing('catalogued', "UPDATE _published SET pair_id = 'x'")()).rejects.toMatchObject({
      code: 'database-taken',
      exitCode: 78,
    });
    const newer = 'UPDATE _published SET schema_version = 9999, pair_id = (SELECT pair_id FROM _mirror)';
    await expect(publishing('catalogued', newer)()).rejects.toMatchObject({ code: 'database-newer', exitCode: 65 });
    await expect(publishing('shop', 'SELECT 1')()).rejects.toMatchObject({ code: 'database-foreign', exitCode: 78 });
    await expect(followOnce()).rejects.toMatchObject({
      code: 'another-version',
      hint: 'use the same version on both hosts',
    });
  });

  it('refuses a schema of a development version with what to type, and publishes again once it is set aside', async () => {
    await using postgres = await connectPostgres({ url: at.server.url, schema: 'begun' });
    const shared = { pair_id: 'p', key_fingerprint: 'of development' };
    using publication = new Publication({ ...at.options, postgres, schema: 'begun' });
    await joinInstances(postgres, 'begun', shared);
    await publication.publish();
    const refused = {
      code: 'database-development',
      exitCode: 78,
      message: 'the schema begun cannot be used: it was written by a development version, before 1.0.0',
    };
    // CATM, of a mirror with other tables.
    await postgres.query('UPDATE _published SET application_id = $1', [0x4341544d]);
    await expect(publication.publish()).rejects.toMatchObject(refused);
    await postgres.query('ALTER TABLE _published DROP COLUMN application_id');
    await expect(publication.publish()).rejects.toMatchObject(refused);
    await expect(lookAtDatabase(postgres, 'begun')).rejects.toMatchObject(refused);
    await expect(new PublishedRows(postgres, 'begun').published()).rejects.toMatchObject(refused);
    const error = await joinInstances(postgres, 'begun', shared).catch((thrown: { hint: string }) => thrown);
    expect(error).toMatchObject(refused);
    const [, typed = ''] = /psql -c '([^']+)'/.exec((error as { hint: string }).hint) ?? [];
    await postgres.query(typed);
    expect(await joinInstances(postgres, 'begun', shared)).toBe('p');
    await publication.publish();
    expect(await postgres.query('SELECT application_id FROM _published')).toEqual([{ application_id: 0x43415455 }]);
    expect(await postgres.query('SELECT state FROM begun_development._published')).toHaveLength(1);
  });
});

/** What search.sql finds of what was typed as it stands: its beginning, and then every word that anything has. */
const searchText = readFileSync(new URL('../../../schema/search.sql', import.meta.url), 'utf8');
const plainSearch = `${searchText.slice(0, searchText.indexOf('-- Whether the words that are known')).trimEnd().replace(/,$/, '')}
  SELECT DISTINCT r.product_id FROM search_terms f JOIN search_entries e ON e.search_id = f.rowid AND e.language = :language
  JOIN product_popularity r ON r.product_id = e.product_id
  WHERE search_terms MATCH (SELECT COALESCE(group_concat(part, ' AND '), '""') FROM (
    SELECT '(' || group_concat(value ->> 2, ' OR ') || ')' AS part FROM plain CROSS JOIN json_each(plain.readings) WHERE NOT value ->> 5 GROUP BY value ->> 0))`;

function ratings(postgres: Postgres): Promise<readonly unknown[]> {
  return postgres
    .query<{ rating: number }>('SELECT DISTINCT rating FROM products ORDER BY rating DESC')
    .then((rows) => rows.map(({ rating }) => rating));
}

/** A connection that ends as if the server, or this process, was killed before one of its statements. */
function breakingAt(postgres: Postgres, at: number): Postgres {
  let statements = 0;
  return {
    ...postgres,
    transaction: (work, isolation) =>
      postgres.transaction(
        (given) =>
          work({
            query: async (text, values) => {
              if (statements++ === at) await given.query('SELECT pg_terminate_backend(pg_backend_pid())');
              return await given.query(text, values);
            },
          }),
        isolation,
      ),
  };
}
