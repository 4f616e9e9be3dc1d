import { execFileSync } from 'node:child_process';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { applySearchRules } from '../../src/storefront/search/search.store.ts';
import { section } from '../documents.ts';
import { needs } from '../fakes/needs.ts';
import { withdraw } from '../fakes/planted.ts';
import { openReader } from '../fakes/reader.ts';
import { experienceOf, productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;

interface Entry {
  readonly product_id: number;
  readonly language: string;
  readonly title: string | null;
  readonly tagline: string | null;
  readonly summary: string | null;
  readonly city: string | null;
  readonly venue: string | null;
}

const entriesSql = 'SELECT product_id, language, title, tagline, summary, city, venue FROM product_search';

/** Every entry; throws where the index does not say what they say. */
function entriesOf(path: string): Map<string, Entry> {
  const db = new Database(path);
  db.exec("INSERT INTO product_search (product_search, rank) VALUES ('integrity-check', 1)");
  expect(db.prepare("SELECT rtreecheck('product_places') AS answer").get()).toEqual({ answer: 'ok' });
  const rows = db.prepare<[], Entry>(entriesSql).all();
  db.close();
  return new Map(rows.map((row) => [`${row.product_id} ${row.language}`, row]));
}

function storeExperience({ mirror }: TestMirror, experience_id: number, title: string, sent_at: number): void {
  mirror.transaction(() =>
    mirror.catalogue.experiences.store([experienceOf(experience_id, { title, document: JSON.stringify({ title }) })], {
      currency: 'EUR',
      sent_at: instant(sent_at),
      stale_at: instant(sent_at + hour),
      reason: 'cadence-elapsed',
      isUsable: () => true,
    }),
  );
}

/** The second index as it stands, and as it is when it is made again from the entries. */
function wordsOf(path: string): [unknown, unknown] {
  const db = new Database(path);
  const stands = () =>
    ['_search_text', 'search_words', 'search_deletes'].map((table) =>
      db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all(),
    );
  db.exec("INSERT INTO search_terms (search_terms, rank) VALUES ('integrity-check', 1)");
  const before = stands();
  db.exec('DELETE FROM _search_rules');
  expect(applySearchRules(db)).toBe(true);
  expect(applySearchRules(db)).toBe(false);
  const again = stands();
  db.close();
  return [before, again];
}

const step = fc.record({
  what: fc.constantFrom('list', 'detail', 'other-language', 'late', 'withdraw', 'venue', 'move'),
  product_id: fc.integer({ min: 1, max: 4 }),
  venue_id: fc.integer({ min: 1, max: 3 }),
  word: fc.constantFrom('Tower', 'Zoo', 'Cruise', 'Musée'),
});

describe('product_search', () => {
  it('says what visible products say, whatever becomes of them, and so does product_places', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        using test = testMirror();
        let at = instant(Date.now() - 1000 * hour);
        for (const { what, product_id, venue_id, word } of steps) {
          at = instant(at + hour);
          const document = JSON.stringify({ summary: `${word}s of the town`, venue: { name: `${word} Harness` } });
          const entry = productOf(product_id, { title: word, venue_id, document });
          if (what === 'list' || what === 'detail') putProducts(test, [entry], { source: what, sent_at: at });
          if (what === 'other-language') putProducts(test, [entry], { language: 'nl', sent_at: at });
          if (what === 'late') putProducts(test, [entry], { sent_at: at - 500 * hour });
          if (what === 'move') putProducts(test, [{ ...entry, latitude: null, longitude: null }], { sent_at: at });
          if (what === 'venue') storeExperience(test, venue_id, `Harness of the ${word}`, at);
          if (what === 'withdraw') withdraw(test, product_id, at);
        }
        const said = test.all<Entry>(
          `SELECT p.product_id, p.language, p.title, p.tagline, json_extract(p.document, '$.summary') AS summary, p.city_name AS city,
             COALESCE((SELECT e.title FROM _experience e WHERE e.experience_id = p.venue_id), json_extract(p.document, '$.venue.name')) AS venue
           FROM products p`,
        );
        expect([...entriesOf(test.path).values()].sort(byKey)).toEqual(said.sort(byKey));
        const [stands, again] = wordsOf(test.path);
        expect(stands).toEqual(again);
        const places = test.all('SELECT product_id FROM product_places ORDER BY product_id');
        expect(places).toEqual(
          test.all(
            'SELECT DISTINCT product_id FROM products WHERE latitude IS NOT NULL AND longitude IS NOT NULL ORDER BY product_id',
          ),
        );
      }),
      { numRuns: 15 },
    );
  });

  it('follows the service through a fill, edits, a withdrawal and a return, and quiet weeks cost it nothing', async () => {
    await using harness = await filledHarness({ products: 12 }, { cadence: { products: '1h', product_detail: '2h' } });
    const { path } = harness.daemon.config.mirror;
    const expected = () =>
      new Map(
        harness.sandbox.world.visible().map(({ id }) => {
          const { detail } = harness.sandbox.state(id, { language: 'en', currency: 'EUR', horizon: 92 }) ?? {
            detail: {},
          };
          const {
            title,
            tagline,
            summary,
            city_name: city,
            venue,
          } = detail as unknown as Entry & { city_name: string };
          const entry = { product_id: id, language: 'en', title, tagline, summary, city };
          return [`${id} en`, { ...entry, venue: `Experience ${(venue as unknown as { id: string }).id}` }];
        }),
      );
    expect(entriesOf(path)).toEqual(expected());
    const indexed = () =>
      new Database(path, { readonly: true }).prepare('SELECT id, block FROM product_search_data').all();
    const before = indexed();
    await harness.live(5 * hour);
    expect(indexed()).toEqual(before);

    const [edited, withdrawn] = harness.sandbox.world.visible().filter(({ place }) => place.zone !== null);
    if (edited === undefined || withdrawn === undefined) throw new Error('too few products');
    edited.title = 'Another Name';
    withdrawn.withdrawn = true;
    await harness.live(6 * hour);
    expect(entriesOf(path)).toEqual(expected());
    expect(expected().size).toBe(11);
    withdrawn.withdrawn = false;
    await harness.live(4 * hour);
    expect(entriesOf(path)).toEqual(expected());
    expect(expected().size).toBe(12);
  });

  it('answers the examples of the documents in an old SQLite', needs('python3'), () => {
    using test = testMirror();
    putProducts(test, [productOf(1)]);
    const examples = [...section('Every word as it is typed').matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql);
    const python = `import json, sqlite3, sys, collections
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
asked = collections.defaultdict(int, match='"tow"*', date="2026-12-05", south=52, north=53, west=4, east=5, chord2=9)
for sql in json.loads(sys.argv[2]): print(len(db.execute(sql, asked).fetchall()))`;
    const args = ['-c', python, test.path, JSON.stringify(examples)];
    expect(execFileSync('python3', args, { encoding: 'utf8' })).toBe('1\n0\n');
  });
});

describe('a search', () => {
  function found(
    entries: Parameters<typeof putProducts>[1],
    question: Parameters<ReturnType<typeof openReader>['exact']>[0],
  ) {
    using test = testMirror();
    putProducts(test, entries);
    using reader = openReader(test.path);
    return reader.exact(question).map(({ product_id }) => product_id);
  }

  it('folds diacritics, and takes the last word as the beginning of one', () => {
    const entries = [productOf(1, { title: 'Musée Rodin' }), productOf(2, { title: 'Zürich Museum' })];
    expect(found(entries, { text: 'MUSEE rod' })).toEqual([1]);
    expect(found(entries, { text: 'zuri' })).toEqual([2]);
    expect(found(entries, { text: 'mus' })).toHaveLength(2);
    expect(found(entries, { text: 'mus rodin' })).toEqual([]);
  });

  it('puts what is on sale first, then what says it in its title, then what is liked and bought', () => {
    const entries = [
      productOf(1, { title: 'Canal Cruise', sale_status: 'disabled' }),
      productOf(2, { title: 'Museum', tagline: 'with a cruise' }),
      productOf(3, { title: 'Dinner Cruise', rating: 3 }),
      productOf(4, { title: 'Lunch Cruise', rating: 5 }),
    ];
    expect(found(entries, { text: 'cruise' })).toEqual([4, 3, 2, 1]);
    expect(found(entries, { text: 'cruise', sellable: true })).toEqual([4, 3, 2]);
    expect(found(entries, { city_id: 1, limit: 2, offset: 1 })).toEqual([2, 3]);
  });

  it('for a price takes the product’s own in the currency asked for, and without one a product is left out', () => {
    const entries = [10, 30, 20, null].map((price, index) => productOf(index + 1, { from_price: price }));
    expect(found(entries, { text: 'tower', max_price: 20, order: 'price' })).toEqual([1, 3]);
    expect(found(entries, { text: 'tower', order: 'price' })).toEqual([1, 3, 2, 4]);
  });

  it('without a word in what was typed finds nothing, unless more is asked', () => {
    expect(found([productOf(1)], { text: ' *" ' })).toEqual([]);
    expect(found([productOf(1)], { text: ' *" ', city_id: 1 })).toEqual([1]);
  });
});

function byKey(a: Entry, b: Entry): number {
  return a.product_id - b.product_id || (a.language < b.language ? -1 : 1);
}
