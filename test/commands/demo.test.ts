import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { runCli, startCli } from '../fakes/run-cli.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

it('the demo shows how the file follows what the service announces', needs('time'), async () => {
  using directory = temporaryDirectory();
  // Left by a demo that was killed before it had written its configuration.
  mkdirSync(join(directory.path, 'data/demo'), { recursive: true });
  writeFileSync(join(directory.path, 'data/demo/mirror.db'), '');
  const demo = startCli(['demo', '--products', '40'], { cwd: directory.path });
  const said = await demo.said('Change something yourself');
  const steps = [
    /mirror {3}subscribed to changes of 40 products: active/,
    /service {2}closes (\d+) .*: out_of_season, expected back within_month, instead \d+/,
    /mirror {3}\d+ is off sale as announced: out_of_season, expected back within_month/,
    /mirror {3}\d+ is off sale, confirmed by a read; its alternative is \d+/,
    /service {2}opens \d+ .*, and changes the description of \d+/,
    /mirror {3}\d+ is on sale again, by a read/,
    /mirror {3}\d+ reads "Now with a roof terrace."/,
  ];
  const at = steps.map((step) => said.search(step));
  expect(at.every((place) => place >= 0)).toBe(true);
  expect(at.toSorted((a, b) => a - b)).toEqual(at);

  // The commands that it names: a newcomer's next step.
  const [, config = '', product_id = ''] = /catalogued --config (\S+) explain (\d+)/.exec(said) ?? [];
  const asked = { cwd: directory.path, env: { CATALOGUED_CONFIG: config } };
  const [status, doctor, explained] = await Promise.all([
    runCli(['status'], asked),
    runCli(['doctor'], asked),
    runCli(['explain', product_id], asked),
  ]);
  expect({ ...doctor, stderr: '' }).toMatchObject({ code: 0, stdout: expect.stringContaining('accepts the key') });
  expect(status.stdout).toMatch(/Daemon +running/);
  expect(explained.stdout).toContain(product_id);
  // The check is of what is on sale, and its price is that of the query above it.
  const [, of = '', date = ''] = / check (\d+) --date (\S+)/.exec(said) ?? [];
  const shown = / "(SELECT date, .* LIMIT 7)"/.exec(said)?.[1] ?? '';
  const db = new Database(join(directory.path, 'data/demo/mirror.db'), { readonly: true });
  const [day] = db.prepare(`SELECT * FROM (${shown.replace('LIMIT 7', '')}) WHERE date = ?`).all(date) as object[];
  db.close();
  expect(day).toMatchObject({ state: 'available', lowest_adult_price: expect.any(Number) });
  expect(said).not.toMatch(/\b(lowest_price|from_price)\b/);
  const checked = await runCli(['check', of, '--date', date], asked);
  expect({ ...checked, stderr: '' }).toMatchObject({ code: 0, stdout: expect.stringContaining('holds') });
  expect(statSync(join(directory.path, 'data/demo/state/api_key')).mode & 0o777).toBe(0o600);
  demo.child.kill('SIGINT');
  expect((await demo.ended).code).toBe(0);
});

it('the demo writes over no configuration and no mirror but its own', async () => {
  using directory = temporaryDirectory();
  const file = join(directory.path, 'catalogued.yaml');
  writeFileSync(file, 'service: {}\n');
  expect(await runCli(['demo', '--directory', '.'], { cwd: directory.path })).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('choose another --directory'),
  });
  expect(readFileSync(file, 'utf8')).toBe('service: {}\n');
  rmSync(file);
  writeFileSync(join(directory.path, 'mirror.db'), '');
  expect((await runCli(['demo', '--directory', '.'], { cwd: directory.path })).stderr).toContain(
    'was not made by the demo',
  );
});
