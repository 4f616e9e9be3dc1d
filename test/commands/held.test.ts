import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { type Ran, startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { outputs } from '../mirror/contract/outputs.ts';

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
  const sandbox = stack.use(await startSandbox({ products: 12, lean: true }));
  const config = writeTestConfig(cwd, sandbox.url);
  const run = (...args: string[]) => runHere(['--config', config, ...args], { env: { COLUMNS: '80' } });
  expect((await run('resync', '--all', '--wait')).code).toBe(0);
  return {
    ids: sandbox.world.visible().map(({ id }) => id),
    mirror: join(cwd, 'mirror', 'mirror.db'),
    run,
    start: (...args) => startCli(['--config', config, ...args], { cwd }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Records what answers leave behind that call these products off sale. */
function hold(mirror: string, ids: readonly number[]): void {
  const db = new Database(mirror);
  const at = Date.now() - 3 * 3_600_000;
  const claim = db.prepare(
    `INSERT INTO _claim (subject, resource, product_id, edition, part, shown, said, first_at, last_at, held_at)
     VALUES ('sale-status', 'products', ?, 'en/EUR', 0, 1, 0, ?, ?, ?)`,
  );
  for (const id of ids) claim.run(id, at, at, at);
  db.prepare(
    "INSERT INTO _held (subject, opened_at, state, next_at, sample, shares) VALUES ('sale-status', ?, 'held', ?, '[]', '[]')",
  ).run(at, Date.now() + 3_600_000);
  db.close();
}

const nothingHeld = { code: 64, stderr: expect.stringMatching(/^Error: nothing of .* is held\nTry: .*held list\n$/) };

describe('catalogued held', () => {
  it('without a daemon lists what is held, and believes or keeps it', async () => {
    await using harness = await filledHarness();
    expect(await harness.run('held')).toMatchObject({ code: 0, stdout: 'Nothing is held.\n' });
    expect(await harness.run('held', 'approve', 'less')).toMatchObject(nothingHeld);

    hold(harness.mirror, harness.ids.slice(0, 8));
    const { stdout: listed } = await harness.run('held', 'list');
    expect(listed).toMatch(
      /^sale-status: products off sale\nFor 3 h: 8 of 12 records \(67 %, the limit is 5\); the mirror/,
    );
    expect(listed.match(/on sale +off sale$/gm)).toHaveLength(3);
    expect(listed).toContain('\n  catalogued held approve sale-status\n  catalogued held reject sale-status\n');
    for (const line of listed.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    const json = JSON.parse((await harness.run('held', '--json')).stdout) as { held: Record<string, unknown>[] };
    expect(json.held).toMatchObject([{ subject: 'sale-status', state: 'held', able: 12, claiming: 8, decision: null }]);
    expect(Object.keys(json.held[0] ?? {}).sort()).toEqual([...(outputs['held list: held'] ?? [])].sort());

    const status = await harness.run('status');
    expect(status).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^Held +sale-status, products off sale: 8 of 12 records/m),
    });
    expect(status.stdout).toMatch(/^products off sale +8 of 12 +5 +3 h ago +the mirror shows/m);
    const [one] = harness.ids;
    const explained = (await harness.run('explain', String(one))).stdout.replaceAll(/\s+/g, ' ');
    expect(explained).toMatch(
      /products off sale \(en\/EUR\): on sale before, off sale in the answer of 3 h ago; held for 3 h, because too many claim the same, and shown as before, as stale; asked again in/,
    );

    expect(await harness.run('held', 'reject', 'price')).toMatchObject(nothingHeld);
    const kept = 'sale-status, products off sale: kept as shown for 24 hours.\n';
    expect(await harness.run('held', 'reject', 'sale-status')).toMatchObject({ code: 0, stdout: kept });
    expect((await harness.run('held')).stdout).toMatch(/rejected: the mirror shows what\nit had \(for 24 h more\)\.\n/);
    const believed = 'sale-status, products off sale: asked once more, and believed for 24 hours.\n';
    expect(await harness.run('held', 'approve', 'less')).toMatchObject({ code: 0, stdout: believed });
    // The service says otherwise: each record leaves the hold by its own answer.
    expect((await harness.run('resync', '--all', '--wait')).code).toBe(0);
    expect((await harness.run('held', '--json')).stdout).toContain('"claiming": 0');
    // The approval stays in force until it expires, without a claim or a share; status does not tell of it.
    expect((await harness.run('held')).stdout).toMatch(/^For 3 h: approved: .* believed \(for 24 h more\)\.$/m);
    expect((await harness.run('status')).stdout).not.toMatch(/^Held /m);
  });

  it('is told by explain beside what is pending and what was believed, also of a single date', async () => {
    await using harness = await filledHarness();
    const [id = 0] = harness.ids;
    const db = new Database(harness.mirror);
    const claim = db.prepare(
      `INSERT INTO _claim (subject, resource, product_id, edition, part, shown, said, first_at, last_at, applied_at)
       VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?)`,
    );
    const at = Date.now() - 2 * 3_600_000;
    claim.run('near-dates', 'availability', id, 'EUR', 24, 0, at, at, null);
    claim.run('from-prices', 'products', id, 'en/EUR', 1200, 12, at, at, at);
    db.close();
    const explain = async (...args: string[]) =>
      (await harness.run('explain', String(id), ...args)).stdout.replaceAll(/\s+/g, ' ');
    const dates =
      /near dates all sold out \(\S+ to \S+, EUR\): 24 dates before, none in the answer of 2 h ago; shown as before until a second answer agrees, asked again in/;
    const price =
      /product prices moved by more than a factor of 2 \(en\/EUR\): 12\.00 EUR before, 0\.12 EUR in the answer of 2 h ago; believed 2 h ago, asked again with the list/;
    const whole = await explain();
    expect(whole).toMatch(dates);
    expect(whole).toMatch(price);
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    expect(await explain('--date', inDays(3))).toMatch(dates);
    expect(await explain('--date', inDays(3))).not.toMatch(price);
    expect(await explain('--date', inDays(80))).not.toMatch(dates);
  });

  it('knows no other kind, and says which there are', async () => {
    for (const kind of ['dates', 'all', 'near-date', '']) {
      const { code, stderr } = await runHere(['held', 'approve', kind]);
      expect(code).toBe(64);
      expect(stderr).toMatch(
        /expected less, price, products, sale-status, near-dates, .*\.\nTry: catalogued held --help\n$/,
      );
    }
  });

  it('answers in the place of the old command', async () => {
    for (const old of [['removals'], ['removals', 'list'], ['removals', 'approve', '--product', '1']])
      expect(await runHere(old)).toMatchObject({
        code: 64,
        stderr: 'Error: removals is now held\nTry: catalogued held --help\n',
      });
  });
});
