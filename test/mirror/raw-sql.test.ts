import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { sourceFiles } from '../architecture/import-graph.ts';

/*
 * Which SQL the compiler does not check. Everything else in mirror/ and inbox/ is built with kysely, through the one door
 * of sqlite/statements.ts; `sql` is its tag for what the builder has no word for, with the type of what it gives.
 */

/** SQL that stays text, how often by file, and why. */
const raw: Readonly<Record<string, { readonly times: number; readonly because: string }>> = {
  'inbox/deliveries.ts': {
    times: 3,
    because: 'PRAGMA incremental_vacuum, and what it goes by: the file, not its tables',
  },
  'inbox/inbox.ts': { times: 3, because: 'PRAGMA cache_size, optimize and user_version: the connection and the file' },
  'mirror/claim.ts': { times: 1, because: 'PRAGMA user_version: no table has it' },
  'mirror/mirror.ts': { times: 1, because: 'PRAGMA optimize: it is no statement of a table' },
  'mirror/own-row.ts': {
    times: 1,
    because: 'asked of a file of any version, before it is brought up to date',
  },
  'mirror/rows/capture.ts': { times: 8, because: 'triggers, made for tables that are named in a list' },
  'mirror/rows/pages.ts': { times: 4, because: 'whole rows of whatever table has changed' },
  'mirror/sql/files.ts': { times: 1, because: 'PRAGMA user_version: asked before the tables are known to be ours' },
  'mirror/sql/log-copy.ts': { times: 4, because: 'PRAGMA wal_checkpoint: it is no statement of a table' },
  'mirror/status/worker.ts': { times: 1, because: 'PRAGMA cache_size: it sets the connection up' },
};

const src = fileURLToPath(new URL('../../src/', import.meta.url));
const asText = /\.(prepare|pragma)(<[^(]*>)?\(|\b(db|file|connection)\.exec\(/g;

function found(of: readonly (readonly [file: string, text: string])[]): Record<string, number> {
  const counts = of.map(([file, text]) => [file, [...text.matchAll(asText)].length] as const);
  return Object.fromEntries(counts.filter(([, times]) => times > 0));
}

const files = sourceFiles(src)
  .filter((file) => /^(mirror|inbox)\//.test(file))
  .map((file) => [file, readFileSync(`${src}${file}`, 'utf8')] as const);

it('SQL that the compiler does not check stands in few places, each with its reason', () => {
  expect(files.length).toBeGreaterThan(60);
  expect(found(files)).toEqual(Object.fromEntries(Object.entries(raw).map(([file, { times }]) => [file, times])));
});

it('SQL as text is found wherever it is written (control)', () => {
  const planted = `const one = db.prepare<[number], Row>('SELECT 1');
    db
      .prepare<[], { a: number }>(\`SELECT 2\`);
    connection.exec('DELETE FROM t');`;
  expect(found([['mirror/planted.ts', planted]])).toEqual({ 'mirror/planted.ts': 3 });
});
