import { copyFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readCatalogue } from '../src/sandbox/world/catalogue-file.ts';
import { virtualHarness } from './fakes/virtual-harness.ts';
import Database from 'better-sqlite3';
it('fills', async () => {
  const read = (name: string) => readCatalogue(`/work/shared/data/${name}`);
  const recorded = read('recorded-product_nl_eur.json');
  const catalogue = [...recorded, ...read('catalogue-sample.json').filter(({ id }) => id !== recorded[0]?.id)];
  await using harness = await virtualHarness({ catalogue });
  await harness.fill();
  const comparison = await harness.compare();
  const db = new Database(harness.wiring.mirror.path);
  db.exec(`VACUUM INTO '/tmp/octo/real-${Date.now()}.db'`);
  db.close();
  process.stdout.write(`${JSON.stringify({ rows: comparison.rows, products: comparison.products, differences: comparison.differences })}\n`);
  expect(comparison.first).toEqual([]);
}, 600_000);
