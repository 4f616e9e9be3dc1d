import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

const run = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' });
const markup = `<script>alert("x")</script> Ann & 'Bob' <b>Ltd</b>`;

/** A mirror on the machine's clock, with a product whose first credit has markup in it and whose second asks for none. */
async function filledWithMarkup() {
  const harness = await virtualHarness({ products: 12 }, {}, { start: Date.now() });
  const product = harness.sandbox.products().find(({ images }) => images.length > 2);
  if (product === undefined) throw new Error('too few images');
  Object.assign(product.images[0] ?? {}, { credit: markup, alt_text: 'a "view"' });
  Object.assign(product.images[1] ?? {}, { credit: '  ' });
  await harness.fill();
  return { harness, product, path: harness.daemon.config.mirror.path };
}

it('a mirror that was copied away shows no image to plain sqlite3 fifteen days later', needs('sqlite3'), async () => {
  const { harness, path } = await filledWithMarkup();
  await using _ = harness;
  const copy = join(dirname(path), 'copy.db');
  run('sqlite3', path, `.backup ${copy}`);
  const ask = (sql: string) => run('sqlite3', '-readonly', copy, sql).trim();
  const shown = Number(ask('SELECT count(*) FROM images'));
  expect(shown).toBeGreaterThan(20);
  // The machine's clock cannot be moved here: the copy ages instead, every instant of its ledger by as much.
  const age = (ms: number) => {
    const db = otherWriter(copy);
    db.exec(`UPDATE _product_read SET images_verified_at = images_verified_at - ${ms}, read_at = read_at - ${ms};
      UPDATE image SET first_seen_at = first_seen_at - ${ms}`);
    db.close();
  };
  age(14 * 86_400_000 - 600_000);
  expect(Number(ask('SELECT count(*) FROM images'))).toBe(shown);
  age(86_400_000 + 600_000);
  expect(ask('SELECT count(*) FROM images')).toBe('0');
  expect(Number(ask('SELECT count(*) FROM image'))).toBe(shown);
  expect(ask("SELECT expired = records, met FROM freshness WHERE resource = 'images'")).toBe('1|0');
});
