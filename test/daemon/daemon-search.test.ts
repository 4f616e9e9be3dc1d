import { afterAll, beforeAll, expect, it } from 'vitest';
import { ReaderThread } from '../../src/daemon/reading/thread.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import type { SearchQuestion } from '../../src/storefront/reader.ts';
import { openReader } from '../fakes/reader.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';
import { townProducts } from '../storefront/relevance/town-products.ts';

let test: TestMirror;
beforeAll(() => {
  test = testMirror();
  const entries = townProducts.map(({ product_id, title, city, tagline }) =>
    productOf(product_id, { title, tagline, city_name: city, city_id: city.length }),
  );
  putProducts(test, entries);
});
afterAll(() => test[Symbol.dispose]());

function searchThread(): ReaderThread {
  return new ReaderThread(test.path, 'search');
}

it('a search in the daemon’s thread answers what the reader answers, while the daemon goes on', async () => {
  await using thread = searchThread();
  using reader = openReader(test.path);
  const questions: SearchQuestion[] = [
    { text: 'colloseum tickets', facets: true },
    { text: 'museum', limit: 3 },
    { city_id: 6 },
    { text: 'xyzzy' },
  ];
  let beats = 0;
  const beat = setInterval(() => {
    beats += 1;
  }, 0);
  const found = await Promise.all(questions.map((question) => thread.search(question)));
  clearInterval(beat);
  expect(found).toEqual(questions.map((question) => reader.search(question)));
  expect(beats).toBeGreaterThan(0);
});

it('more searches than anybody would wait for are refused, and those that wait are answered', async () => {
  await using thread = searchThread();
  const all = await Promise.allSettled(Array.from({ length: 260 }, () => thread.search({ text: 'louvre' })));
  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(200);
  expect(all.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'too-many-searches' } });
  await systemClock.sleep(0);
  expect((await thread.search({ text: 'louvre' })).total).toBe(1);
});
