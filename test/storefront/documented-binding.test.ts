import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { document, documents, sqliteStatements } from '../documents.ts';
import { needs } from '../fakes/needs.ts';
import { standingCopy } from '../fakes/standing-copy.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

/** Every statement of the documents: `sql` blocks, what their PHP and Python prepares, and schema/search.sql. */
function statements(): string[] {
  const blocks = (path: string, language: string) =>
    [...document(path).matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) => code);
  const quoted = (code: string) =>
    [...code.matchAll(/(["'])(SELECT (?:(?!\1).)*)\1(?:\)|, \(|, \[\$?(?:product_)?id\])/gs)].map(
      ([, , sql = '']) => sql,
    );
  const found = documents.flatMap((path) => [
    ...sqliteStatements(path).map((sql) => sql.replace(/;\s*$/, '')),
    ...['php', 'python'].flatMap((language) => blocks(path, language)).flatMap(quoted),
  ]);
  return [...new Set([...found, document('schema/search.sql')])];
}

/** What a shopper may ask of the filled mirror, by the names of the documents; the parameter without one is a product. */
interface Asked {
  readonly product: number;
  readonly [name: string]: string | number | null;
}

describe('a statement of the documents', () => {
  let directory: ReturnType<typeof temporaryDirectory>;
  let path = '';
  let db: Database.Database;
  let asked: Asked;

  beforeAll(async () => {
    directory = temporaryDirectory();
    path = join(directory.path, 'mirror.db');
    await using harness = await filledHarness({ products: 40 });
    standingCopy(harness.daemon.config.mirror.path, path, harness.clock.now());
    db = new Database(path, { readonly: true });
    const row = db
      .prepare<
        [],
        {
          product: number;
          title: string;
          date: string;
          price: number;
          x: number;
          y: number;
          z: number;
          at: number;
          to: number;
        }
      >(
        `SELECT b.product_id AS product, p.title, b.date, max(b.lowest_price, p.from_price) AS price, l.x, l.y, l.z, p.latitude AS at, p.longitude AS "to"
        FROM bookable_days b JOIN products p USING (product_id) JOIN product_places l USING (product_id)
        WHERE b.lowest_price > 0 AND b.currency = 'EUR' AND EXISTS (SELECT 1 FROM images i WHERE i.product_id = p.product_id)
        ORDER BY price DESC, b.product_id, b.date`,
      )
      .get();
    if (row === undefined) throw new Error('nothing is for sale');
    const { product, title, date, price, x, y, z } = row;
    const word = /\p{L}+/u.exec(title)?.[0] ?? '';
    const box = { south: row.at - 70, north: row.at + 70, west: row.to - 70, east: row.to + 70, chord2: 1e-9 };
    const filters = { city_id: null, country_id: null, tag_id: null, min_rating: null, from: date, to: date };
    const words = {
      match: `"${word}"`,
      text: word,
      language: 'en',
      currency: 'EUR',
      limit: 20,
      offset: 0,
      sellable: 1,
    };
    asked = { product, date, max_price: price, x, y, z, ...box, ...filters, ...words };
  });

  afterAll(() => {
    db.close();
    directory[Symbol.dispose]();
  });

  /** What is bound, as a client of one kind does. */
  function bound(sql: string, of: (value: string | number) => string | number): Record<string, unknown> | unknown[] {
    const named = [...new Set([...sql.matchAll(/(?<!\d):(\w+)/g)].map(([, name = '']) => name))];
    const value = (name: string) => {
      const wanted = asked[name];
      if (wanted === undefined) throw new Error(`${name} is not asked for`);
      return wanted === null ? null : of(wanted);
    };
    return sql.includes('?') ? [of(asked.product)] : Object.fromEntries(named.map((name) => [name, value(name)]));
  }

  const answer = (sql: string, of: (value: string | number) => string | number) =>
    db.prepare<unknown[], object>(ofProduct(sql)).all(bound(ofProduct(sql), of));
  /** A product that the documents name is one of the demo's. */
  const ofProduct = (sql: string) => sql.replaceAll('703295', String(asked.product));

  it('finds the same rows by text as by numbers', () => {
    expect(statements().length).toBeGreaterThan(7);
    for (const sql of statements()) {
      const rows = answer(sql, (value) => value);
      expect(rows, sql.slice(0, 200)).not.toEqual([]);
      expect(answer(sql, String), sql.slice(0, 200)).toEqual(rows);
    }
  });

  it('finds them from PDO::execute([…]) too, which binds everything as text', needs('php'), () => {
    const php = `$db = new PDO("sqlite:" . $argv[1], null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY]);
foreach (json_decode(stream_get_contents(STDIN), true) as [$sql, $bound]) {
    $statement = $db->prepare($sql);
    $statement->execute($bound);
    $rows[] = $statement->fetchAll(PDO::FETCH_ASSOC);
}
echo json_encode($rows);`;
    const asked = statements().map((sql) => [ofProduct(sql), bound(ofProduct(sql), String)]);
    const output = execFileSync('php', ['-r', php, path], { input: JSON.stringify(asked), encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual(statements().map((sql) => answer(sql, (value) => value)));
  });

  it('finds others by text where it asks a column without a type (control)', () => {
    const bare = statements().map((sql) => sql.replaceAll(/CAST\((:chord2|:sellable) AS \w+\)/g, '$1'));
    const differ = bare.filter((sql) => {
      const [numbers, texts] = [answer(sql, (value) => value), answer(sql, String)];
      return JSON.stringify(numbers) !== JSON.stringify(texts);
    });
    expect(differ.map((sql) => /FROM (?:product_places|answer)/.exec(sql)?.[0])).toContain('FROM product_places');
  });
});
