import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { CataloguedError } from '../errors.ts';
import { counted } from '../format.ts';
import { mirrorFile } from '../mirror/sql/files.ts';
import { columnsOf } from '../sqlite/columns.ts';
import { openForReading, schemaVersion, sqliteVersion } from '../sqlite/database-file.ts';
import { type Check, isHealthy, ok, skipped, wrong } from './check.ts';
import type { ProbeAnswer } from './reader.ts';
import { fileSystem, type MirrorForm, pathAccess, sharing, sideFiles } from './reader-access.ts';
import { olderThan } from './versions.ts';

/*
 * Runs in a separate process: `reader-probe.ts PATH USER [GID]`. With a group it becomes that user. Then it checks, and
 * sends the results to its parent.
 */
const [path = '', user = '', gid] = process.argv.slice(2);
// Loads what a first connection would load, because the user may not be able to enter the directory of this program.
sqliteVersion();
columnsOf(mirrorFile, schemaVersion(mirrorFile));
process.send?.(answer());

function answer(): ProbeAnswer {
  try {
    if (gid !== undefined) become(user, Number(gid));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return { kind: 'may-not-become' };
    throw error;
  }
  return { kind: 'looked', checks: look() };
}

/** Becomes the user for good. Groups come first, because afterwards the process may not change them. */
function become(name: string, group: number): void {
  const id = /^\d+$/.test(name) ? Number(name) : name;
  // Missing in Node's types.
  (process as unknown as { initgroups(user: string | number, group: number): void }).initgroups(id, group);
  process.setgid?.(group);
  process.setuid?.(id);
  process.chdir('/');
}

function look(): Check[] {
  const access = pathAccess(path, user);
  if (access.verdict === 'wrong') return [access, ...programs()];
  const kind = kindOf();
  if (kind === null)
    return [access, wrong('format', `${path} is not a mirror of catalogued`, 'check the path'), ...programs()];
  const checks = [access, fileSystem(path), sharing(path, user, kind), sideFiles(path, user, kind)];
  return [
    ...checks,
    isHealthy(checks) ? reading(kind) : skipped('reading', 'not tried: it could make the problems above worse'),
    ...programs(),
  ];
}

/**
 * Returns the form of the mirror by its first hundred bytes (SQLite's magic, journal mode, application id); null if it
 * is not a mirror.
 */
function kindOf(): MirrorForm | null {
  const header = Buffer.alloc(100);
  const file = openSync(path, 'r');
  try {
    if (!fstatSync(file).isFile() || readSync(file, header) < header.length) return null;
  } finally {
    closeSync(file);
  }
  if (header.toString('latin1', 0, 15) !== 'SQLite format 3') return null;
  if (header.readUInt32BE(68) !== mirrorFile.application_id) return null;
  return header[19] === 2 ? 'live' : 'snapshot';
}

function reading(kind: MirrorForm): Check {
  const name = 'reading';
  try {
    using opened = new DisposableStack();
    const db = opened.adopt(openForReading(path, mirrorFile), (each) => {
      each.close();
    });
    const products = db.prepare<[], number>('SELECT count(*) FROM products').pluck().get() ?? 0;
    const contract = db.prepare<[], number>('SELECT contract_version FROM mirror_info').pluck().get();
    const what = kind === 'live' ? 'the live file' : 'a snapshot';
    return ok(name, `${counted(products, 'row')} in products, contract ${contract}, from ${what}`);
  } catch (error) {
    const hint = error instanceof CataloguedError ? error.hint : undefined;
    return wrong(name, (error as Error).message, hint ?? 'catalogued doctor, as the user of the daemon');
  }
}

/** Checks the SQLite of the languages that storefronts use, as this user finds it. */
function programs(): Check[] {
  return [
    program('SQLite of PHP', 'php', ['-r', 'echo SQLite3::version()["versionString"];']),
    program('SQLite of Python', 'python3', ['-c', 'import sqlite3; print(sqlite3.sqlite_version)']),
    program('sqlite3 shell', 'sqlite3', ['--version']),
  ];
}

function program(name: string, command: string, args: readonly string[]): Check {
  let version: string;
  try {
    version = execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 10_000 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES') return skipped(name, `${user} may not run ${command}`);
    return skipped(name, code === 'ENOENT' ? 'not on this machine' : `${command} has none`);
  }
  const number = /^\d+\.\d+\.\d+/.exec(version.trim())?.[0];
  if (number === undefined) return skipped(name, 'it does not tell its version');
  if (olderThan(number, [3, 38, 0])) return wrong(name, `${number}: the views need 3.38`, `install a newer ${command}`);
  if (olderThan(number, [3, 51, 3])) return ok(name, `${number}; open the mirror read-only: writers need 3.51.3`);
  return ok(name, number);
}
