import { join } from 'node:path';
import Database from 'better-sqlite3';
import { standingCopy } from '../../fakes/standing-copy.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { filledHarness } from '../../fakes/virtual-harness.ts';
import { columnsOf, readable } from './tables.ts';

/** A small mirror with rows in every view, in which time stands still. */
export interface TypedCopy extends Disposable {
  readonly path: string;
  /** The copy, open for reading. */
  readonly db: Database.Database;
  /** Views whose columns can be typed: not the FTS5 and R*Tree tables. */
  readonly views: readonly string[];
}

/** What a fill of the sandbox alone does not bring. */
const rows = `
  UPDATE _product SET withdrawn_at = 1795261569003, withdrawn_reason = 'removed'
    WHERE product_id = (SELECT max(product_id) FROM _product WHERE withdrawn_at IS NULL);
  UPDATE _product SET sale_status = 'disabled', disabled_reason = 'out_of_season', disabled_source = 'read',
    expected_reopening = 'within_month',
    alternative_product_id = (SELECT max(product_id) FROM _product WHERE withdrawn_at IS NULL AND sellable = 1)
    WHERE product_id = (SELECT min(product_id) FROM _product WHERE withdrawn_at IS NULL AND sellable = 1);
  INSERT INTO alternatives SELECT product_id, alternative_product_id FROM _product WHERE alternative_product_id IS NOT NULL AND sellable = 0;
  INSERT INTO _subscription (subscription_id, declared_id, type, status, last_delivery_at, announced, announceable)
    VALUES ('1', 'all', 'product_ids', 'active', 1795261569003, 3, 4);
  INSERT INTO _subscription_product (subscription_id, product_id) SELECT '1', product_id FROM _product;
  INSERT INTO _check_count SELECT product_id, 'near', 20778, 40, 3, 20, 1, 55, 2, 1, 1, 4, 5 FROM _product;
  INSERT INTO _image_file (product_id, image_key, size, url, file, due_at)
    SELECT product_id, image_key, 'large', 'https://images.example', 'ab/cd/' || image_key || '.jpg', 0 FROM image;
  UPDATE _mirror SET image_size = 'large';
  DELETE FROM day WHERE product_id > (SELECT min(product_id) + 100 FROM day WHERE state = 'available')
    OR date NOT IN (SELECT DISTINCT date FROM day WHERE state = 'available' ORDER BY date LIMIT 4);
  DELETE FROM slot_day WHERE (product_id, date) NOT IN (SELECT product_id, date FROM day);
  DELETE FROM date_window WHERE window_id NOT IN (SELECT window_id FROM day);
  DELETE FROM search_letters WHERE letter > 'd';
  DELETE FROM search_generic_words WHERE word > 'd';
`;

/**
 * Fills one, and puts two tables beside each view: `typed_…`, the same rows in columns of the types that the contract
 * names, and `bare_…`, the view without any type.
 */
export async function typedCopy(): Promise<TypedCopy> {
  const directory = temporaryDirectory();
  const path = join(directory.path, 'typed.db');
  await using harness = await filledHarness(
    { products: 7 },
    { service: { languages: ['en', 'de'], currencies: ['EUR', 'USD'] } },
  );
  standingCopy(harness.daemon.config.mirror.path, path, harness.clock.now());
  const db = new Database(path);
  db.exec(rows);
  const virtual = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'")
    .pluck()
    .all();
  const views = Object.keys(readable).filter((name) => !virtual.includes(name));
  for (const name of views) {
    const columns = columnsOf(name);
    const bare = columns.map(([column]) => `+"${column}" AS "${column}"`).join(', ');
    db.exec(`CREATE TABLE typed_${name} (${columns.map(([column, { type }]) => `"${column}" ${type}`).join(', ')});
      INSERT INTO typed_${name} SELECT ${columns.map(([column]) => `"${column}"`).join(', ')} FROM ${name};
      CREATE VIEW bare_${name} AS SELECT ${bare} FROM ${name}`);
  }
  db.pragma('query_only = ON');
  const close = () => {
    db.close();
    directory[Symbol.dispose]();
  };
  return { path, db, views, [Symbol.dispose]: close };
}
