import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readdirSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { document } from '../documents.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { answers } from './start-shop.ts';

/** The lines of the documented example that open a mirror. */
const opening = /\$file = .*?\n\]\);\n/s.exec(document('docs/reading.md'))?.[0] ?? '';

/** A page that prints a title, or dies in the middle of a read: a statement has given one row of many, in a transaction. */
const page = (open: string) => `<?php
${open}
$read = fn () => $db->query("SELECT title FROM products WHERE product_id = 1 AND language = 'en'")->fetchColumn();
$dies = $_GET['dies'] ?? null;
if ($dies !== null) {
    isset($_GET['unknown']) ? $db->exec('BEGIN') : $db->beginTransaction();
    $GLOBALS['rows'] = $db->query('SELECT title FROM products');
    $GLOBALS['rows']->fetch();
    if ($dies === 'exit') exit(1);
    if ($dies === 'exception') throw new Exception('nobody catches it');
    if ($dies === 'memory') for ($all = []; ; ) $all[] = str_repeat('x', 100000);
    if ($dies === 'call') no_such_function();
}
echo $read();
`;

/** PHP's own server: one process, as a worker of php-fpm, that outlives its requests. */
async function worker(directory: string, open: string) {
  const port = await freePort();
  writeFileSync(join(directory, 'page.php'), page(open));
  const args = ['-d', 'memory_limit=16M', '-S', `127.0.0.1:${port}`, 'page.php'];
  const child = spawn('php', args, { cwd: directory, stdio: 'ignore' });
  while (!(await answers(port))) await setTimeout(10);
  const get = async (query = '') => (await fetch(`http://127.0.0.1:${port}/?${query}`)).text();
  return {
    title: () => get(),
    dies: (how: string) => get(`dies=${how}`),
    /** The files of the mirror that it has open. */
    open: () =>
      readdirSync(`/proc/${child.pid}/fd`)
        .map((fd) => readlinkSync(`/proc/${child.pid}/fd/${fd}`))
        .filter((path) => /mirror\.db( \(deleted\))?$/.test(path)).length,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A mirror of a few hundred products, and what its daemon does. */
function mirrorOf(title: string) {
  const test = testMirror();
  putProducts(test, [productOf(1, { title }), ...Array.from({ length: 300 }, (_, at) => productOf(at + 2))]);
  const later = () => Date.now() + 1000;
  return {
    path: test.path,
    open: opening.replaceAll('data/mirror.db', test.path),
    retitle: (next: string) => putProducts(test, [productOf(1, { title: next })], { sent_at: later() }),
    /** Copies the log into the file; returns whether a reader hinders it. */
    hindered: () => {
      using db = Object.assign(new Database(test.path, { timeout: 0 }), { [Symbol.dispose]: () => undefined });
      const [row] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
      db.close();
      return row?.busy === 1;
    },
    [Symbol.dispose]: () => test[Symbol.dispose](),
  };
}

describe('a connection of PDO that PHP keeps between requests', needs('php'), () => {
  it.each(['exit', 'exception', 'memory', 'call'])(
    'shows the next request what is new, and hinders no checkpoint, where a script dies in the middle of a read: %s',
    async (how) => {
      using mirror = mirrorOf('before');
      await using php = await worker(join(mirror.path, '..'), mirror.open);
      expect(await php.title()).toBe('before');
      expect(php.open()).toBe(1);
      await php.dies(how);
      mirror.retitle('after');
      expect(mirror.hindered()).toBe(false);
      expect(await php.title()).toBe('after');
      expect(php.open()).toBe(1);
    },
  );

  it('would show what is old from then on, and hinder each checkpoint, with a transaction that PHP does not know (control)', async () => {
    using mirror = mirrorOf('before');
    await using php = await worker(join(mirror.path, '..'), mirror.open);
    await php.dies('exit&unknown');
    mirror.retitle('after');
    expect(mirror.hindered()).toBe(true);
    expect(await php.title()).toBe('before');
  });

  it('reads the file that took the place of the one it has open', async () => {
    using mirror = mirrorOf('old file');
    using other = mirrorOf('new file');
    await using php = await worker(join(mirror.path, '..'), mirror.open);
    expect(await php.title()).toBe('old file');
    replace(mirror.path, other.path);
    expect(await php.title()).toBe('new file');
    expect(await php.title()).toBe('new file');
  });

  it('would read the old file as long as PHP runs, without the inode in its name (control)', async () => {
    using mirror = mirrorOf('old file');
    using other = mirrorOf('new file');
    const unnamed = mirror.open.replace(/'inode ' \. @fileinode\(\$file\)/, 'true');
    await using php = await worker(join(mirror.path, '..'), unnamed);
    expect(await php.title()).toBe('old file');
    replace(mirror.path, other.path);
    expect(await php.title()).toBe('old file');
  });
});

/** Puts a copy of another mirror in the place of one, as restore does. */
function replace(path: string, by: string): void {
  const db = new Database(by);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  copyFileSync(by, `${path}.new`);
  for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
  renameSync(`${path}.new`, path);
}
