import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { newId, systemEntropy } from '../../src/kernel/clock.ts';
import { type Database, openForWriting } from '../../src/kernel/sqlite/database-file.ts';
import { prepareDirectory } from '../../src/kernel/sqlite/directory.ts';
import { type Mirror, openMirror } from '../../src/mirror/mirror.ts';
import type { MirrorOptions } from '../../src/mirror/pair-with-inbox.ts';
import { mirrorFile, openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { applySearchRules } from '../../src/storefront/search/search.store.ts';

/** A directory that is gone when the test is over. */
export function temporaryDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'catalogued-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/**
 * A mirror that was made and belongs to nobody yet: a daemon takes it as it takes none at all. To make the tables and
 * the words of the search takes as long as to open the file.
 */
class EmptyMirror {
  /** The file, once it was needed in this process. */
  #bytes: Buffer | null = null;

  /** Writes it to a path where nothing is. */
  write(path: string): void {
    this.#bytes ??= this.#make();
    prepareDirectory(dirname(path), 0o3770);
    writeFileSync(path, this.#bytes, { flag: 'wx' });
    chmodSync(path, mirrorFile.mode);
  }

  #make(): Buffer {
    using place = temporaryDirectory();
    const path = join(place.path, 'mirror.db');
    const db = openForWriting(path, mirrorFile);
    applySearchRules(db);
    db.close();
    return readFileSync(path);
  }
}

export const emptyMirror = new EmptyMirror();

/** A real mirror in a directory of its own, and a reader as a storefront has one. */
export interface TestMirror extends Disposable {
  readonly path: string;
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
    newFeedId: () => newId(systemEntropy),
  };
}

export function testMirror(): TestMirror {
  const stack = new DisposableStack();
  const options = testMirrorOptions(stack.use(temporaryDirectory()).path);
  const { path } = options;
  emptyMirror.write(path);
  const mirror = stack.use(openMirror(options));
  const reader = stack.adopt(openMirrorForReading(path), (db) => {
    db.close();
  });
  return {
    path,
    mirror,
    reader,
    all: <Row>(sql: string, ...values: unknown[]) => reader.prepare(sql).all(...values) as Row[],
    [Symbol.dispose]: () => stack.dispose(),
  };
}
