import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { contractVersion } from '../../src/mirror/claim.ts';
import { contractTables } from '../../src/mirror/rows/capture.ts';
import { openReader } from '../../src/storefront/reader.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';
import { contract } from './columns.ts';
import { keys } from './keys.ts';

const tables = contractTables.map((name) => `'${name}'`).join();

function viewsThatStand(): Record<string, string[]> {
  using test = testMirror();
  const names = test.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'view' OR sql LIKE 'CREATE VIRTUAL TABLE%' OR name IN (${tables}) ORDER BY name`,
  );
  return Object.fromEntries(
    names.map(({ name }) => [
      name,
      test.all<{ name: string }>('SELECT name FROM pragma_table_info(?)', name).map((column) => column.name),
    ]),
  );
}

/** The values that a column has by its meaning, as in `text: near, middle or far; null: …`; null: it names none. */
function wordsOf(meaning: string): string[] | null {
  const [, list] = /^text: (\w+(?:(?:, | or )\w+)+)(?:;|$)/.exec(meaning) ?? [];
  return list === undefined ? null : list.split(/, | or /);
}

describe('schema/contract.json', () => {
  it('lists every view and every column that stands, and none besides', () => {
    const described = Object.entries(contract.columns).map(([view, columns]) => [view, Object.keys(columns)]);
    expect(Object.fromEntries(described)).toEqual(viewsThatStand());
  });

  it('has the key of every view, in test/contract/keys.ts', () => {
    using test = testMirror();
    const views = test.all<{ name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'view' OR name IN (${tables}) ORDER BY name`,
    );
    expect(Object.keys(keys)).toEqual(views.map(({ name }) => name));
  });

  it('is what is generated from them (npx vitest run --config test/vitest.config.ts contract -u)', async () => {
    const views = Object.fromEntries(Object.keys(viewsThatStand()).map((view) => [view, contract.columns[view]]));
    const text = `${JSON.stringify({ contract_version: contractVersion, views, keys, outputs: contract.outputs, reader: contract.reader }, null, 2)}\n`;
    await expect(text).toMatchFileSnapshot('../../schema/contract.json');
  });

  it('names the types and the words that a filled mirror holds, and a null only where it says what that means', async () => {
    await using harness = await filledHarness({ products: 40 });
    const db = openMirrorAt(harness.wiring.mirror.path, harness.clock.now());
    for (const [view, columns] of Object.entries(contract.columns)) {
      for (const [column, meaning] of Object.entries(columns)) {
        const types = db.prepare<[], string>(`SELECT DISTINCT typeof("${column}") FROM "${view}"`).pluck().all();
        const type = /^\w+/.exec(meaning)?.[0] ?? '';
        const allowed = [type, ...(type === 'real' ? ['integer'] : []), ...(meaning.includes('null:') ? ['null'] : [])];
        expect(
          types.filter((found) => !allowed.includes(found)),
          `${view}.${column}`,
        ).toEqual([]);
        const words = wordsOf(meaning);
        if (words === null) continue;
        const values = db.prepare<[], string | null>(`SELECT DISTINCT "${column}" FROM "${view}"`).pluck().all();
        expect(
          values.filter((value) => value !== null && !words.includes(value)),
          `${view}.${column}: ${meaning}`,
        ).toEqual([]);
      }
    }
    db.close();
  });
});

it('the reader’s functions are those of the contract, and return the fields that it lists', async () => {
  await using harness = await filledHarness({ products: 20 });
  const [open] = harness.sandbox.world.visible().filter(({ status }) => status === 'available');
  const gone = harness.sandbox.world.visible().at(-1)?.id ?? 0;
  const { mirror } = harness.wiring;
  const by = { sent_at: harness.clock.now(), reason: 'cadence-elapsed' } as const;
  mirror.transaction(() => mirror.removals.withdraw(gone, 'gone', by.sent_at, by));
  using reader = openReader(harness.wiring.mirror.path);
  const product_id = open?.id ?? 0;
  const [day] = reader.calendar(product_id).filter(({ state }) => state === 'available');
  const answers: Readonly<Record<string, unknown>> = {
    info: reader.info(),
    product: reader.product(product_id),
    products: reader.products(),
    prices: reader.prices(product_id),
    withdrawn: reader.withdrawn(gone),
    experience: reader.experience(reader.experiences()[0]?.experience_id ?? 0),
    experiences: reader.experiences(),
    cities: reader.cities(),
    countries: reader.countries(),
    currencies: reader.currencies(),
    images: harness.sandbox.world.visible().flatMap(({ id }) => reader.images(id)),
    checkoutInformation: reader.checkoutInformation(product_id),
    variants: reader.variants(product_id),
    calendar: reader.calendar(product_id),
    slots: reader.slots(product_id, day?.date ?? ''),
    cheapest: reader.cheapest(product_id),
    search: reader.search({ text: 'a' }),
    find: reader.find(),
    related: reader
      .products()
      .map(({ product_id: id }) => reader.related(id))
      .find((rows) => rows.length > 0),
    newest: reader.newest(),
    changes: reader.changes(0),
    freshness: reader.freshness(),
    policies: reader.policies(),
  };
  const stands = Object.fromEntries(
    Object.keys(reader).map((name) => {
      const answer = answers[name];
      const first = Array.isArray(answer) ? answer[0] : answer;
      // No product of this seed is closed: a row of alternatives is a product.
      // Answered by a daemon: test/storefront/door.test.ts holds them to the same lists.
      if (name === 'check' || name === 'order') return [name, contract.reader[name] ?? []];
      if (name === 'alternatives') return [name, Object.keys(answers.product ?? {})];
      return [name, typeof first === 'object' && first !== null ? Object.keys(first) : []];
    }),
  );
  const sorted = (table: Readonly<Record<string, readonly string[]>>) =>
    Object.fromEntries(Object.entries(table).map(([name, fields]) => [name, [...fields].sort()]));
  expect(sorted(stands)).toEqual(sorted(contract.reader));
});

it('the views need nothing newer than SQLite 3.38', () => {
  const schema = new URL('../../schema/mirror/', import.meta.url);
  const texts = readdirSync(schema).map((name) => readFileSync(new URL(name, schema), 'utf8').replace(/--.*/g, ''));
  const sql = texts.join('\n');
  expect(sql.match(/^CREATE VIEW/gm)?.length).toBeGreaterThan(20);
  expect(sql).not.toMatch(/jsonb|subsec|->|timediff|concat\(/i);
});
