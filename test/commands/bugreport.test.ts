import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scrubbing } from '../../src/commands/bugreport/scrub.ts';
import { canary, canaryMark } from '../fakes/canary.ts';
import { runHere } from '../fakes/run-here.ts';
import { rsaPem } from '../fakes/signing-keys.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const stack = new AsyncDisposableStack();
let path = '';
let log = '';
const pem = rsaPem('pkcs8');
const token = 'Zk3'.repeat(14).padEnd(43, 'Q');
let mirror = '';
let product_id = 0;
afterAll(() => stack.disposeAsync());

const secretFiles = {
  api_key: canary.key,
  signing_key: pem,
  receiver_secret: canary.master,
  admin_token: canary.admin,
  storefront_token: canary.storefront,
};
const fileOf = (name: keyof typeof secretFiles) => join(path, name);

beforeAll(async () => {
  path = stack.use(temporaryDirectory()).path;
  log = join(path, 'catalogued.log');
  for (const [name, text] of Object.entries(secretFiles)) writeFileSync(join(path, name), text, { mode: 0o600 });
  const harness = stack.use(await filledHarness({ products: 4 }));
  mirror = harness.daemon.config.mirror.path;
  product_id = harness.sandbox.world.visible()[0]?.id ?? 0;
  const planted = `it answered 401 to Authorization: Token ${canary.key}, https://joe:${canaryMark}@proxy/`;
  const db = new Database(mirror);
  const { name } = db.prepare("SELECT name FROM sqlite_schema WHERE name IN ('record', '_record')").get() as {
    name: string;
  };
  db.prepare(`UPDATE "${name}" SET failures = 3, failure = ? WHERE resource = 'variants'`).run(planted);
  db.close();
  const lines = [
    `{"msg":"request","headers":{"authorization":"Token ${canary.key}"}}`,
    `{"msg":"delivery","path":"/hooks/${token}"}`,
    `fetching https://api.example.com/v2?api_key=${canaryMark}&page=1 with ${Buffer.from(canary.admin).toString('base64')}`,
    JSON.stringify({ msg: 'signing with', key: pem }),
    'the last line, which has nothing to hide',
  ];
  writeFileSync(log, `${lines.join('\n')}\n`);
});

function configuration(more: Record<string, unknown> = {}): string {
  const file = join(path, 'catalogued.yaml');
  const state = join(mirror, '../../state');
  const text = testConfigText(path, 'https://api.example.com', {
    service: { api_key_file: fileOf('api_key'), user_agent: 'my-brand' },
    signing: { key_file: fileOf('signing_key') },
    receiver: { secret_file: fileOf('receiver_secret') },
    storefront: { listen: '127.0.0.1:8482', token_file: fileOf('storefront_token') },
    mirror: { path: mirror, state_dir: state },
    // Nobody answers there.
    admin: { listen: `unix:${join(path, 'admin.sock')}`, token_file: fileOf('admin_token') },
    ...more,
  });
  writeFileSync(file, text);
  return file;
}

/** Makes a report, and returns its files by name as tar reads them. */
async function reported(config: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const output = join(path, `report-${readdirSync(path).length}.tar.gz`);
  const ran = await runHere(['--config', config, 'bugreport', '--output', output, ...args], { env });
  const names = execFileSync('tar', ['tzf', output], { encoding: 'utf8' }).trim().split('\n');
  const texts = new Map(
    names.map((name) => [name.split('/')[1] ?? '', execFileSync('tar', ['xzOf', output, name], { encoding: 'utf8' })]),
  );
  return { ran, output, texts };
}

/** Every form in which a secret could stand in an archive. */
const secrets = [
  canaryMark,
  token,
  Buffer.from(canary.admin).toString('base64').slice(0, 20),
  pem.split('\n')[2] ?? '',
  pem.split('\n').at(-3) ?? '',
];

describe('a bug report', () => {
  it('has versions, configuration with origins, checks, status, schema, counts, failing records, the log and a product', async () => {
    const { ran, output, texts } = await reported(configuration(), ['--record', String(product_id), '--log', log]);
    expect(ran).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`Written to ${output}`) });
    expect(statSync(output).mode & 0o777).toBe(0o600);
    expect([...texts].filter(([, text]) => text.startsWith('not found out'))).toEqual([]);
    const json = (name: string) => JSON.parse(texts.get(name) ?? '') as Record<string, never>;
    expect(json('versions.json')).toMatchObject({ node: { node: process.versions.node }, sqlite: expect.any(String) });
    expect(json('config.json')).toMatchObject({
      values: {
        'service.user_agent': { value: 'my-brand', origin: 'file' },
        'cadence.images': { value: '7d', origin: 'default' },
        '(api_key)': { value: expect.stringMatching(/^sha256:/) },
      },
    });
    expect(json('doctor.json')).toMatchObject({ daemon: 'none runs', checks: expect.any(Array) });
    expect(json('status.json')).toMatchObject({ products: { visible: 4 }, outcomes: expect.any(Array) });
    expect(json('mirror.json')).toMatchObject({
      schema: expect.arrayContaining([expect.stringContaining('CREATE VIEW')]),
    });
    expect(json('inbox.json')).toMatchObject({ rows: expect.any(Object) });
    expect(Object.values(json('failing.json')).flat()).toContainEqual(
      expect.objectContaining({
        resource: 'variants',
        failures: 3,
        failure: expect.stringContaining('it answered 401'),
      }),
    );
    expect(texts.get('log.txt')).toContain('the last line, which has nothing to hide');
    expect(json(`product-${product_id}.json`)).toMatchObject({
      explained: { product_id },
      shown: { products: [expect.objectContaining({ product_id, document: expect.any(String) })] },
    });
  });

  it('has no secret in it, wherever it was planted', async () => {
    const env = { CATALOGUED_SERVICE__USER_AGENT: 'x', CATALOGUED_API_KEY: `${canaryMark}-of-a-variable` };
    const { output, texts } = await reported(configuration(), ['--record', String(product_id), '--log', log], env);
    const packed = readFileSync(output);
    for (const text of [packed.toString('latin1'), gunzipSync(packed).toString('latin1'), ...texts.values()])
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    expect(texts.get('versions.json')).toContain('CATALOGUED_API_KEY');
    expect(texts.get('log.txt')).toContain('[hidden]');
  });

  it('would have every one of them in it without the net below (control)', async () => {
    const raw = readFileSync(log, 'utf8');
    expect(secrets.filter((secret) => raw.includes(secret))).toEqual(secrets);
    const db = new Database(mirror, { readonly: true });
    expect(db.serialize().includes(canaryMark)).toBe(true);
    db.close();
  });

  it('is made of what is left where the configuration cannot be used, and quotes no password of it', async () => {
    const file = join(path, 'broken.yaml');
    writeFileSync(
      file,
      `service: { base_url: "https://joe:${canaryMark}@api.example.com/", api_key: ${canary.key} }\n`,
    );
    const { ran, output, texts } = await reported(file, ['--log', log]);
    expect(ran.code).toBe(0);
    expect(texts.get('config.json')).toMatch(
      /^not found out: .*has 2 problems[\s\S]*service.api_key: a secret is never/,
    );
    expect(texts.get('versions.json')).toContain(process.versions.node);
    expect(gunzipSync(readFileSync(output)).toString('latin1')).not.toContain(canaryMark);
  });

  it('is made of what is left where there are no files, no log and a key that nobody may read', async () => {
    const away = {
      path: join(path, 'away/mirror.db'),
      state_dir: join(path, 'away/state'),
    };
    const service = {
      api_key_file: join(path, 'no-such-key'),
      profile: { authorization: { header: 'Authorization' } },
    };
    const { ran, texts } = await reported(configuration({ mirror: away, service }), [
      '--log',
      join(path, 'no-such-log'),
    ]);
    expect(ran.code).toBe(0);
    expect(texts.get('mirror.json')).toMatch(/^not found out/);
    expect(texts.get('log.txt')).toMatch(/^not found out: .*ENOENT/);
    expect(JSON.parse(texts.get('config.json') ?? '')).toMatchObject({ values: { 'cadence.images': { value: '7d' } } });
    expect(JSON.parse(texts.get('doctor.json') ?? '')).toMatchObject({ checks: expect.any(Array) });
  });

  it('is written over nothing, and a place where it cannot be written is said', async () => {
    const config = configuration();
    expect(await runHere(['--config', config, 'bugreport', '--output', log])).toMatchObject({
      code: 74,
      stderr: expect.stringMatching(/EEXIST[\s\S]*--output/),
    });
    expect(readFileSync(log, 'utf8')).toContain('the last line');
    expect(await runHere(['--config', config, 'bugreport', '--output', '/no/such/directory/x'])).toMatchObject({
      code: 74,
    });
  });
});

describe('the net', () => {
  it.each([
    ['https://user:pa55word@host/path', 'https://[hidden]@host/path'],
    ['GET /x?token=abc&page=2', 'GET /x?token=[hidden]&page=2'],
    ['Bearer abcdefgh', 'Bearer [hidden]'],
    ['"authorization":"Token abc def","x":1', '"authorization":"[hidden]","x":1'],
    ['eyJhbGciOiJSUzI1NiJ9.eyJ4IjoxfQ.c2ln', '[hidden]'],
    [`/hooks/${token} done`, '/hooks/[hidden] done'],
    ['a key of my-own-key&', 'a key of [hidden]'],
    ['a key of my-own-key%26 in a path', 'a key of [hidden] in a path'],
  ])('hides what looks like a secret, and only that: %s', (text, expected) => {
    expect(scrubbing(['my-own-key&'])(text)).toBe(expected);
  });
});
