import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ran } from '../fakes/run-cli.ts';
import { ask, happens, Stage } from './stage.ts';

const stack = new AsyncDisposableStack();
let stage: Stage;
let data: string;
let inbox: string;
let products: readonly number[];
beforeAll(async () => {
  stage = stack.use(await Stage.open({ service: ['--products', '2'] }));
  await stage.filled();
  data = dirname(stage.mirror);
  inbox = join(dirname(stage.admin), 'inbox.db');
  products = await stage.service.get<number[]>('/sandbox/products');
  expect(await stage.ended()).toMatchObject({ code: 0, stderr: '' });
  cpSync(data, `${data}.whole`, { recursive: true });
});
afterAll(() => stack.disposeAsync());

/** Puts both files back as they were when the daemon had stopped in order. */
function putBack(): void {
  rmSync(data, { recursive: true });
  cpSync(`${data}.whole`, data, { recursive: true });
}

/** Databases, with their bytes. The index of a log is that of its readers. */
function databases(): Record<string, string> {
  const names = readdirSync(data, { recursive: true, encoding: 'utf8' }).filter((name) => /\.db(-wal)?$/.test(name));
  const held = names.filter((name) => statSync(join(data, name)).size > 0);
  return Object.fromEntries(held.sort().map((name) => [name, hash('sha256', readFileSync(join(data, name)))]));
}

function gone(path: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
}

function foreign(path: string, sql: string): void {
  gone(path);
  const db = new Database(path);
  db.exec(sql);
  db.close();
}

function damaged(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xff, 8192, bytes.length / 2));
}

/** One error and one hint, each a line, and no stack. */
function refused({ code, stderr }: Ran, as: number): string {
  const lines = stderr.trim().split('\n');
  expect([code, lines.map((line) => /^\w+: /.exec(line)?.[0])], stderr).toEqual([as, ['Error: ', 'Try: ']]);
  return lines[1] ?? '';
}

/** Does what `Try:` says, word by word. */
async function follow(hint: string): Promise<void> {
  const [command] = /\b(catalogued repair|mv \S+ \S+)/.exec(hint) ?? [];
  if (command === undefined) throw new Error(`there is nothing to do in: ${hint}`);
  if (command.startsWith('mv')) execFileSync('sh', ['-c', command]);
  else expect(await stage.run(...command.split(' ').slice(1))).toMatchObject({ code: 0, stderr: '' });
}

/** Starts until it can, doing each time what it says. The mirror is whole then. */
async function started(first: Ran): Promise<void> {
  for (let [ran, steps] = [first, 0]; ; steps += 1) {
    await follow(refused(ran, ran.code ?? 0));
    const daemon = stage.start('run');
    const fine = await Promise.race([daemon.said(/daemon started/).then(() => true), daemon.ended]).catch(() => null);
    if (fine === true) {
      await stage.rowsOnce<{ product_id: number }>('SELECT product_id FROM products', (rows) => rows.length === 2);
      expect((await daemon.end()).code).toBe(0);
      return;
    }
    if (steps === 2) throw new Error(`it does not start: ${daemon.output()}`);
    ran = await daemon.ended;
  }
}

it('a second daemon on the same files ends with 75, and the first one goes on', async () => {
  putBack();
  await stage.live();
  const before = stage.rows('SELECT * FROM mirror_info');
  expect(refused(await stage.run('run'), 75)).not.toBe('');
  expect((await stage.run('repair')).code).toBe(75);
  expect((await ask(stage.admin, '/readyz')).status).toBe(200);
  expect(stage.rows('SELECT * FROM mirror_info')).toEqual(before);
  expect(await stage.ended()).toMatchObject({ code: 0, stderr: '' });
});

describe('a file that cannot be used', () => {
  it.each<[string, number, () => void]>([
    ['a mirror with damaged pages', 65, () => damaged(stage.mirror)],
    ['no inbox', 78, () => gone(inbox)],
  ])('is refused untouched, and what the error says to do is all that is needed: %s', async (_, code, harm) => {
    putBack();
    harm();
    const before = databases();
    const ran = await stage.run('run');
    refused(ran, code);
    expect(databases()).toEqual(before);
    await started(ran);
    expect(stage.rows<{ product_id: number }>('SELECT product_id FROM products ORDER BY 1')).toEqual(
      products.map((product_id) => ({ product_id })),
    );
  });

  it('is left as it is where a newer version or another program has written it, or no database', async () => {
    const table = (pragmas: string) => `${pragmas} CREATE TABLE t (a)`;
    for (const [path, says, harm] of [
      [
        stage.mirror,
        /newer/,
        () => foreign(stage.mirror, table('PRAGMA application_id = 1128354901; PRAGMA user_version = 99;')),
      ],
      [stage.mirror, /not a/, () => foreign(stage.mirror, table('PRAGMA application_id = 7;'))],
      [inbox, /not a/, () => writeFileSync(inbox, 'notes of somebody\n'.repeat(500))],
    ] as const) {
      putBack();
      harm();
      const before = databases();
      const ran = await stage.run('run');
      refused(ran, 65);
      expect(ran.stderr).toMatch(says);
      expect(databases()).toEqual(before);
      // A byte more is seen (control).
      writeFileSync(path, 'x', { flag: 'a' });
      expect(databases()).not.toEqual(before);
    }
  });
});

it('a mirror that is lost under a running daemon is noticed everywhere, and what is said to do works', async () => {
  putBack();
  await stage.live();
  const ready = async () => (await ask(stage.admin, '/readyz')).status;
  await happens(ready, (status) => status === 200);
  gone(stage.mirror);
  await happens(ready, (status) => status === 503);
  const status = await stage.run('status', '--json');
  const { conditions } = JSON.parse(status.stdout) as { conditions: { code: string }[] };
  expect([status.code, conditions.map(({ code }) => code)]).toEqual([1, expect.arrayContaining(['mirror-lost'])]);
  expect((await stage.run('doctor')).stdout).toMatch(/mirror-lost.*catalogued repair/s);
  const ended = (await stage.ended()) as Ran;
  expect(ended.code).toBe(65);
  await started(ended);
});
