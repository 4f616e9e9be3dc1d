import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { asNamed, configure, run } from '../program.ts';
import type { RoughCase, Subject } from '../rough-case.ts';

const hostile = 'Tour\u001b]0;owned\u0007\u009b31m\u202egnp.exe\u2066\r\nIn breach        0';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const steers = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\r(?!\n)/;

/** A filled mirror of a service whose products are as `change` makes them. */
async function filled(subject: Subject, change: (product: Record<string, unknown>, index: number) => void) {
  const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 5 }));
  for (const [index, product] of sandbox.products().entries())
    change(product as unknown as Record<string, unknown>, index);
  const config = configure(subject, sandbox.url);
  const { code, stderr } = await run(subject, ['--config', config, 'resync', '--all', '--wait']);
  return { sandbox, config, code, stderr, mirror: join(subject.directory, 'mirror', 'mirror.db') };
}

export const cases: readonly RoughCase[] = [
  {
    point: '11',
    claim: 'what a terminal obeys in titles, credits and reasons is shown as an escape wherever people read it',
    run: async (subject) => {
      const { config, sandbox } = await filled(subject, (product) => {
        Object.assign(product, { title: hostile });
        for (const image of product.images as { credit: string }[]) image.credit = hostile;
      });
      const withImages = sandbox.products().find(({ images }) => images.length > 0);
      const commands = [
        ['explain', String(withImages?.id)],
        ['images', 'audit'],
        ['images', 'audit', '--csv'],
        ['subscription', 'list'],
        ['status'],
      ];
      const bad: string[] = [];
      for (const command of commands) {
        const { stdout, stderr } = await run(subject, ['--config', config, ...command]);
        if (steers.test(stdout + stderr)) bad.push(command.join(' '));
      }
      return {
        green: bad.length === 0,
        said: bad.length === 0 ? `${commands.length} commands escape it` : `obeyed after ${bad.join(', ')}`,
      };
    },
  },
  {
    point: '11',
    claim: 'one title of 1 MB with 10,000 images does not end images audit',
    run: async (subject) => {
      const { config, mirror } = await filled(subject, () => undefined);
      const db = new Database(mirror);
      const prepare = (sql: string) => db.prepare<unknown[]>(asNamed(db, sql));
      const product_id = prepare('SELECT product_id FROM _image LIMIT 1').pluck().get();
      prepare('UPDATE _product_text SET title = ? WHERE product_id = ?').run('x'.repeat(1_000_000), product_id);
      prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO _image (product_id, image_key, position, credit, document, first_seen_at)
         SELECT ?, 'u-' || printf('%032d', i), 100 + i, 'c', '{"large":"https://images.example.com/' || i || '.jpg"}', 1 FROM n`,
      ).run(product_id);
      db.close();
      const { code, stdout } = await run(subject, ['--config', config, 'images', 'audit'], { ms: 120_000 });
      return {
        green: code === 0 && stdout.length < 20_000_000,
        said: `it ended with ${code} after ${(stdout.length / 1e6).toFixed(1)} MB`,
      };
    },
  },
  {
    point: '11',
    claim: 'no address but http and https on public hosts is handed on, and no price is below zero',
    run: async (subject) => {
      const origins = [
        'javascript:alert(1)/',
        'file://',
        'http://10.0.0.1',
        'http://localhost',
        'https://images.example.com',
      ];
      const { mirror } = await filled(subject, (product, index) => {
        Object.assign(product, { image_origin: origins[index], price: -500 });
      });
      const db = new Database(mirror, { readonly: true });
      const urls = db.prepare<[], string>('SELECT large_url FROM images WHERE large_url IS NOT NULL').pluck().all();
      const bad = new Set(urls.map((url) => url.slice(0, 20)).filter((url) => !url.startsWith('https://images.exa')));
      const below = db
        .prepare<[], number>(
          `SELECT (SELECT count(*) FROM products WHERE from_price < 0) + (SELECT count(*) FROM availability_slots WHERE retail_price < 0)`,
        )
        .pluck()
        .get();
      db.close();
      return {
        green: bad.size === 0 && below === 0,
        said: `${urls.length} images shown, ${bad.size === 0 ? 'all public' : [...bad].join(', ')}; ${below} prices below zero`,
      };
    },
  },
];
