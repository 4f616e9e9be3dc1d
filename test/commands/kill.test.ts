import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { mostTogether } from '../../src/cycle/sync-cycle.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { roll } from '../../src/sandbox/random.ts';
import { needs } from '../fakes/needs.ts';
import { zoneAtNoon } from '../fakes/numbered-service.ts';
import { startCli } from '../fakes/run-cli.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { thorough } from '../fakes/thorough.ts';
import { compare } from '../oracle/oracle.ts';

const seed = Number(process.env.CATALOGUED_TEST_SEED ?? 1);
/** As many as are asked for: `CATALOGUED_TEST_PRODUCTS=1500 CATALOGUED_TEST_SEED=… npx vitest run --config test/vitest.config.ts kill`. */
const products = Number(process.env.CATALOGUED_TEST_PRODUCTS ?? (thorough ? 80 : 40));
const concurrency = 4;

/** Fills a mirror by a command that is killed five times at random moments; returns how many reads came twice. */
async function fillWithKills(betweenKills: (mirror: string) => void): Promise<number> {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ seed: 3, products });
  const zone = zoneAtNoon(systemClock.now());
  for (const product of sandbox.products()) Object.assign(product, { place: { ...product.place, zone } });
  const config = writeTestConfig(directory.path, sandbox.url);
  const args = ['--config', config, 'resync', '--all', '--wait'];
  const options = { cwd: directory.path };
  const mirror = join(directory.path, 'mirror', 'mirror.db');
  for (let kill = 0; kill < 5; kill += 1) {
    const { child, ended } = startCli(args, options);
    await sandbox.calls.reached(Math.floor((kill + roll(seed, kill)) * products) + 5);
    child.kill('SIGKILL');
    await ended;
    betweenKills(mirror);
  }
  const last = await startCli(args, options).ended;
  expect(last.stderr).not.toContain('Error');
  expect(last.code).toBe(0);
  const db = new Database(mirror, { readonly: true });
  const ids = sandbox.world.visible().map(({ id }) => id);
  const state = async (id: number) => {
    const shown = sandbox.state(id, { language: 'en', currency: 'EUR', horizon: 92 });
    if (shown === null) throw new Error(`no product ${id}`);
    return shown;
  };
  const comparison = await compare(db, ids, state, { language: 'en', currency: 'EUR', now: Date.now() });
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  db.close();
  expect(comparison).toMatchObject({ differences: 0, first: [] });
  if (products >= 600)
    process.stdout.write(`${JSON.stringify({ calls: sandbox.calls.counts().calls, ...comparison })}\n`);
  const repeated = [...sandbox.calls.repeated()].filter(([url]) => /\/v2\/products\/\d+/.test(url));
  return repeated.reduce((sum, [, times]) => sum + times - 1, 0);
}

it(`a fill killed five times ends true, and only what was in flight or not stored yet is read again (seed ${seed})`, async () => {
  const again = await fillWithKills(() => undefined);
  if (products >= 600) process.stdout.write(`${again} reads came twice after five kills\n`);
  expect(again).toBeLessThanOrEqual(5 * (concurrency + mostTogether));
});

it(
  'the harness notices when finished records are read again (control: the job is forgotten)',
  needs('time'),
  async () => {
    const forget = (mirror: string) => {
      const db = new Database(mirror);
      db.exec('UPDATE _record SET job_id = NULL; DELETE FROM _job');
      db.close();
    };
    expect(await fillWithKills(forget)).toBeGreaterThan(5 * concurrency);
  },
);
