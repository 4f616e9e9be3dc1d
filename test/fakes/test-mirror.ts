import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Mirror, type MirrorOptions, openMirror } from '../../src/mirror/mirror.ts';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import type { Database } from '../../src/sqlite/database-file.ts';

/** A directory that is gone when the test is over. */
export function temporaryDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'catalogued-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A real mirror in a directory of its own, and a reader as a storefront has one. */
export interface TestMirror extends Disposable {
  readonly mirror: Mirror;
  readonly reader: Database;
  all<Row>(sql: string, ...values: unknown[]): Row[];
}

export function testMirrorOptions(directory: string): MirrorOptions {
  return {
    path: join(directory, 'mirror', 'mirror.db'),
    pair_id: 'pair',
    written_by: 'catalogued test',
    language: 'en',
    currency: 'EUR',
    image_size: null,
    backups: [],
  };
}

export function testMirror(): TestMirror {
  const stack = new DisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const mirror = stack.use(openMirror(testMirrorOptions(path)));
  const reader = stack.adopt(openMirrorForReading(mirror.path), (db) => {
    db.close();
  });
  return {
    mirror,
    reader,
    all: <Row>(sql: string, ...values: unknown[]) => reader.prepare(sql).all(...values) as Row[],
    [Symbol.dispose]: () => stack.dispose(),
  };
}
