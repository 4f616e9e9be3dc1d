import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openForWriting, schemaVersion } from '../../src/kernel/sqlite/database-file.ts';
import { CataloguedError, type Reader } from '../../src/storefront/reader.ts';
import { nextVersion } from '../fakes/next-version.ts';
import { openReader } from '../fakes/reader.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);

/** The code of what is thrown. */
function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof CataloguedError) return error.code;
    throw error;
  }
  return 'none';
}

describe('a reader of a filled mirror', () => {
  let harness: VirtualHarness;
  let reader: Reader;
  let db: Database.Database;
  let product_id: number;
  beforeAll(async () => {
    harness = await virtualHarness({ products: 30 }, {}, { start: Date.now() });
    await harness.fill();
    db = new Database(harness.daemon.config.mirror.path, { readonly: true });
    reader = openReader(harness.daemon.config.mirror.path);
    product_id = db
      .prepare<[], number>(
        'SELECT product_id FROM bookable_days GROUP BY product_id ORDER BY count(*) DESC, product_id LIMIT 1',
      )
      .pluck()
      .get() as number;
  });
  afterAll(async () => {
    reader.close();
    db.close();
    await harness[Symbol.asyncDispose]();
  });
  const rows = (sql: string, ...bound: unknown[]) => db.prepare(sql).all(...bound);

  it('lists products page by page, of a city, an experience, a tag, or all at once', () => {
    const ids = (question: Parameters<Reader['products']>[0]) =>
      reader.products(question).map((each) => each.product_id);
    const of = (sql: string) =>
      rows(`SELECT product_id FROM products WHERE ${sql} ORDER BY product_id`).map(
        (row) => (row as { product_id: number }).product_id,
      );
    const { city_id = 0, venue_id = 0 } = (reader.product(product_id) ?? {}) as { city_id?: number; venue_id?: number };
    const [tag_id = 0] = db
      .prepare<[number], number>('SELECT tag_id FROM product_tags WHERE product_id = ?')
      .pluck()
      .all(product_id);
    const ofTag = `product_id IN (SELECT product_id FROM product_tags WHERE tag_id = ${tag_id})`;
    const ofExperience = `product_id IN (SELECT product_id FROM product_experiences WHERE experience_id = ${venue_id})`;
    const all = of('1');
    expect(ids({})).toEqual(all);
    expect(ids({ limit: 4 })).toEqual(all.slice(0, 4));
    expect(ids({ after: all[3], limit: 4 })).toEqual(all.slice(4, 8));
    expect(ids({ city_id })).toEqual(of(`city_id = ${city_id}`));
    expect(ids({ tag_id })).toEqual(of(ofTag));
    expect(ids({ experience_id: venue_id })).toEqual(of(ofExperience));
    expect(ids({ experience_id: venue_id, tag_id, city_id })).toEqual(
      of(`city_id = ${city_id} AND ${ofTag} AND ${ofExperience}`),
    );
    expect(() => ids({ city_id: 1 })).toThrow('city_id: no product has 1');
  });

  it('says unknown of a date that was never read, and of one that is past', () => {
    const asked = reader.calendar(product_id, { from: day(-2), to: day(400) });
    expect(asked).toHaveLength(403);
    expect(asked.map(({ date }) => date)).toEqual(Array.from({ length: 403 }, (_, index) => day(index - 2)));
    expect(asked[0]).toMatchObject({ product_id, date: day(-2), currency: 'EUR', state: 'unknown', stale: null });
    expect(asked.at(-1)?.state).toBe('unknown');
    expect(asked.filter(({ state }) => state !== 'unknown')).toEqual(reader.calendar(product_id));
    expect(reader.calendar(1, { from: day(0), to: day(1) }).map(({ state }) => state)).toEqual(['unknown', 'unknown']);
    expect(reader.calendar(1)).toEqual([]);
  });

  it('finds what is sellable within 5 km, available on a date and under a price, the cheapest first', () => {
    const { latitude, longitude } = reader.product(product_id) as { latitude: number; longitude: number };
    // On a fixed date it may be sold out: that depends on the day of the run.
    const soon = reader.calendar(product_id, { from: day(20), to: day(40) });
    const { date = '' } = soon.find(({ state }) => state === 'available') ?? {};
    const hits = reader.exact({
      near: { latitude, longitude, km: 5 },
      date,
      max_price: 30_000,
      sellable: true,
      order: 'price',
      limit: 100,
    });
    const wanted = db
      .prepare<[string, number, number], number>(
        'SELECT b.product_id FROM bookable_days b JOIN products p USING (product_id) WHERE b.date = ? AND b.lowest_price <= 30000 AND abs(p.latitude - ?) < 0.02 AND abs(p.longitude - ?) < 0.02',
      )
      .pluck();
    expect(hits.length).toBeGreaterThan(0);
    expect(hits.map((hit) => hit.product_id).sort()).toEqual(wanted.all(date, latitude, longitude).sort());
    expect(hits.map(({ price }) => price)).toEqual(hits.map(({ price }) => price ?? 0).toSorted((a, b) => a - b));
    expect(hits.every((hit) => hit.date === date && hit.sellable === 1 && (hit.distance_km ?? 9) <= 5)).toBe(true);
  });
});

function oneProduct(): TestMirror {
  const test = testMirror();
  putProducts(test, [productOf(7)]);
  return test;
}

describe('a reader', () => {
  it('names what is wrong with a file: missing, foreign, damaged, no database', () => {
    using directory = temporaryDirectory();
    const at = (name: string) => join(directory.path, name);
    expect(codeOf(() => openReader(at('none.db')))).toBe('no-mirror');
    writeFileSync(at('empty.db'), '');
    expect(codeOf(() => openReader(at('empty.db')))).toBe('no-mirror');
    const foreign = new Database(at('foreign.db'));
    foreign.exec('CREATE TABLE t (a)');
    foreign.close();
    expect(codeOf(() => openReader(at('foreign.db')))).toBe('foreign-file');
    writeFileSync(at('text.db'), 'no database at all, but long enough to be looked at'.repeat(100));
    expect(codeOf(() => openReader(at('text.db')))).toBe('foreign-file');
    writeFileSync(at('wiped.db'), Buffer.alloc(8192));
    expect(codeOf(() => openReader(at('wiped.db')))).toBe('damaged');
    expect(codeOf(() => openReader(undefined as unknown as string))).toBe('bad-argument');
    expect(codeOf(() => openReader(''))).toBe('bad-argument');
    expect(codeOf(() => openReader(directory.path))).toBe('unreadable');
  });

  it('goes on while the daemon is upgraded beside it, and names what a mirror of another contract lacks', () => {
    using test = oneProduct();
    using next = nextVersion();
    const { path } = test;
    using reader = openReader(path);
    const before = reader.product(7);
    expect(before).toMatchObject({ product_id: 7 });
    openForWriting(path, next.mirror).close();
    expect(reader.product(7)).toEqual(before);
    const db = new Database(path);
    expect(db.pragma('user_version', { simple: true })).toBe(schemaVersion(next.mirror));
    db.exec('UPDATE _mirror SET contract_version = 0; DROP TABLE alternatives');
    expect(() => reader.alternatives(7)).toThrow(
      expect.objectContaining({
        code: 'older-contract',
        message: expect.stringContaining('has no alternatives: its contract is 0'),
      }),
    );
    db.exec('UPDATE _mirror SET contract_version = 99');
    expect(codeOf(() => reader.alternatives(7))).toBe('newer-contract');
    db.close();
  });

  it('reads the file that took the place of the one it opened, within a second, and stays with that while there is none', () => {
    using one = oneProduct();
    using two = testMirror();
    putProducts(two, [productOf(8)]);
    using directory = temporaryDirectory();
    const path = join(directory.path, 'snapshot.db');
    const publish = (test: TestMirror) => {
      const db = new Database(test.path);
      db.exec(`VACUUM INTO '${path}.tmp'`);
      db.close();
      renameSync(`${path}.tmp`, path);
    };
    publish(one);
    let now = 0;
    using reader = openReader(path, { now: () => now });
    const ids = () => reader.products().map(({ product_id }) => product_id);
    expect(ids()).toEqual([7]);
    publish(two);
    expect(ids()).toEqual([7]);
    now += 1000;
    expect(ids()).toEqual([8]);
    rmSync(path);
    now += 1000;
    expect(ids()).toEqual([8]);
    writeFileSync(path, 'half of a file');
    now += 1000;
    expect(ids()).toEqual([8]);
    copyFileSync(one.path, path);
    publish(one);
    now -= 5000;
    expect(ids()).toEqual([7]);
  });

  it('gives several reads of one state, and those that follow the newest', () => {
    using test = oneProduct();
    using reader = openReader(test.path);
    const title = () => reader.product(7)?.title;
    reader.transaction(() => {
      expect(title()).toBe('Tower 7');
      putProducts(test, [productOf(7, { title: 'Castle', document: '{"a":1}' })], {
        sent_at: Date.now() + 1000,
      });
      expect(reader.transaction(title)).toBe('Tower 7');
    });
    expect(title()).toBe('Castle');
    expect(() =>
      reader.transaction(() => {
        throw new Error('of the caller');
      }),
    ).toThrow('of the caller');
    expect(title()).toBe('Castle');
  });

  it('tries once more what passes by itself, once, and reports what stays', () => {
    using test = oneProduct();
    using reader = openReader(test.path);
    reader.product(7);
    const probe = new Database(':memory:');
    const statements = Object.getPrototypeOf(probe.prepare('SELECT 1')) as { get(...bound: unknown[]): unknown };
    const { get } = statements;
    /** The next reads fail as SQLite would. */
    const failing = (times: number, code: string) => {
      let left = times;
      statements.get = function (...bound) {
        left -= 1;
        if (left >= 0) throw new Database.SqliteError('as it happens', code);
        return get.apply(this, bound);
      };
    };
    for (const code of [
      'SQLITE_READONLY_RECOVERY',
      'SQLITE_BUSY_RECOVERY',
      'SQLITE_BUSY_SNAPSHOT',
      'SQLITE_CANTOPEN',
      'SQLITE_SCHEMA',
    ]) {
      failing(1, code);
      expect(reader.product(7)?.product_id, code).toBe(7);
      failing(1, code);
      expect(
        reader.transaction(() => reader.product(7)?.product_id),
        code,
      ).toBe(7);
      failing(2, code);
      expect(() => reader.product(7), code).toThrow('as it happens');
    }
    failing(1, 'SQLITE_IOERR_READ');
    expect(() => reader.product(7)).toThrow('as it happens');
    statements.get = get;
    probe.close();
  });

  it('is closed once, and says so afterwards', () => {
    using test = oneProduct();
    const reader = openReader(test.path);
    reader.close();
    reader.close();
    expect(codeOf(() => reader.product(7))).toBe('closed');
    expect(codeOf(() => reader.transaction(() => 1))).toBe('closed');
    const closing = openReader(test.path);
    expect(closing.transaction(() => closing.close())).toBeUndefined();
    expect(codeOf(() => closing.product(7))).toBe('closed');
  });
});
