import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { ChangeKind } from '../../src/feed/change.rules.ts';
import { instant } from '../../src/kernel/clock.ts';
import { needs } from '../fakes/needs.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import { thorough } from '../fakes/thorough.ts';
import { type Followed, follow } from '../worlds/copies/follow.ts';
import { announced, announcedViews } from '../worlds/copies/importer.ts';
import { writeScripts } from '../worlds/copies/script.ts';

/** Total: the compiler asks for a kind that is new. */
const all: Readonly<Record<ChangeKind, true>> = {
  product_added: true,
  product_changed: true,
  product_withdrawn: true,
  product_returned: true,
  sale_disabled: true,
  sale_enabled: true,
  dates_withheld: true,
  dates_released: true,
  price_changed: true,
  date_added: true,
  date_sold_out: true,
  date_back: true,
  image_added: true,
  image_credit_changed: true,
  image_withdrawn: true,
  checkout_changed: true,
  variants_changed: true,
  slots_changed: true,
  images_changed: true,
  prices_changed: true,
  experience_changed: true,
  tags_changed: true,
  held: true,
  pass_completed: true,
};
const kinds = Object.keys(all);
/** `held` moves only columns that are marked `clock: true`, which a copy leaves out. */
const copiedKinds = kinds.filter((kind) => kind !== 'held');

describe('a copy kept by the script of docs/copies.md', () => {
  let followed: Followed | null = null;
  const once = async () =>
    (followed ??= await follow({ changes: thorough ? 600 : 120, seed: 4, without: copiedKinds }));

  it('equals the views, cell by cell, at the end of every pass', async () => {
    const { wrong, passes } = await once();
    expect(wrong).toEqual([]);
    expect(passes).toBeGreaterThan(thorough ? 100 : 20);
  });

  const many = needs('time');

  it('differs once it passes over one kind of change, whichever it is (control)', many, async () => {
    expect((await once()).needless).toEqual([]);
  });

  it(
    'has seen every kind, and every column change that schema/contract.json does not mark clock: true',
    many,
    async () => {
      const { seen, lines } = await once();
      expect(Object.keys(lines).sort()).toEqual([...kinds].sort());
      const expected = announcedViews.flatMap((view) => announced(view).map((name) => `${view}.${name}`));
      expect(expected.filter((name) => !seen.has(name))).toEqual([]);
      expect(expected.length).toBeGreaterThan(100);
    },
  );
});

const at = instant(Date.now());

/** A filled mirror of two products whose first pass has ended. */
function filled() {
  const test = testMirror();
  putProducts(test, [productOf(1), productOf(2)], { sent_at: at });
  test.mirror.transaction(() => {
    test.mirror.markFilled(at);
    test.mirror.changes.completePass(at);
  });
  return test;
}

it('what docs/copies.md sends to Algolia and WooCommerce names each changed product once, as it is now', async () => {
  using directory = temporaryDirectory();
  using test = filled();
  writeScripts(directory.path);
  const shop = (await import(pathToFileURL(join(directory.path, 'shop.mjs')).href)) as Record<string, never>;
  const { sendChanges, algoliaBatch, wooBatch } = shop as unknown as {
    sendChanges(mirror: string, cursor: object, to: object): Promise<{ next: number }>;
    algoliaBatch(products: object): object;
    wooBatch(reader: object, products: object, idOf: (sku: string) => number | undefined): object;
  };
  const got: unknown[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += String(part);
    });
    request.on('end', () => {
      got.push(JSON.parse(body));
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/batch`;
  const cursor = { next: 0, feed: 'feed' };
  const { feed_id } = test.all<{ feed_id: string }>('SELECT feed_id FROM mirror_info')[0] ?? { feed_id: '' };
  const send = (batch: (reader: object, products: object) => object) =>
    sendChanges(test.path, { ...cursor, feed: feed_id }, { url, headers: {}, batch });
  expect(await send((_, products) => algoliaBatch(products))).toMatchObject({ next: test.mirror.changes.newest() });
  await send((reader, products) => wooBatch(reader, products, (sku) => (sku === '1' ? 77 : undefined)));
  server.close();
  const [algolia, woo] = got as [
    { requests: { action: string; body: object }[] },
    { create: object[]; update: object[] },
  ];
  expect(algolia.requests).toMatchObject([
    { action: 'updateObject', body: { objectID: '1', title: 'Tower 1' } },
    { action: 'updateObject', body: { objectID: '2', title: 'Tower 2' } },
  ]);
  expect(woo).toMatchObject({ create: [{ sku: '2', name: 'Tower 2' }], update: [{ id: 77, sku: '1' }], delete: [] });
});
