import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { startProgram } from '../fakes/run-cli.ts';
import { happens, imported, Stage } from './stage.ts';

const day = 86_400;

interface Line {
  readonly product_id: number;
  readonly image_key: string;
  readonly credit: string | null;
}

interface Audit {
  readonly published: readonly Line[];
  readonly takedowns: readonly Line[];
  readonly breaches: readonly { readonly product_id: number; readonly image_key: string }[];
}

interface OpenReader {
  openReader(path: string): { images(product_id: number): Line[] } & Disposable;
}

/** Not a name that anybody has: it is shown as it is, by who prints it. */
const credit = '<b onclick="x()">Ann & Bob</b> “é”';

const linesOf = (lines: readonly Line[]) =>
  lines.map((line) => `${line.product_id} ${line.image_key} ${line.credit}`).sort();

describe('images', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ service: ['--products', '8'] });
    await stage.filled();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  /** What the service says now of the images of a product, through its own read. */
  const served = async (product_id: number): Promise<Line[]> => {
    const { product } = await stage.service.get<{ product: { images: Record<string, string>[] } }>(
      `/v2/products/${product_id}?lang=en&currency=EUR`,
    );
    return product.images.map((image) => ({
      product_id,
      image_key: /\/([0-9a-f]{32})\.jpg/.exec(image.large ?? '')?.[1] ?? '',
      credit: image.credit || null,
    }));
  };

  it('and their credits are as the first read after a change says, in the view, in the reader and in the audit', async () => {
    const counted = stage.rows<Line>('SELECT product_id FROM images GROUP BY 1 HAVING count(*) > 2 ORDER BY 1');
    const [withdrawn = 0, credited = 0] = counted.map(({ product_id }) => product_id);
    const before = stage.rows<Line>('SELECT product_id, image_key, credit FROM images WHERE product_id = ?', withdrawn);
    await stage.service.quirks({
      faults: [
        { kind: 'respelt', path: `^/v2/products/${withdrawn}[?]`, member: 'images', body: '[]' },
        {
          kind: 'respelt',
          path: `^/v2/products/${credited}[?]`,
          member: 'images[].credit',
          body: JSON.stringify(credit),
        },
      ],
    });
    const products = ['--product', `${withdrawn}`, '--product', `${credited}`];
    expect((await stage.run('resync', ...products, '--images', '--wait')).code).toBe(0);
    const ids = await stage.service.products();
    const wanted = linesOf((await Promise.all(ids.map(served))).flat());
    const shown = () => linesOf(stage.rows<Line>('SELECT product_id, image_key, credit FROM images'));
    expect(await happens(shown, (lines) => lines.join() === wanted.join())).toEqual(wanted);
    expect(wanted.filter((line) => line.endsWith(credit)).length).toBeGreaterThan(2);

    const { openReader } = await imported<OpenReader>('storefront/reader.js');
    using reader = openReader(stage.mirror);
    expect(linesOf(ids.flatMap((id) => reader.images(id)))).toEqual(wanted);
    const audit = await stage.json<Audit>('images', 'audit');
    expect(linesOf(audit.published)).toEqual(wanted);
    expect(linesOf(audit.takedowns)).toEqual(linesOf(before));
    expect(audit.breaches).toEqual([]);
  });

  it(
    'are hidden 14 days after they were confirmed, in a copy of the file too, with no daemon',
    needs('faketime', 'sqlite3'),
    async () => {
      await stage.ended();
      const copy = join(stage.directory, 'copy.db');
      copyFileSync(stage.mirror, copy);
      for (const file of [stage.mirror, copy]) {
        const shown = async (ahead: number, view: string) =>
          Number(await readAhead(file, ahead, `SELECT count(*) FROM ${view}`));
        expect(await shown(14 * day - 600, 'images')).toBeGreaterThan(10);
        expect(await shown(14 * day + 1, 'images')).toBe(0);
        expect(await shown(14 * day - 600, 'experience_images')).toBeGreaterThan(0);
        expect(await shown(14 * day + 1, 'experience_images')).toBe(0);
      }
    },
  );

  it('that a view shows although they were withdrawn are a breach of the audit', async () => {
    const { takedowns } = await stage.json<Audit>('images', 'audit');
    const db = new Database(stage.mirror);
    const columns = db.prepare("SELECT group_concat(name) FROM pragma_table_info('images')").pluck().get();
    const withdrawn = takedowns[0] as Line;
    db.exec(`CREATE TABLE planted AS SELECT * FROM images;
      UPDATE planted SET product_id = ${withdrawn.product_id}, image_key = '${withdrawn.image_key}' WHERE rowid = 1;
      DROP VIEW images; CREATE VIEW images AS SELECT ${columns} FROM planted`);
    db.close();
    const { code, stdout } = await stage.run('images', 'audit', '--json');
    expect(code).toBe(1);
    const { product_id, image_key } = withdrawn;
    expect((JSON.parse(stdout) as Audit).breaches).toEqual([expect.objectContaining({ product_id, image_key })]);
  });
});

/** Reads a file with the sqlite3 shell, so many seconds from now. */
async function readAhead(file: string, seconds: number, sql: string): Promise<string> {
  const shell = ['faketime', '-f', `+${seconds}s`, 'sqlite3', '-readonly', file, sql];
  const { code, stdout, stderr } = await startProgram(shell, { env: process.env }).ended;
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}
