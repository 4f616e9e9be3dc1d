import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { runCli, startCli } from '../fakes/run-cli.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** Returns the output of a demo, without the parts that differ from start to start: ports and the time. */
function toldBy(output: string): string {
  return output
    .replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replaceAll(/^\d\d:\d\d:\d\d/gm, 'TIME')
    .replaceAll(/^filling: .*\n/gm, '');
}

it('the demo tells the same story at each start, and ends with a shop, a page and a file', needs('time'), async () => {
  using directory = temporaryDirectory();
  const file = join(directory.path, 'data/demo/mirror.db');
  // Left by a demo that was killed before it had written its configuration.
  mkdirSync(join(directory.path, 'data/demo'), { recursive: true });
  writeFileSync(file, '');
  const start = async () => {
    const demo = startCli(['demo', '--products', '40'], { cwd: directory.path });
    return { demo, output: await demo.said(/^File .*\n/m) };
  };
  const first = await start();
  const said = first.output;
  const steps = [
    /mirror {3}subscribed to changes of 40 products: active/,
    /service {2}closes (\d+) .*: out_of_season, expected back within_month, instead \d+/,
    /mirror {3}\d+ is off sale as announced: out_of_season, expected back within_month/,
    /mirror {3}\d+ is off sale, confirmed by a read; its alternative is \d+/,
    /service {2}opens \d+ .*, and changes the description of \d+/,
    /mirror {3}\d+ is on sale again, by a read/,
    /mirror {3}\d+ reads "Now with a roof terrace."/,
    /^Shop {2}http:\/\/127\.0\.0\.1:\d+\/\nPage {2}http:\/\/127\.0\.0\.1:\d+\/\nFile {2}npx node -e ".*openReader\('data\/demo\/mirror\.db'\).*"\n/m,
  ];
  const at = steps.map((step) => said.search(step));
  expect(at.every((place) => place >= 0)).toBe(true);
  expect(at.toSorted((a, b) => a - b)).toEqual(at);

  const [, shop = ''] = /^Shop {2}(\S+)/m.exec(said) ?? [];
  const [, page = ''] = /^Page {2}(\S+)/m.exec(said) ?? [];
  expect(await (await fetch(shop)).text()).toContain('Popular now');
  expect((await fetch(page)).status).toBe(200);
  // With the Node that the tests run on, which is that of `npx node` in a checkout.
  const [, program = '', product_id = ''] = /^File {2}npx node -e "(.*calendar\((\d+),.*)"$/m.exec(said) ?? [];
  expect(program).not.toMatch(/["$`\\]/);
  const table = execFileSync(process.execPath, ['-e', program], { cwd: directory.path, encoding: 'utf8' });
  const dates = [...table.matchAll(/'(\d{4}-\d\d-\d\d)' │ 'available' +│ \d+/g)];
  const date = dates.at(-1)?.[1] ?? '';
  expect(table.match(/\d{4}-\d\d-\d\d/g)).toHaveLength(7);
  // The commands of docs/operating.md: a newcomer's next step.
  const asked = { cwd: directory.path, env: { CATALOGUED_CONFIG: 'data/demo/catalogued.yaml' } };
  const [status, doctor, explained] = await Promise.all([
    runCli(['status'], asked),
    runCli(['doctor'], asked),
    runCli(['explain', product_id], asked),
  ]);
  expect({ ...doctor, stderr: '' }).toMatchObject({ code: 0, stdout: expect.stringContaining('accepts the key') });
  expect(status.stdout).toMatch(/Daemon +running/);
  expect(explained.stdout).toContain(product_id);
  expect(statSync(join(directory.path, 'data/demo/state/api_key')).mode & 0o777).toBe(0o600);
  // A second demo leaves the files of one that runs alone.
  expect(await runCli(['demo'], { cwd: directory.path })).toMatchObject({
    code: 75,
    stderr: expect.stringContaining('choose another --directory'),
  });
  const ended = async ({ demo }: typeof first) => {
    demo.child.kill('SIGINT');
    return (await demo.ended).code;
  };
  expect(await ended(first)).toBe(0);

  const second = await start();
  expect(toldBy(second.output)).toBe(toldBy(said));
  const checked = await runCli(['check', product_id, '--date', date], asked);
  expect({ ...checked, stderr: '' }).toMatchObject({ code: 0, stdout: expect.stringContaining('holds') });
  expect(await ended(second)).toBe(0);
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
