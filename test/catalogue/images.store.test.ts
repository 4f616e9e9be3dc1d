import { describe, expect, it } from 'vitest';
import { imageLimitMs, mayShow } from '../../src/catalogue/image.rules.ts';
import type { ProductEntry } from '../../src/catalogue/product.rules.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const day = 86_400_000;
const hour = 3_600_000;

/** A product with one image and one file of it. */
function withOneImage() {
  const test = testMirror();
  const db = otherWriter(test.mirror.path);
  db.exec(`INSERT INTO _product (product_id, sale_status, first_seen_at) VALUES (7, 'enabled', 0);
    INSERT INTO _product_read (product_id, read_at) VALUES (7, 0);
    INSERT INTO image (product_id, image_key, position, document, first_seen_at) VALUES (7, 'a', 0, '{}', 0)`);
  return {
    test,
    db,
    [Symbol.dispose]: () => {
      db.close();
      test[Symbol.dispose]();
    },
  };
}

describe('the view images', () => {
  it('shows an image as long as the rule says, to the second and never longer, at whatever instant it was confirmed', () => {
    using harness = withOneImage();
    const verify = harness.db.prepare<[number]>('UPDATE _product_read SET images_verified_at = ?');
    const reader = openMirrorWithClock(harness.test.mirror.path);
    const shown = reader.db.prepare<[], number>('SELECT count(*) FROM images').pluck();
    const edges = [
      -day - 1,
      -day,
      -day + 1000,
      0,
      imageLimitMs - 1000,
      imageLimitMs - 999,
      imageLimitMs,
      imageLimitMs + 1,
    ];
    for (let step = 0; step < 300; step += 1) {
      const verified_at = Date.parse('2026-11-21') + step * 7_919_333 + step;
      verify.run(verified_at);
      for (const edge of edges) {
        reader.set(verified_at + edge);
        const now = verified_at + edge;
        const [second, end] = [now - (now % 1000), now - (now % 1000) + 999];
        const isShown = mayShow(verified_at, second) && mayShow(verified_at, end);
        expect(shown.get(), `${verified_at} ${edge}`).toBe(isShown ? 1 : 0);
        if (isShown) expect(mayShow(verified_at, now)).toBe(true);
      }
    }
    reader.db.close();
  });

  it('shows no image that its host has lost since it was confirmed, until a later read confirms it', () => {
    using harness = withOneImage();
    const { db, test } = harness;
    const at = Date.now() - hour;
    const shownAfter = (sql: string) => {
      db.exec(sql);
      return test.all('SELECT image_key FROM images').length;
    };
    expect(shownAfter(`UPDATE _product_read SET images_verified_at = ${at}`)).toBe(1);
    expect(shownAfter(`UPDATE image SET doubted_at = ${at}`)).toBe(0);
    expect(shownAfter(`UPDATE _product_read SET images_verified_at = ${at + 1}`)).toBe(1);
    expect(shownAfter(`UPDATE image SET withdrawn_at = ${at + 2}`)).toBe(0);
  });

  it('shows the file of the first configured size, and none where no files are kept', () => {
    using harness = withOneImage();
    const { db, test } = harness;
    db.prepare('UPDATE _product_read SET images_verified_at = ?').run(Date.now());
    const put = db.prepare(
      "INSERT INTO _image_file (product_id, image_key, size, url, file, due_at) VALUES (7, 'a', ?, '', ?, 0)",
    );
    put.run('large', 'aa/large.jpg');
    put.run('small', 'aa/small.jpg');
    const file = () => test.all('SELECT file FROM images');
    expect(file()).toEqual([{ file: null }]);
    db.exec("UPDATE _mirror SET image_size = 'large'");
    expect(file()).toEqual([{ file: 'aa/large.jpg' }]);
    db.exec("UPDATE _mirror SET image_size = 'medium'");
    expect(file()).toEqual([{ file: null }]);
  });
});

describe('a list whose answer comes after that of the product’s own read, sent later', () => {
  const image = (image_key: string) => ({ image_key, position: 0, credit: null, document: '{}' });
  const told = (own: ProductEntry['images']) => {
    const test = testMirror();
    const at = Date.now() - hour;
    const put = (images: ProductEntry['images'], sent_at: number, source: 'list' | 'detail') =>
      putProducts(test, [productOf(7, { images })], { sent_at, source });
    put([image('a')], at, 'list');
    put(own, at + 20, 'detail');
    put([image('b')], at + 10, 'list');
    return {
      at,
      shown: test.all('SELECT image_key, verified_at FROM images'),
      [Symbol.dispose]: () => test[Symbol.dispose](),
    };
  };

  it('shows and confirms the images that the own read leaves out', () => {
    using test = told(null);
    expect(test.shown).toEqual([{ image_key: 'b', verified_at: test.at + 10 }]);
  });

  it('says nothing of those that it names', () => {
    using test = told([image('c')]);
    expect(test.shown).toEqual([{ image_key: 'c', verified_at: test.at + 20 }]);
  });
});
