import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli } from '../fakes/built-program.ts';
import { freePort } from '../fakes/free-port.ts';
import { imported, Stage } from './stage.ts';

interface Column {
  readonly type: 'integer' | 'real' | 'text';
  readonly null?: string;
  readonly words?: readonly string[];
  readonly public?: false;
}

interface View {
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, Column>>;
}

interface Contract {
  readonly contract_version: number;
  readonly views: Readonly<Record<string, View>>;
  readonly reader: Readonly<Record<string, readonly string[]>>;
}

/** Functions of either reader: over the file they answer, over HTTP they promise. */
type Functions = Record<string, (...args: readonly unknown[]) => unknown>;

interface ReaderModule {
  openReader(path: string, options: { readonly engine: typeof Database }): Functions & Disposable;
}

interface HttpModule {
  openHttpReader(options: { readonly url: string; readonly key: string }): Functions;
}

type Row = Readonly<Record<string, string | number | null>>;

const contract = JSON.parse(readFileSync(join(dirname(cli), '../schema/contract.json'), 'utf8')) as Contract;
const views = Object.entries(contract.views);
const keys = { public: 'the-key-of-a-shop-in-a-browser', token: 'the-token-of-a-shop-on-a-server-of-its-own' };
const shop = 'https://shop.example';

/** Views that may be empty beside a service where nothing happens. */
const mayBeEmpty = [
  'alternatives',
  'availability_error_rate',
  'experience_images',
  'subscriptions',
  'withdrawn_products',
];

const stack = new AsyncDisposableStack();
let stage: Stage;
let url: string;
let product_id: number;
let date: string;
let experience_id: number;
let withdrawn_id: number;

beforeAll(async () => {
  const listen = `127.0.0.1:${await freePort()}`;
  url = `http://${listen}`;
  stage = stack.use(
    await Stage.open({
      service: ['--products', '8'],
      config: { storefront: { listen, public_key: keys.public, origins: [shop] } },
      env: { CATALOGUED_STOREFRONT_TOKEN: keys.token },
    }),
  );
  await stage.filled();
  [{ product_id, date }] = stage.rows<{ product_id: number; date: string }>(
    `SELECT product_id, date FROM availability_days JOIN product_experiences USING (product_id)
     WHERE state = 'available' AND currency = 'EUR' ORDER BY date DESC LIMIT 1`,
  ) as [{ product_id: number; date: string }];
  experience_id = one('SELECT experience_id FROM product_experiences WHERE product_id = ?', product_id);
  withdrawn_id = one('SELECT max(product_id) FROM products');
});
afterAll(() => stack.disposeAsync());

function one(sql: string, ...values: readonly unknown[]): number {
  return Object.values(stage.rows<Record<string, number>>(sql, ...values)[0] ?? {})[0] ?? Number.NaN;
}

/** Returns where rows are not as a view of the contract is described. */
function offences(name: string, { key, columns }: View, rows: readonly Row[]): string[] {
  const types = {
    integer: Number.isSafeInteger,
    real: Number.isFinite,
    text: (value: unknown) => typeof value === 'string',
  };
  const wrong = Object.entries(columns).flatMap(([column, { type, null: empty, words }]) =>
    rows.every((row) => {
      const value = row[column];
      if (value === null) return empty !== undefined;
      return types[type](value) && (words === undefined || words.includes(String(value)));
    })
      ? []
      : [`${name}.${column}`],
  );
  const distinct = new Set(rows.map((row) => JSON.stringify(key.map((column) => row[column]))));
  return [...wrong, ...(distinct.size === rows.length ? [] : [`${name}: its key is not one`])];
}

const selected = ([name, { columns }]: (typeof views)[number], db: Database.Database) =>
  db.prepare<[], Row>(`SELECT ${Object.keys(columns).map((column) => `"${column}"`)} FROM ${name}`).all();

describe('the contract, as it comes with the program', () => {
  it('has each view and column in a filled file, with values of its type, its words and its key', () => {
    using db = opened();
    expect(views.flatMap(([name, view]) => offences(name, view, selected([name, view], db)))).toEqual([]);
    const empty = views.flatMap(([name, view]) => (selected([name, view], db).length === 0 ? [name] : []));
    expect(empty.filter((name) => !mayBeEmpty.includes(name))).toEqual([]);
    expect(stage.rows('SELECT contract_version FROM mirror_info')).toEqual([
      { contract_version: contract.contract_version },
    ]);
    // Another type, another word and a row that is there twice are seen (control).
    const policies = contract.views.policies as View;
    const rows = selected(['policies', policies], db);
    const planted = [...rows, { ...rows[0], resource: 7 }, { ...rows[0], state: 'rotten' }, { ...rows[0] }] as Row[];
    expect(offences('policies', policies, planted)).toEqual([
      'policies.resource',
      'policies.state',
      'policies: its key is not one',
    ]);
  });

  it('is the same for a client that binds text as for one that binds numbers', () => {
    using db = opened();
    // Of a column without a type SQLite compares a number with a text, and finds nothing (control).
    db.exec('CREATE TEMP VIEW bare AS SELECT product_id + 0 AS product_id FROM products');
    expect(bound(db, 'bare', 'product_id', product_id)).toEqual({ number: expect.any(Number), text: 0 });
    const differing = views.flatMap(([name, { columns }]) =>
      Object.keys(columns).filter((column) => {
        const value = db.prepare(`SELECT max("${column}") FROM ${name}`).pluck().get() as string | number | null;
        if (value === null) return false;
        const { number, text } = bound(db, name, column, value);
        return number === 0 || number !== text;
      }),
    );
    expect(differing).toEqual([]);
  });
});

function opened(): Database.Database & Disposable {
  const db = new Database(stage.mirror, { readonly: true });
  return Object.assign(db, { [Symbol.dispose]: () => db.close() });
}

/** Counts the rows of a view that have a value, bound as what it is and as text. */
function bound(db: Database.Database, view: string, column: string, value: string | number) {
  const count = db.prepare(`SELECT count(*) FROM ${view} WHERE "${column}" = ?`).pluck();
  return { number: count.get(value), text: count.get(String(value)) };
}

/** Arguments of each function that is answered over HTTP too. */
const questions = (): Readonly<Record<string, readonly unknown[]>> => ({
  product: [product_id, { language: 'en' }],
  products: [{ limit: 3, sellable: true }],
  calendar: [product_id, { from: date, to: date }],
  cheapest: [product_id],
  slots: [product_id, date, { currency: 'EUR' }],
  images: [product_id],
  prices: [product_id],
  variants: [product_id],
  checkoutInformation: [product_id],
  alternatives: [product_id],
  related: [product_id, { limit: 2 }],
  withdrawn: [withdrawn_id],
  sellable: [product_id],
  experience: [experience_id],
  experienceImages: [experience_id],
  experiences: [{ limit: 2 }],
  cities: [],
  countries: [],
  tags: [{ product_id }],
  currencies: [],
  policies: [],
  search: [{ text: 'museum', facets: true }],
  exact: [{ text: 'museum', limit: 2 }],
});

/** Amounts that no storefront over the network sees, whatever its key. */
const amounts = ['ticket_value', 'booking_fee', 'commission'];
const hidden = [...amounts, 'document'];

const without = (answer: unknown, names: readonly string[]): unknown =>
  JSON.parse(JSON.stringify(answer, (name, value) => (names.includes(name) ? undefined : value)));

describe('the functions of the reader', () => {
  it('are those of the contract, answer its columns, and answer the same over HTTP', async () => {
    const { openReader } = await imported<ReaderModule>('storefront/reader.js');
    const { openHttpReader } = await imported<HttpModule>('reader/http.mjs');
    using reader = openReader(stage.mirror, { engine: Database });
    const http = openHttpReader({ url, key: keys.public });
    expect(Object.keys(contract.reader).filter((name) => typeof reader[name] !== 'function')).toEqual([]);
    for (const [name, args] of Object.entries(questions())) {
      const own = reader[name]?.(...args);
      expect(own, name).toBeDefined();
      expect(await http[name]?.(...args), name).toEqual(without(own, hidden));
      const named = contract.reader[name] ?? [];
      const row = Array.isArray(own) ? own[0] : own;
      if (typeof row === 'object' && row !== null)
        expect(Object.keys(row), name).toEqual(expect.arrayContaining([...named]));
    }
    expect(reader.info?.()).toMatchObject({ contract_version: contract.contract_version });
    expect(reader.transaction?.(() => reader.sellable?.(product_id))).toBe(true);
    expect(() => reader.product?.('seven')).toThrow(expect.objectContaining({ code: 'bad-argument' }));
    await expect(http.product?.('seven')).rejects.toMatchObject({ code: 'bad-argument' });
  });

  it('show over HTTP no private column to any key, and let pages of other origins only read', async () => {
    const answer = (path: string, headers: Record<string, string>, method = 'GET') =>
      fetch(`${url}${path}`, { method, headers });
    const by = (key: string) => ({ authorization: `Bearer ${key}` });
    const product = `/v1/products/${product_id}`;
    const paths = ['/v1/products', product, `${product}/calendar`, `${product}/slots?date=${date}`, '/openapi.json'];
    for (const key of Object.values(keys)) {
      const answers = await Promise.all(paths.map((path) => answer(path, by(key))));
      expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
      const texts = (await Promise.all(answers.map((each) => each.text()))).join();
      expect(amounts.filter((name) => texts.includes(`"${name}"`))).toEqual([]);
    }
    // They are in the contract, and in the file (control).
    const slots = contract.views.availability_slots as View;
    expect(amounts.filter((name) => slots.columns[name]?.public === false)).toEqual(amounts);
    expect(one('SELECT count(booking_fee) FROM availability_slots')).toBeGreaterThan(0);

    const status = async (...asked: Parameters<typeof answer>) => (await answer(...asked)).status;
    expect(await status('/v1/cities', { ...by(keys.public), origin: shop, 'sec-fetch-site': 'cross-site' })).toBe(200);
    expect(await status('/v1/cities', { ...by(keys.public), origin: 'https://elsewhere.example' })).toBe(403);
    expect(await status('/v1/cities', {})).toBe(401);
    for (const key of Object.values(keys)) {
      expect(await status('/v1/check', { ...by(key), origin: shop }, 'POST')).toBe(403);
      expect(await status('/v1/changes', { ...by(key), origin: shop })).toBe(403);
    }
    expect(await status('/v1/check', by(keys.public), 'POST')).toBe(401);
  });
});
