import { closeSync, cpSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { openForWriting, refuseUnusable } from '../../src/kernel/sqlite/database-file.ts';
import { prepareDirectory } from '../../src/kernel/sqlite/directory.ts';
import { acquireMirrorLock } from '../../src/kernel/sqlite/lock.ts';
import { openMirror } from '../../src/mirror/mirror.ts';
import { mirrorFile, openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { temporaryDirectory, testMirror, testMirrorOptions } from '../fakes/test-mirror.ts';

function contents(path: string): unknown {
  const db = new Database(path, { readonly: true });
  const found = [db.pragma('user_version'), db.prepare('SELECT type, name, sql FROM sqlite_schema').all()];
  db.close();
  return found;
}

it('a step that fails leaves the mirror as it was, views and version too, though it had begun', () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'mirror.db');
  openForWriting(path, mirrorFile).close();
  const before = contents(path);
  const steps = join(directory.path, 'steps/');
  cpSync(mirrorFile.migrations, steps, { recursive: true });
  const next = (sql: string) => {
    writeFileSync(join(steps, '9999-next.sql'), sql);
    openForWriting(path, { ...mirrorFile, migrations: pathToFileURL(steps) }).close();
  };
  expect(() => next('DROP TABLE policies; CREATE TABLE _more (a); INSERT INTO _missing VALUES (1)')).toThrow(
    '_missing',
  );
  expect(contents(path)).toEqual(before);
  // Control: one that does not fail is taken.
  next('CREATE TABLE _more (a)');
  expect(contents(path)).not.toEqual(before);
});

it('a mirror that is damaged where it says whose it is, is refused as damaged; what is wrong otherwise is not', () => {
  using directory = temporaryDirectory();
  const options = testMirrorOptions(directory.path);
  openMirror(options)[Symbol.dispose]();
  expect(() => openMirror({ ...options, pair_id: 'another' })).toThrow(
    expect.not.objectContaining({ code: 'damaged' }),
  );
  const db = new Database(options.path);
  const page = db.prepare<[], number>("SELECT rootpage FROM sqlite_schema WHERE name = '_mirror'").pluck().get() ?? 0;
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const file = openSync(options.path, 'r+');
  writeSync(file, Buffer.alloc(size, 0xff), 0, size, (page - 1) * size);
  closeSync(file);
  expect(() => openMirror(options)).toThrow(expect.objectContaining({ code: 'damaged' }));
});

it('a mirror that is opened as a storefront opens it cannot be written, and is not made', () => {
  using test = testMirror();
  const db = openMirrorForReading(test.path);
  expect(() => db.exec('DELETE FROM _product')).toThrow(/readonly/);
  db.close();
  expect(() => openMirrorForReading(`${test.path}x`)).toThrow(expect.objectContaining({ code: 'no-mirror' }));
});

it('an empty file is one to be made, unless there is a backup of it', () => {
  const look = { condition: 'empty', wrong: null } as const;
  expect(() => refuseUnusable('/nowhere/mirror.db', mirrorFile, look, [])).not.toThrow();
  expect(() => refuseUnusable('/nowhere/mirror.db', mirrorFile, look, ['/backups/mirror-1.db'])).toThrow(
    expect.objectContaining({ code: 'damaged', message: expect.stringContaining('(mirror-1.db)') }),
  );
});

it('the directory that is made for a mirror is of a group, and only the daemon may unlink what is in it', () => {
  using test = testMirror();
  expect(statSync(dirname(test.mirror.path)).mode & 0o7777).toBe(0o3770);
});

it('a directory is asked for once on a file system that answers ENOENT for ever, and refused', () => {
  using directory = temporaryDirectory();
  const [top, deeper] = [join(directory.path, 'top'), join(directory.path, 'top/deeper')];
  const asked: string[] = [];
  const make = (path: string) => {
    asked.push(path);
    throw Object.assign(new Error('ENOENT: no such file or directory, mkdir'), { code: 'ENOENT' });
  };
  const refused = expect.objectContaining({
    code: 'directory',
    message: `there is no directory ${deeper}, and it cannot be created in ${directory.path}: its file system makes no directories`,
  });
  expect(() => prepareDirectory(deeper, 0o700, { make })).toThrow(refused);
  expect(asked).toEqual([top]);
  // Such a file system of this machine.
  expect(() => prepareDirectory('/proc/catalogued/deeper', 0o700)).toThrow(/cannot be created in \/proc: /);
  // Control: on this disk both are made, with the mode.
  expect(prepareDirectory(deeper, 0o750).mode & 0o777).toBe(0o750);
  expect(statSync(top).mode & 0o777).toBe(0o750);
});

it('a directory on a network file system is refused, where one on a disk is taken', () => {
  using directory = temporaryDirectory();
  const refused = expect.objectContaining({ code: 'network-file-system', exitCode: 78 });
  expect(() => prepareDirectory(directory.path, 0o700, { fileSystemType: () => 0x6969 })).toThrow(refused);
  expect(prepareDirectory(directory.path, 0o700).isDirectory()).toBe(true);
});

it('the lock of a mirror is its holder’s alone: nobody else may open it, and a second one is refused', () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'mirror.db');
  using _held = acquireMirrorLock(path);
  expect(statSync(join(directory.path, '.mirror.db.lock')).mode & 0o777).toBe(0o600);
  expect(() => acquireMirrorLock(path)).toThrow(expect.objectContaining({ code: 'already-running', exitCode: 75 }));
});
