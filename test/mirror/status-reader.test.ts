import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import { StatusReader } from '../../src/mirror/status/reader.ts';
import { testMirror } from '../fakes/test-mirror.ts';

/** Returns the answers of a reader: at first, twice after one more product, and when that is counted. */
async function visible(records: number) {
  using test = testMirror();
  using stack = new DisposableStack();
  const writer = stack.adopt(new Database(test.mirror.path), (db) => db.close());
  writer.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${records})
    INSERT INTO _record (resource, product_id, edition, part, due_at, due_reason) SELECT 'variants', i, 'en', 0, 0, 'never-fetched' FROM n`);
  let ms = 0;
  await using reader = new StatusReader(test.mirror.path);
  const at = async (later: number) => {
    ms += later;
    const { products, as_of } = await reader.read(instant(ms));
    return `${products.visible} as of ${as_of}`;
  };
  const first = await at(0);
  writer.exec("INSERT INTO _product (product_id, sale_status, first_seen_at, read_at) VALUES (1, 'enabled', 0, 0)");
  const then = [await at(14_000), await at(1000)];
  for (let last = then.at(-1); last === first; last = await at(0)) await setImmediate();
  return [first, ...then, await at(1000)];
}

it('counts a small mirror for each question, and a large one in the background at most every 15 seconds', async () => {
  expect(await visible(20_000)).toEqual(['0 as of 0', '1 as of 14000', '1 as of 15000', '1 as of 16000']);
  expect(await visible(20_001)).toEqual(['0 as of 0', '0 as of 0', '0 as of 0', '1 as of 15000']);
});

it('counts once for all who ask while it counts', async () => {
  using test = testMirror();
  await using reader = new StatusReader(test.mirror.path);
  const [first, second] = await Promise.all([reader.count(instant(1)), reader.read(instant(2))]);
  expect([first.as_of, second.as_of]).toEqual([1, 1]);
  expect((await reader.count(instant(3))).as_of).toBe(3);
});
