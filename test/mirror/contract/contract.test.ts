import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openMirrorAt } from '../../fakes/mirror-at.ts';
import { withdraw } from '../../fakes/planted.ts';
import { openReader } from '../../fakes/reader.ts';
import { testMirror } from '../../fakes/test-mirror.ts';
import { filledHarness } from '../../fakes/virtual-harness.ts';
import { contractJson } from './generate.ts';
import { reader as contractReader } from './outputs.ts';
import { columnsOf, readable, tables } from './tables.ts';

/** The columns of everything that stands in a file, by table and view. */
function standing(): Record<string, string[]> {
  using test = testMirror();
  const names = test.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')");
  return Object.fromEntries(
    names.map(({ name }) => [
      name,
      test.all<{ name: string }>('SELECT name FROM pragma_table_info(?)', name).map((column) => column.name),
    ]),
  );
}

/** Tables of no view and not declared, whose names say that readers may use them. */
function undeclared(): string[] {
  using test = testMirror();
  const rows = test.all<{ name: string; type: string }>(
    `SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')
      AND name NOT GLOB '[_]*' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'product_search_*'
      AND name NOT GLOB 'search_terms_*' AND name NOT GLOB 'product_places_*'`,
  );
  const [{ sql } = { sql: '' }] = test.all<{ sql: string }>(
    "SELECT group_concat(sql, ' ') AS sql FROM sqlite_schema WHERE type = 'view'",
  );
  return rows
    .filter(({ name }) => !(name in readable))
    .filter(({ name, type }) => type === 'view' || !new RegExp(`\\b${name}\\b`).test(sql))
    .map(({ name }) => name);
}

describe('the declarations of src/mirror/contract', () => {
  it('are of every table and view that readers find, column by column and in this order, and of no other', () => {
    const declared = Object.values(readable).map(({ name, columns }) => [name, Object.keys(columns)]);
    expect(Object.fromEntries(declared)).toEqual(
      Object.fromEntries(Object.entries(standing()).filter(([name]) => name in readable)),
    );
    expect(undeclared()).toEqual([]);
    for (const [name, declaration] of Object.entries(readable)) expect(declaration.name).toBe(name);
  });

  it('mark what is never public: commission and what it is made of, subscriptions, error rates and trust', () => {
    const shut = Object.values(tables).flatMap(({ name, columns }) =>
      Object.entries(columns).flatMap(([column, declared]) => (declared.public === false ? [`${name}.${column}`] : [])),
    );
    const whole = ['subscriptions', 'availability_error_rate'].flatMap((view) =>
      columnsOf(view).map(([column]) => `${view}.${column}`),
    );
    const parts = ['ticket_value', 'booking_fee', 'commission'].map((column) => `availability_slots.${column}`);
    expect(shut.sort()).toEqual([...parts, ...whole].sort());
  });

  it('name the types and the words that a filled mirror holds, and a null only where they say what that means', async () => {
    await using harness = await filledHarness({ products: 40 });
    const db = openMirrorAt(harness.daemon.config.mirror.path, harness.clock.now());
    const valuesOf = (sql: string) => db.prepare<[], string | null>(sql).pluck().all();
    for (const { name: view, columns } of Object.values(readable)) {
      for (const [column, { type, words, null: why }] of Object.entries(columns)) {
        const allowed = [type, ...(type === 'real' ? ['integer'] : []), ...(why === undefined ? [] : ['null'])];
        const types = valuesOf(`SELECT DISTINCT typeof("${column}") FROM "${view}"`);
        expect(
          types.filter((found) => !allowed.includes(found ?? '')),
          `${view}.${column}`,
        ).toEqual([]);
        if (words === undefined) continue;
        const values = valuesOf(`SELECT DISTINCT "${column}" FROM "${view}"`);
        expect(
          values.filter((value) => value !== null && !words.includes(value)),
          `${view}.${column}`,
        ).toEqual([]);
      }
    }
    db.close();
  });

  it('name the place in the document that a column of the service comes from', async () => {
    await using harness = await filledHarness({ products: 40 });
    const db = openMirrorAt(harness.daemon.config.mirror.path, harness.clock.now());
    const pathed = Object.values(tables).flatMap(({ name, columns }) =>
      'document' in columns
        ? Object.entries(columns).flatMap(([column, { from, unit }]) =>
            // An amount is sent in units of its currency, minutes as hours and minutes, an id as text.
            from === undefined || unit?.startsWith('min') ? [] : [{ view: name, column, from }],
          )
        : [],
    );
    expect(pathed.length).toBeGreaterThan(40);
    for (const { view, column, from } of pathed) {
      const [shown, differing] = db
        .prepare<[], [number, number]>(
          `SELECT count(*), COALESCE(sum("${column}" <> CAST(json_extract(document, '${from}') AS TEXT)
            AND "${column}" IS NOT json_extract(document, '${from}')), 0)
          FROM "${view}" WHERE "${column}" IS NOT NULL AND json_type(document, '${from}') IS NOT NULL`,
        )
        .raw()
        .get() ?? [0, 0];
      expect({ differing, some: shown > 0 }, `${view}.${column}: ${from}`).toEqual({ differing: 0, some: true });
    }
    db.close();
  });
});

it('schema/contract.json is made from them (npm run generate)', async () => {
  await expect(contractJson()).toMatchFileSnapshot('../../../schema/contract.json');
});

it('the reader’s functions are those of the contract, and return the fields that it lists', async () => {
  await using harness = await filledHarness({ products: 20 });
  const [open] = harness.sandbox.world.visible().filter(({ status }) => status === 'available');
  const gone = harness.sandbox.world.visible().at(-1)?.id ?? 0;
  withdraw(harness, gone, harness.clock.now());
  using reader = openReader(harness.daemon.config.mirror.path);
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
    experienceImages: reader.experiences().flatMap(({ experience_id }) => reader.experienceImages(experience_id)),
    cities: reader.cities(),
    countries: reader.countries(),
    tags: reader.tags(),
    currencies: reader.currencies(),
    images: harness.sandbox.world.visible().flatMap(({ id }) => reader.images(id)),
    checkoutInformation: reader.checkoutInformation(product_id),
    variants: reader.variants(product_id),
    calendar: reader.calendar(product_id),
    slots: reader.slots(product_id, day?.date ?? ''),
    cheapest: reader.cheapest(product_id),
    search: reader.search(),
    exact: reader.exact({ text: 'a' }),
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
      // Answered by a daemon: test/storefront/daemon.test.ts holds them to the same lists.
      if (name === 'check' || name === 'order') return [name, contractReader[name] ?? []];
      if (name === 'alternatives') return [name, Object.keys(answers.product ?? {})];
      return [name, typeof first === 'object' && first !== null ? Object.keys(first) : []];
    }),
  );
  const sorted = (table: Readonly<Record<string, readonly string[]>>) =>
    Object.fromEntries(Object.entries(table).map(([name, fields]) => [name, [...fields].sort()]));
  expect(sorted(stands)).toEqual(sorted(contractReader));
});

it('the views need nothing newer than SQLite 3.38', () => {
  const sql = readFileSync(new URL('../../../schema/mirror/views.sql', import.meta.url), 'utf8').replace(/--.*/g, '');
  expect(sql.match(/^CREATE VIEW/gm)?.length).toBeGreaterThan(15);
  expect(sql).not.toMatch(/jsonb|subsec|timediff|concat\(/i);
});
