import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { withinQuota } from '../../src/kernel/sqlite/quota.ts';
import { takesWrites } from '../../src/kernel/sqlite/trial-write.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { cli } from '../fakes/built-program.ts';
import { needs } from '../fakes/needs.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** Runs a daemon whose mirror meets a used-up quota a few times while it is filled. Returns its log, and how it ended. */
async function runWithin(quota: 'used up' | 'a broken disk'): Promise<{ code: number | null; said: string[] }> {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 12 });
  const config = writeTestConfig(directory.path, sandbox.url, { log: { level: 'info' } });
  const wal = join(directory.path, 'mirror', 'mirror.db-wal');
  const trial = join(directory.path, 'mirror', '.catalogued-room');
  const also = quota === 'used up' ? ['-e', 'inject=write:error=EDQUOT'] : [];
  const traced = ['strace', '-f', '-qq', '-o', '/dev/null', '-P', wal, '-P', trial, '-e', 'trace=pwrite64,write'];
  const under = [...traced, '-e', 'inject=pwrite64:error=EDQUOT:when=400..401', ...also];
  // It says its number first: strace does not hand a signal on.
  const daemon = ['sh', '-c', 'echo $$; exec "$@"', 'sh', process.execPath, cli, '--config', config, 'run'];
  const [command = '', ...args] = [...under, ...daemon];
  const child = spawn(command, args, {
    cwd: directory.path,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface(stream).on('line', (line) => {
      said.push(line);
      if (line.includes('files are written again')) process.kill(Number(said[0]), 'SIGTERM');
    });
  const code = await ended;
  expect(existsSync(trial)).toBe(false);
  return { code, said };
}

describe('a used-up quota', () => {
  it('of the mirror is waited out by a daemon like a full disk', needs('strace', 'time'), async () => {
    const { code, said } = await runWithin('used up');
    expect(said.filter((line) => /disk is full: waiting|written again/.test(line))).toHaveLength(2);
    expect(code).toBe(0);
  });

  it('is also a file that has reached the largest size allowed, which takes no trial write', () => {
    using directory = temporaryDirectory();
    const path = (name: string) =>
      JSON.stringify(fileURLToPath(new URL(`../../src/kernel/sqlite/${name}`, import.meta.url)));
    const script = `
      import Database from 'better-sqlite3';
      import { withinQuota } from ${path('quota.ts')};
      import { takesWrites } from ${path('trial-write.ts')};
      const db = new Database(${JSON.stringify(join(directory.path, 'mirror.db'))});
      db.pragma('journal_mode = WAL');
      db.exec('CREATE TABLE rows (x)');
      const add = () => db.exec('INSERT INTO rows VALUES (randomblob(20000))');
      try { for (;;) withinQuota(db.name, add); } catch (error) { console.log(error.code); }
      try { for (;;) db.exec('INSERT INTO rows VALUES (1)'); } catch { console.log(takesWrites(db.name)); }`;
    // In blocks of 512 bytes.
    const child = spawnSync(
      'sh',
      ['-c', 'ulimit -f 600; exec "$0" --input-type=module --eval "$1"', process.execPath, script],
      { cwd: fileURLToPath(new URL('../..', import.meta.url)), encoding: 'utf8' },
    );
    expect(child.stdout.trim().split('\n')).toEqual(['SQLITE_FULL', 'false']);
  });

  it('and a file that cannot be opened take no trial write, and end nothing', () => {
    using directory = temporaryDirectory();
    expect(takesWrites(directory.path)).toBe(false);
  });

  it('is told from a broken disk, which ends a daemon with 74 (control)', { ...needs('strace') }, async () => {
    const { code, said } = await runWithin('a broken disk');
    expect(said.join('\n')).toContain('the disk failed');
    expect(code).toBe(74);
  });

  it('becomes the error of a full disk only where nothing else can be written there', needs('time'), () => {
    const failed = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
    const write = () => withinQuota('/mirror/mirror.db', fails, (path) => path.startsWith('/mirror/'));
    const fails = () => {
      throw failed;
    };
    expect(write).toThrow(expect.objectContaining({ code: 'SQLITE_FULL', cause: failed }));
    expect(() => withinQuota('/inbox/inbox.db', fails, (path) => path.startsWith('/mirror/'))).toThrow(failed);
    expect(() => withinQuota('/proc/mirror.db', fails)).toThrow(failed);
  });
});
