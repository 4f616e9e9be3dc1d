import { execFileSync } from 'node:child_process';
import { accessSync, closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { groupName } from '../../files/reader-rights.ts';
import { CataloguedError } from '../../kernel/errors.ts';
import { counted } from '../../kernel/format.ts';
import { columnsOf } from '../../kernel/sqlite/columns.ts';
import { openForReading, schemaVersion, sqliteVersion } from '../../kernel/sqlite/database-file.ts';
import { networkFileSystem, statOf } from '../../kernel/sqlite/directory.ts';
import { mirrorFile } from '../../mirror/sql/files.ts';
import { type Check, isHealthy, ok, olderThan, skipped, wrong } from './check.ts';
import type { ProbeAnswer } from './reader.ts';

/** Form of the mirror: a WAL file, which readers share with the daemon, or a file that no process writes. */
type MirrorForm = 'live' | 'snapshot';

const { R_OK, W_OK, X_OK } = constants;
const letters = [
  [R_OK, 'r'],
  [W_OK, 'w'],
  [X_OK, 'x'],
] as const;

/** Returns why this process may not use a path in this way; null if it may. */
function refusal(path: string, need: number): 'denied' | 'read-only' | 'missing' | null {
  try {
    accessSync(path, need);
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EROFS' ? 'read-only' : code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'denied';
  }
}

/** Checks that this process may enter every directory on the path and read the file. */
function pathAccess(path: string, user: string): Check {
  const name = 'way to the file';
  const closed = directoriesTo(path).find((directory) => refusal(directory, X_OK) !== null);
  if (closed !== undefined) {
    return refusal(closed, X_OK) === 'missing'
      ? wrong(name, `there is no ${closed}`, 'check the path; the daemon creates it at its first start')
      : wrong(name, `${user} may not enter ${described(closed)}`, opening(closed, user, X_OK));
  }
  switch (refusal(path, R_OK)) {
    case null:
      return ok(name, `${user} may enter its directories and read it`);
    case 'missing':
      return wrong(name, `there is no ${path}`, 'check the path; the daemon creates the file at its first start');
    default:
      return wrong(name, `${user} may not read ${described(path)}`, opening(path, user, R_OK));
  }
}

function fileSystem(path: string): Check {
  const kind = networkFileSystem(path);
  return kind === null
    ? ok('file system', 'a local one')
    : wrong(
        'file system',
        `${kind}: the memory that readers and daemon must share cannot be shared there`,
        'read the published snapshot on this host, or run the storefront where the daemon runs',
      );
}

/**
 * Checks that reader and daemon can use each other's -wal and -shm. These get the file's mode and, in a setgid
 * directory, its group.
 */
function sharing(path: string, user: string, kind: MirrorForm): Check {
  const name = 'sharing';
  if (kind === 'snapshot') return skipped(name, 'nobody writes it: it is a published snapshot or a copy');
  const [file, directory] = [statSync(path), statSync(dirname(path))];
  if (file.uid === process.getuid?.()) return ok(name, `${user} is the owner of the file`);
  if (process.getuid?.() === 0)
    return ok(name, "root bypasses permission checks; name the storefront's user with --user");
  if ((file.mode & 0o060) !== 0o060)
    return wrong(
      name,
      `${described(path)}: -wal and -shm get this mode too; a reader that creates them while the daemon is down locks it out`,
      `chmod 0660 ${path}`,
    );
  if ((directory.mode & 0o3000) !== 0o3000)
    return wrong(
      name,
      `${described(dirname(path))}: ${directory.mode & 0o2000 ? 'a reader can remove the files of the daemon' : "files that a reader creates there do not belong to the daemon's group"}`,
      `chmod 3770 ${dirname(path)}`,
    );
  return ok(name, `file ${modeOf(file)}, directory ${modeOf(directory)}`);
}

/** Checks that the reader can read the existing -wal and -shm, which the daemon leaves when it stops, or create them. */
function sideFiles(path: string, user: string, kind: MirrorForm): Check {
  const name = 'side files';
  if (kind === 'snapshot') return skipped(name, 'not needed');
  const directory = dirname(path);
  const present = ['-wal', '-shm'].map((suffix) => path + suffix).filter((each) => refusal(each, 0) === null);
  const unusable = present.find((each) => refusal(each, R_OK) !== null);
  if (unusable !== undefined)
    return wrong(name, `${user} may not read ${described(unusable)}`, opening(unusable, user, R_OK));
  const creating = refusal(directory, W_OK);
  if (creating === null)
    return ok(name, present.length === 2 ? 'present and usable' : 'missing; the first reader creates them');
  if (present.length === 2)
    return ok(
      name,
      `present, also after an orderly stop, unless a client that may write closes the file last: ${user} cannot create them`,
    );
  return creating === 'read-only'
    ? wrong(
        name,
        `missing, and ${directory} is mounted read-only: every read fails until the daemon has started`,
        'start the daemon, which leaves them when it stops; or mount it writable, or read the published snapshot (snapshot.path)',
      )
    : wrong(
        name,
        `missing, and ${user} may not write in ${described(directory)}: every read fails until the daemon has started`,
        opening(directory, user, W_OK),
      );
}

function directoriesTo(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [...directoriesTo(parent), parent];
}

/** Describes a path like `/var/lib/catalogued (3770 catalogued:catalogued)`, as far as it may be inspected. */
function described(path: string): string {
  const stats = statOf(path);
  return stats === null ? path : `${path} (${modeOf(stats)} ${userName(stats.uid)}:${groupName(stats.gid)})`;
}

/**
 * Returns the commands that grant access. They always grant it to the group and never to all users, because then the
 * files would not be shared with storefronts alone.
 */
function opening(path: string, user: string, need: number): string {
  const stats = statOf(path);
  const bits = letters.filter(([bit]) => (need & bit) !== 0);
  const grouped = bits.every(([bit]) => ((stats?.mode ?? 0) & (bit << 3)) !== 0);
  const shared = stats !== null && stats.gid !== 0;
  const group = shared ? groupName(stats.gid) : 'catalogued';
  const member = shared && (process.getgroups?.().includes(stats.gid) || process.getgid?.() === stats.gid);
  const writes = (need & W_OK) !== 0;
  const mode = !writes
    ? `g+${bits.map(([, letter]) => letter).join('')}`
    : stats?.isDirectory() === false
      ? '0660'
      : '3770';
  const steps = [
    ...(shared ? [] : [`chgrp ${writes || grouped ? '-R ' : ''}${group} ${path}`]),
    ...(grouped ? [] : [`chmod ${mode} ${path}`]),
    ...(member ? [] : [`usermod -aG ${group} ${user}`]),
  ];
  const first = shared || !grouped ? '' : 'run the daemon in a group of its own, and: ';
  const last = member ? '' : `, and restart the programs that run as ${user}`;
  return `${first}${steps.join(' && ')}${last}`;
}

function modeOf({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

/** Returns the name of a user, or its number if it has none. */
function userName(uid: number): string {
  try {
    return execFileSync('getent', ['passwd', String(uid)], { encoding: 'utf8' }).split(':')[0] ?? String(uid);
  } catch {
    return String(uid);
  }
}

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
