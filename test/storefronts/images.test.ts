import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const run = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' });
const markup = `<script>alert("x")</script> Ann & 'Bob' <b>Ltd</b>`;
const escaped = '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; Ann &amp; &#039;Bob&#039; &lt;b&gt;Ltd&lt;/b&gt;';

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

describe('a page', () => {
  it(
    'prints each image together with its credit, escaped, in PHP, Python and by a query alone',
    needs('php', 'python3', 'sqlite3'),
    async () => {
      const { harness, product, path } = await filledWithMarkup();
      await using _ = harness;
      const php = run('php', script('images.php'), path, String(product.id));
      const lines = php.trimEnd().split('\n');
      expect(lines).toHaveLength(product.images.length);
      expect(lines[0]).toMatch(/^<figure><img src="https:[^"]+&amp;[^"]+" alt="a &quot;view&quot;">/);
      expect(lines[0]).toContain(`<figcaption>${escaped}</figcaption>`);
      expect(lines[1]).not.toContain('figcaption');
      expect(php).not.toMatch(/<(?!\/?(figure|img|figcaption)\b)/);
      // Python writes an apostrophe in its own way, which is the same to a browser.
      const python = run('python3', script('images.py'), path, String(product.id));
      expect(python.replaceAll('&#x27;', '&#039;')).toBe(php);
      const sql = readFileSync(script('images.sql'), 'utf8')
        .replace(':product', String(product.id))
        .replace(/^--.*\n/, '');
      const [first, second] = run('sqlite3', '-readonly', path, sql).split('\n');
      expect(first).toMatch(/^https:\S+\|&lt;script/);
      expect(first?.endsWith(`|${escaped}`)).toBe(true);
      expect(second).toMatch(/\|$/);
    },
  );
});

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
    db.exec(`UPDATE _product SET images_verified_at = images_verified_at - ${ms}, read_at = read_at - ${ms};
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
