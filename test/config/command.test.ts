import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { printSchema } from '../../src/commands/config.ts';
import { main } from '../../src/commands/main.ts';

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const [out, err] = [collector(), collector()];
  const signal = new AbortController().signal;
  const code = await main(args, { stdout: out.stream, stderr: err.stream, env, signal });
  return { code, out: out.text(), err: err.text() };
}

function collector() {
  const chunks: string[] = [];
  const write = (chunk: unknown, _: string, done: () => void) => {
    chunks.push(String(chunk));
    done();
  };
  return { stream: new Writable({ write }), text: () => chunks.join('') };
}

const example = new URL('../../config/catalogued.yaml', import.meta.url).pathname;
const broken = new URL('../fixtures/ten-mistakes.yaml', import.meta.url).pathname;
const key = { CATALOGUED_API_KEY: 'hunter2', CATALOGUED_SERVICE__USER_AGENT: 'norland catalogued' };

test('config check says what a valid configuration comes to, with the key as its fingerprint', async () => {
  const { code, out, err } = await run(['--config', example, 'config', 'check'], key);
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain(`${example} is valid.`);
  expect(out).toMatch(/https:\/\/api\.example\.com +en +EUR +sha256:f52fbd32/);
});

test('config check --json has the same facts', async () => {
  const { out } = await run(['--config', example, 'config', 'check', '--json'], key);
  expect(JSON.parse(out)).toEqual({
    file: example,
    service: 'https://api.example.com',
    languages: ['en'],
    currencies: ['EUR'],
    key: 'sha256:f52fbd32',
    mirror: './data/mirror.db',
    warnings: [],
  });
});

test('config check prints ten mistakes as ten lines and ends with 78', async () => {
  const { code, out, err } = await run(['--config', broken, 'config', 'check']);
  expect([code, out]).toEqual([78, '']);
  const lines = err.trimEnd().split('\n');
  expect([lines.at(0), lines.at(-1)]).toEqual([
    expect.stringMatching(/^Error: .* has 10 problems:$/),
    expect.stringMatching(/^Try: /),
  ]);
  expect(lines.slice(1, -1).every((line) => /^ {2}line \d+: [\w.[\]]+: .*expected|did you mean/.test(line))).toBe(true);
  expect(lines).toHaveLength(12);
});

test('config check prints warnings beside what is valid', async () => {
  const { code, err } = await run(['--config', example, 'config', 'check'], {
    ...key,
    CATALOGUED_CADENCE__IMAGES: '14d',
  });
  expect(code).toBe(0);
  expect(err).toMatch(/^Warning: cadence\.images is 14d/);
});

test('config show lists every value with its origin, and no secret', async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'catalogued-show-'));
  const file = join(directory.path, 'catalogued.yaml');
  writeFileSync(
    file,
    'service: { base_url: https://api.example.com, select: { city_id: [113] } }\ncadence: { images: 72h }',
  );
  const env = { ...key, CATALOGUED_LOG__LEVEL: 'debug' };
  const { out } = await run(['--config', file, 'config', 'show'], env);
  for (const line of [
    /^service\.base_url +https:\/\/api\.example\.com +file$/m,
    /^service\.select\.city_id +\[113\] +file$/m,
    /^cadence\.images +3d +file$/m,
    /^cadence\.products +7d +default$/m,
    /^images\.disk +10GiB +default$/m,
    /^log\.level +debug +environment$/m,
    /^\(api_key\) +sha256:f52fbd32 +CATALOGUED_API_KEY$/m,
    /^\(signing_key\) +null +not set$/m,
  ])
    expect(out).toMatch(line);
  const json = JSON.parse((await run(['--config', file, 'config', 'show', '--json'], env)).out);
  expect(json['cadence.images']).toEqual({ value: '3d', origin: 'file' });
  expect(out + JSON.stringify(json)).not.toContain('hunter2');
});

test('config show --defaults needs no configuration', async () => {
  const { code, out } = await run(['--config', '/nowhere', 'config', 'show', '--defaults']);
  expect(code).toBe(0);
  expect(out).toMatch(/^service\.base_url +null +required$/m);
  expect(out).toMatch(/^cadence\.images +7d +default$/m);
});

test('config schema prints the schema', async () => {
  expect((await run(['config', 'schema'])).out).toBe(printSchema());
});

test('every command of config has two examples in its help', async () => {
  for (const name of ['check', 'show', 'schema']) {
    const { code, out } = await run(['config', name, '--help']);
    expect(code).toBe(0);
    expect(out.slice(out.indexOf('Examples:')).trimEnd().split('\n')).toHaveLength(3);
  }
});
