import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type Ran, startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

interface FilledHarness extends AsyncDisposable {
  readonly ids: readonly number[];
  readonly mirror: string;
  run(...args: string[]): Promise<Ran>;
  start(...args: string[]): ReturnType<typeof startCli>;
}

/** A mirror of twelve products that was filled by a command, with no daemon running. */
async function filledHarness(): Promise<FilledHarness> {
  const stack = new AsyncDisposableStack();
  const { path: cwd } = stack.use(temporaryDirectory());
  const sandbox = stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 12, lean: true }));
  const config = join(cwd, 'catalogued.yaml');
  writeFileSync(config, testConfigText(cwd, sandbox.url));
  const run = (...args: string[]) => runHere(['--config', config, ...args]);
  expect((await run('resync', '--all', '--wait')).code).toBe(0);
  return {
    ids: sandbox.world.visible().map(({ id }) => id),
    mirror: join(cwd, 'mirror', 'mirror.db'),
    run,
    start: (...args) => startCli(['--config', config, ...args], { cwd }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Writes down what a list that lacks these products leaves behind. */
function hold(mirror: string, ids: readonly number[]): void {
  const db = new Database(mirror);
  const at = Date.now() - 3 * 3_600_000;
  for (const id of ids)
    db.prepare(
      'INSERT INTO _absence (product_id, missing_walks, first_missing_at, last_missing_at) VALUES (?, 1, ?, ?)',
    ).run(id, at, at);
  db.prepare('INSERT INTO _hold (opened_at, lists, last_list_at) VALUES (?, 1, ?)').run(at, at);
  db.close();
}

function visible(mirror: string): number {
  const db = new Database(mirror, { readonly: true });
  const count = db.prepare<[], number>('SELECT count(*) FROM _product WHERE withdrawn_at IS NULL').pluck().get() ?? 0;
  db.close();
  return count;
}

describe('catalogued removals', () => {
  it('without a daemon lists what is held, lets some of it go, and keeps the rest', async () => {
    await using harness = await filledHarness();
    expect(await harness.run('removals', 'list')).toMatchObject({
      code: 0,
      stdout: '0 products are missing from the list; nothing is held.\n',
    });
    const refused = await harness.run('removals', 'approve');
    expect(refused).toMatchObject({ code: 64, stderr: expect.stringMatching(/^Error: no removal is held\nTry: /) });

    hold(harness.mirror, harness.ids.slice(0, 8));
    const listed = await harness.run('removals', 'list');
    expect(listed.stdout).toMatch(
      /^Held for 3 h: 8 products are missing from the list\. 1 of the 3 lists needed agree so far\.$/m,
    );
    expect(listed.stdout.match(/not asked yet +held$/gm)).toHaveLength(8);
    const json = JSON.parse((await harness.run('removals', 'list', '--json')).stdout) as { products: object[] };
    expect(json).toMatchObject({ hold: { lists: 1, ended_at: null } });
    expect(json.products[0]).toMatchObject({ product_id: harness.ids.toSorted((a, b) => a - b)[0], missing_walks: 1 });

    const status = await harness.run('status');
    expect(status).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^Removals {2}8 products are missing from the list, and held .*catalogued removals list/m,
      ),
    });
    const [one = 0] = harness.ids;
    expect(await harness.run('removals', 'approve', '--product', '1')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('not held: product 1'),
    });
    expect(await harness.run('removals', 'approve', '--product', String(one))).toMatchObject({ code: 0 });
    expect(visible(harness.mirror)).toBe(11);
    expect(await harness.run('removals', 'reject')).toMatchObject({ code: 0, stdout: '7 products stay.\n' });
    expect(visible(harness.mirror)).toBe(11);
    expect((await harness.run('status')).code).toBe(0);
  });

  it('goes through a running daemon, with the same answers', async () => {
    await using harness = await filledHarness();
    hold(harness.mirror, harness.ids.slice(0, 8));
    const daemon = harness.start('run');
    await daemon.said('daemon started');
    expect(await harness.run('removals', 'approve', '--product', '1')).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/^Error: not held: product 1\nTry: /),
    });
    expect(await harness.run('removals', 'approve')).toMatchObject({ code: 0, stdout: '8 products withdrawn.\n' });
    expect(visible(harness.mirror)).toBe(4);
    expect(await harness.run('removals', 'reject')).toMatchObject({ code: 64 });
    daemon.child.kill('SIGTERM');
    const { code, stdout } = await daemon.ended;
    expect(code).toBe(0);
    expect(stdout).toContain('removals decided by an operator');
  });

  it('ends with 75 where somebody holds the lock and no daemon answers', async () => {
    await using harness = await filledHarness();
    hold(harness.mirror, harness.ids.slice(0, 8));
    const daemon = harness.start('run');
    await daemon.said('daemon started');
    daemon.child.kill('SIGSTOP');
    rmSync(join(harness.mirror, '..', '..', 'state', 'admin.sock'));
    expect(await harness.run('removals', 'reject')).toMatchObject({ code: 75 });
    daemon.child.kill('SIGCONT');
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  });
});
