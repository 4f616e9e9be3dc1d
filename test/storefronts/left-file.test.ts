import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openMirror } from '../../src/mirror/mirror.ts';
import { needs } from '../fakes/needs.ts';
import { temporaryDirectory, testMirrorOptions } from '../fakes/test-mirror.ts';

const nobody = 65_534;
const sql = 'SELECT last_delivery_id FROM _mirror';

/** Programs that print the number of the last delivery, as a user who may read the file and do nothing else. */
const readers = {
  PHP: (path: string) =>
    as(
      'php',
      '-r',
      `echo (new PDO("sqlite:${path}", options: [PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY]))->query("${sql}")->fetchColumn();`,
    ),
  Python: (path: string) => python(path, 'print(db.execute(sql).fetchone()[0])'),
  Node: (path: string) =>
    run(
      process.execPath,
      '-e',
      `process.setgroups([]); process.setgid(${nobody}); process.setuid(${nobody});
      const { DatabaseSync } = require('node:sqlite');
      process.stdout.write(String(new DatabaseSync('${path}', { readOnly: true }).prepare('${sql}').get().last_delivery_id))`,
    ),
  'the sqlite3 shell': (path: string) => as('sqlite3', '-readonly', path, sql),
};

const become = `import os, sqlite3, sys; os.setgroups([]); os.setgid(${nobody}); os.setuid(${nobody}); sql = "${sql}"`;
const opened = (path: string) => `${become}; db = sqlite3.connect("file:${path}?mode=ro", uri=True, timeout=2)`;

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}
function as(...command: string[]): string {
  return run('setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', ...command);
}
function python(path: string, then: string): string {
  return run('python3', '-c', `${opened(path)}; ${then}`);
}

/** Returns what each reader finds, or the first line of what it says instead. */
function found(path: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(readers).map(([name, read]) => {
      try {
        return [name, read(path)];
      } catch (error) {
        return [
          name,
          /.*(?:readonly|unable to open).*/.exec(String((error as { stderr: string }).stderr))?.[0] ?? String(error),
        ];
      }
    }),
  );
}

const all = (answer: string) => Object.fromEntries(Object.keys(readers).map((name) => [name, answer]));

/** A place for a mirror that a group may read, and in which it may make nothing. */
function place(): Disposable & { readonly path: string; readonly root: string } {
  const { path: root, [Symbol.dispose]: remove } = temporaryDirectory();
  chmodSync(root, 0o755);
  const { path } = testMirrorOptions(root);
  mkdirSync(dirname(path));
  chownSync(dirname(path), 0, nobody);
  chmodSync(dirname(path), 0o2750);
  return { path, root, [Symbol.dispose]: remove };
}

/** Opens the mirror as a command does, and notes a delivery. */
function written(root: string, path: string, delivery: number) {
  const mirror = openMirror(testMirrorOptions(root));
  chmodSync(path, 0o640);
  for (const end of ['-wal', '-shm']) if (existsSync(path + end)) chmodSync(path + end, 0o640);
  mirror.transaction(() => mirror.noteDelivery({ last_delivery_id: delivery }));
  return mirror;
}

/** A reader that stays: connected, in a transaction if `work` begins one. */
async function staying(path: string, work: string) {
  const child = spawn(
    'python3',
    [
      '-u',
      '-c',
      `${opened(path)}; ${work}
for line in sys.stdin: sys.stdout.write(f"{db.execute(sql).fetchone()[0]}\\n")`,
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const ask = async () => {
    child.stdin.write('?\n');
    return String((await once(child.stdout, 'data'))[0]).trim();
  };
  await ask();
  return {
    ask,
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await once(child, 'close');
    },
  };
}

describe(
  'a reader without any permission to write, after an orderly stop',
  needs('root', 'php', 'python3', 'sqlite3', 'unshare'),
  () => {
    it('reads on', () => {
      using at = place();
      written(at.root, at.path, 1)[Symbol.dispose]();
      expect(found(at.path)).toEqual(all('1'));
      written(at.root, at.path, 2)[Symbol.dispose]();
      expect(found(at.path)).toEqual(all('2'));
    });

    it('reads on from a read-only mount', () => {
      using at = place();
      written(at.root, at.path, 1)[Symbol.dispose]();
      const mounted =
        'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && sqlite3 -readonly "$1" "$2" && php -r "$3" && python3 -c "$4"';
      const php = `echo (new PDO("sqlite:${at.path}", options: [PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY]))->query("${sql}")->fetchColumn(), "\\n";`;
      const py = `import sqlite3; print(sqlite3.connect("file:${at.path}?mode=ro", uri=True).execute("${sql}").fetchone()[0])`;
      expect(run('unshare', '-Urm', 'sh', '-c', mounted, dirname(at.path), at.path, sql, php, py)).toBe('1\n1\n1');
    });

    it('reads on beside one that stays idle, which sees the next start too', async () => {
      using at = place();
      const first = written(at.root, at.path, 1);
      await using idle = await staying(at.path, '');
      first[Symbol.dispose]();
      expect(found(at.path)).toEqual(all('1'));
      expect(await idle.ask()).toBe('1');
      await using late = await staying(at.path, '');
      const second = written(at.root, at.path, 2);
      expect([await idle.ask(), await late.ask()]).toEqual(['2', '2']);
      expect(found(at.path)).toEqual(all('2'));
      second[Symbol.dispose]();
      expect([await idle.ask(), await late.ask()]).toEqual(['2', '2']);
    });

    it('reads on after a stop in the middle of another one’s read', async () => {
      using at = place();
      const mirror = written(at.root, at.path, 1);
      {
        await using reading = await staying(at.path, 'db.execute("BEGIN"); db.execute(sql)');
        mirror.transaction(() => mirror.noteDelivery({ last_delivery_id: 2 }));
        mirror[Symbol.dispose]();
        expect(await reading.ask()).toBe('1');
        expect(found(at.path)).toEqual(all('2'));
      }
      expect(found(at.path)).toEqual(all('2'));
    });

    it('reads nothing where somebody who may write closes last (control)', () => {
      using at = place();
      written(at.root, at.path, 1)[Symbol.dispose]();
      const db = new Database(at.path);
      db.prepare(sql).get();
      db.close();
      const answers = found(at.path);
      for (const answer of Object.values(answers)) expect(answer).toMatch(/readonly database|unable to open/);
    });
  },
);
