import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { inboxFile } from '../../src/inbox/inbox.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { openForReading, openForWriting } from '../../src/sqlite/database-file.ts';
import { compareVersions, migrationsOf, oldestSafeOf } from '../../src/sqlite/file-kind.ts';
import { testMirror } from '../fakes/test-mirror.ts';

it.each([mirrorFile, inboxFile])(
  'each step of the $name says its oldest safe version, none older than a step before it',
  (kind) => {
    const said = migrationsOf(kind).map(oldestSafeOf);
    expect(said.toSorted(compareVersions)).toEqual(said);
  },
);

it('versions are compared number by number, and a release candidate comes before its release', () => {
  const inOrder = ['0.9.0', '1.0.0-rc', '1.0.0', '1.2.0', '1.10.0-rc', '1.10.0'];
  expect(inOrder.toReversed().sort(compareVersions)).toEqual(inOrder);
});

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
