import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { instant } from '../src/clock.ts';
import { productOf, putProducts } from './fakes/stored-products.ts';
import { temporaryDirectory, testMirror } from './fakes/test-mirror.ts';
import { writeScripts } from './worlds/copies/script.ts';

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
