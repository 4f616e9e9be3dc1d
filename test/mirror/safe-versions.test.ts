import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { inboxFile } from '../../src/inbox/inbox.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { version } from '../../src/package.ts';
import { openForReading, openForWriting } from '../../src/sqlite/database-file.ts';
import { migrationsOf, oldestSafeOf } from '../../src/sqlite/file-kind.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const { compare } = new Intl.Collator('en', { numeric: true });

it.each([mirrorFile, inboxFile])(
  'each step of the $name says its oldest safe version: none older than a step before it, none newer than this',
  (kind) => {
    const said = migrationsOf(kind).map(oldestSafeOf);
    expect(said.toSorted(compare)).toEqual(said);
    expect(compare(said.at(-1) ?? '', version)).toBeLessThanOrEqual(0);
  },
);

it('a step that does not say its oldest safe version is none', () => {
  expect(() => oldestSafeOf('ALTER TABLE _product ADD COLUMN a')).toThrow(
    /does not begin with its oldest safe version/,
  );
});

it('a newer mirror is refused untouched, with the name of the version that opens it', () => {
  using test = testMirror();
  const { path } = test.mirror;
  const db = new Database(path);
  db.exec("UPDATE _mirror SET written_by = 'catalogued 7.1.0'; PRAGMA user_version = 99");
  db.close();
  const before = readFileSync(path);
  for (const open of [openForWriting, openForReading])
    expect(() => open(path, mirrorFile)).toThrow(
      expect.objectContaining({
        code: 'newer-file',
        hint: expect.stringMatching(/^install catalogued 7\.1\.0 or newer; /),
      }),
    );
  expect(readFileSync(path)).toEqual(before);
});
