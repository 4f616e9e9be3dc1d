import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { openReader } from '../fakes/reader.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { documentedSearch } from './documented-search.ts';
import { townProducts } from './relevance/town-products.ts';
import { townQueries } from './relevance/town-queries.ts';

const schema = new URL('../../schema/search.sql', import.meta.url);

const python = `import json, sqlite3, sys
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
sql = open(sys.argv[2], encoding=sys.argv[4]).read()
optional = dict.fromkeys(["city_id", "country_id", "tag_id", "min_rating", "max_price", "sellable", "from", "to"])
for asked in json.loads(sys.argv[3]):
    found = db.execute(sql, optional | {"language": "en", "currency": "EUR", "limit": 20, "offset": 0} | asked).fetchall()
    print(json.dumps([row[0] for row in found]), json.dumps(found[0][11] if found else None))`;

const php = `$db = new PDO("sqlite:" . $argv[1], null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY]);
$statement = $db->prepare(file_get_contents($argv[2]));
$optional = array_fill_keys(["city_id", "country_id", "tag_id", "min_rating", "max_price", "sellable", "from", "to"], null);
foreach (json_decode($argv[3], true) as $asked) {
    $statement->execute($asked + $optional + ["language" => "en", "currency" => "EUR", "limit" => 20, "offset" => 0]);
    $found = $statement->fetchAll(PDO::FETCH_ASSOC);
    echo str_replace(",", ", ", json_encode(array_column($found, "product_id"))), " ", json_encode($found[0]["meant"] ?? null), "\\n";
}`;

describe('schema/search.sql', () => {
  it('is the search of the reader as one statement (npm run generate)', async () => {
    await expect(documentedSearch).toMatchFileSnapshot('../../schema/search.sql');
  });

  it(
    'finds from PHP and Python, in an old SQLite, what the reader finds, in the same order',
    needs('php', 'python3'),
    () => {
      using test = testMirror();
      putProducts(
        test,
        townProducts.map(({ product_id, title, city, tagline, country }) =>
          productOf(product_id, {
            title,
            tagline,
            city_name: city,
            city_id: city.length,
            country_name: country,
            rating: null,
            tag_ids: [product_id % 5],
          }),
        ),
      );
      using reader = openReader(test.path);
      const asked = [
        ...Object.values(townQueries)
          .flat()
          .map(([text]) => ({ text })),
        { text: 'museum', tag_id: 2 },
        { text: 'ticket', city_id: 6, sellable: 1 },
        { text: "'; DROP TABLE _product; --" },
        { text: '👍 museum "*' },
      ];
      const expected = asked.map(({ text, ...filters }) => {
        const { hits, meant } = reader.search({ text, ...filters, sellable: 'sellable' in filters ? true : undefined });
        return `${JSON.stringify(hits.map(({ product_id }) => product_id)).replaceAll(',', ', ')} ${JSON.stringify(hits.length > 0 ? meant : null)}`;
      });
      const args = [test.path, schema.pathname, JSON.stringify(asked)];
      const lines = (output: string) => output.trimEnd().split('\n');
      for (const encoding of ['utf-8', 'latin-1'])
        expect(
          lines(execFileSync('python3', ['-c', python, ...args, encoding], { encoding: 'utf8' })),
          encoding,
        ).toEqual(expected);
      expect(lines(execFileSync('php', ['-r', php, ...args], { encoding: 'utf8' }))).toEqual(expected);
    },
  );
});
