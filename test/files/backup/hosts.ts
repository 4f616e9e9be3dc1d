import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { runHere } from '../../fakes/run-here.ts';
import { writeTestConfig } from '../../fakes/test-config.ts';
import { temporaryDirectory, testMirror } from '../../fakes/test-mirror.ts';

/** A host with a mirror, a configuration and no daemon. */
export interface Host extends Disposable {
  readonly path: string;
  readonly mirror: string;
  readonly config: string;
  readonly backups: string;
  run(...args: string[]): ReturnType<typeof runHere>;
}

export function host(): Host {
  const directory = temporaryDirectory();
  const { path } = directory;
  const mirror = join(path, 'mirror', 'mirror.db');
  mkdirSync(join(path, 'mirror'));
  using made = testMirror();
  const db = new Database(made.path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  cpSync(made.path, mirror);
  const config = writeTestConfig(path, 'http://127.0.0.1:9');
  return {
    path,
    mirror,
    config,
    backups: join(path, 'backup'),
    run: (...args) => runHere(['--config', config, ...args]),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

/** Adds so many bytes to a mirror, which no copy can make smaller. */
export function enlarge(mirror: string, megabytes: number): void {
  const db = new Database(mirror);
  db.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO slot_day (product_id, currency, date, zero_at, rest, slots) SELECT -i, 'EUR', '', 0, '[]', hex(randomblob(50000)) FROM n`,
  ).run(10 * megabytes);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}
