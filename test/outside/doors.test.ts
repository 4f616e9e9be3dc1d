import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canary, canaryMark } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { announced, ask, callback, happens, receiving, Stage } from './stage.ts';

const stack = new AsyncDisposableStack();
let stage: Stage;
let config: Readonly<Record<string, object>>;
const at = { admin: '', storefront: '' };

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const basic = (token: string) => ({ authorization: `Basic ${Buffer.from(`anybody:${token}`).toString('base64')}` });
/** All that commands have printed. */
const printed: string[] = [];

async function run(...args: readonly string[]): Promise<number | null> {
  const { code, stdout, stderr } = await stage.run(...args);
  printed.push(stdout, stderr);
  return code;
}

beforeAll(async () => {
  const env = {
    CATALOGUED_API_KEY: canary.key,
    CATALOGUED_ADMIN_TOKEN: canary.admin,
    CATALOGUED_STOREFRONT_TOKEN: canary.storefront,
    CATALOGUED_RECEIVER_SECRET: canary.master,
    CATALOGUED_LOG__LEVEL: 'trace',
  };
  stage = stack.use(await Stage.open({ service: ['--products', '4', '--key', canary.key, '--hold', '1s'], env }));
  const [admin, storefront] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const { receiver, ...received } = await receiving(stage);
  config = {
    ...received,
    receiver: { ...receiver, secret_file: null },
    service: { profile: {} },
    admin: { listen: admin },
    storefront: { listen: storefront },
  };
  Object.assign(at, { admin: `http://${admin}`, storefront: `http://${storefront}` });
  stage.configure(config);
  await stage.filled();
});
afterAll(() => stack.disposeAsync());

describe('over TCP', () => {
  it('each token opens its own interface, and neither the other one', async () => {
    const status = async (interface_: keyof typeof at, path: string, headers: Readonly<Record<string, string>>) =>
      (await ask(at[interface_], path, { headers })).status;
    const nobody = [{}, bearer('wrong'), bearer(`${canary.admin}x`), bearer(`${canary.storefront}x`), { authorization: canary.admin }]; // biome-ignore format: a list
    const operator = [bearer(canary.admin), basic(canary.admin)];
    for (const headers of [...nobody, bearer(canary.storefront), basic(canary.storefront)])
      for (const path of ['/v1/status', '/', '/metrics', '/openapi.json', '/v1/products', '/no/such/path'])
        expect(await status('admin', path, headers), path).toBe(401);
    for (const headers of operator)
      for (const path of ['/v1/status', '/', '/metrics']) expect(await status('admin', path, headers), path).toBe(200);
    for (const headers of [...nobody, ...operator, basic(canary.storefront)])
      for (const path of ['/v1/products', '/v1/changes', '/v1/status'])
        expect(await status('storefront', path, headers), path).toBe(401);
    for (const path of ['/v1/products', '/v1/changes', '/openapi.json'])
      expect(await status('storefront', path, bearer(canary.storefront)), path).toBe(200);
    for (const path of ['/v1/status', '/v1/plan', '/v1/schedule', '/v1/held', '/', '/metrics', '/healthz'])
      expect(await status('storefront', path, bearer(canary.storefront)), path).toBe(404);
  });

  it('no spelling of a path, other origin or rebound name gets past the token', async () => {
    const round = [
      '/v1/status/',
      '//v1/status',
      '/v1//status',
      '/%761/status',
      '/v1%2fstatus',
      '/V1/STATUS',
      '/healthz/../v1/status',
      '/healthz%2f..%2fv1/status',
      '/./v1/status',
      '/v1/status?/healthz',
      '/v1/status#/healthz',
      '/metrics/',
      '//',
      'http://127.0.0.1/v1/status',
    ];
    for (const path of round) {
      const { status, text } = await ask(at.admin, path);
      expect([400, 401, 403, 404], path).toContain(status);
      expect(text, path).not.toMatch(/contract_version|catalogued_/);
    }
    expect((await ask(at.admin, '/healthz')).json()).toEqual({ alive: true });
    const foreign = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { host: 'evil.example' },
      { host: 'localhost.evil.example' },
    ];
    for (const each of foreign)
      for (const method of ['GET', 'POST']) {
        const asked = { method, headers: { ...bearer(canary.admin), ...each } as Record<string, string> };
        expect((await ask(at.admin, '/v1/status', asked)).status, JSON.stringify(each)).toBe(403);
      }
    expect((await ask(at.admin, '/v1/status', { headers: bearer(canary.admin) })).status).toBe(200);
  });
});

// Of many processes on a slow machine.
describe('secrets', { timeout: 600_000 }, () => {
  it('stand in no output, no log and no file, nor do callback addresses', async () => {
    expect(await run('subscription', 'apply')).toBe(0);
    const address = await callback(stage);
    if (address === null) throw new Error('nothing is subscribed');
    const token = address.pathname.split('/').at(-1) ?? '';
    expect(token.length).toBeGreaterThan(40);
    const [id = 0] = await stage.service.get<number[]>('/sandbox/products');
    await ask(address.origin, address.pathname, { body: announced(id, { change_type: 'checkout_enabled' }) });
    await ask(address.origin, address.pathname);
    await ask(address.origin, `${address.pathname}x`, { body: '{}' });
    expect(await run('subscription', 'rotate', 'all')).toBe(0);
    const replaced = (await callback(stage))?.pathname.split('/').at(-1) ?? '';
    await ask(address.origin, address.pathname, { body: announced(id) });
    // The service refuses the key, and says so.
    await stage.service.quirks({ faults: [{ kind: 'status', status: 401, body: `{"message":"bad ${canary.key}"}` }] });
    await run('check', String(id), '--date', new Date(Date.now() + 9 * 86_400_000).toISOString().slice(0, 10));
    await stage.service.quirks({ faults: [] });
    for (const args of [['subscription', 'show', '--json'], ['status', '--json'], ['config', 'show'], ['notifications', 'show', '1', '--json'], ['bugreport', '--output', 'bug.tar.gz']]) await run(...args); // biome-ignore format: a list
    const log = (await stage.ended())?.stdout ?? '';
    const secrets = { mark: canaryMark, token, replaced };
    const written: Record<string, string> = { printed: printed.join('\n'), log, ...files(stage.directory) };
    expect(leaks(written, secrets)).toEqual([]);
    expect(Object.keys(written).length).toBeGreaterThan(5);
    expect(written['bug.tar.gz']).toContain('catalogued.yaml');
    expect(leaks({ ...written, log: `${log}${canary.key}` }, secrets)).toEqual(['log: mark']);
    expect(log).toContain('"level":');
  });

  it('go nowhere else: a redirect is not followed, and the key is sent to the service alone', async () => {
    const seen: string[] = [];
    await using other = await listening((request, response) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      response.end('{}');
    });
    let asked = 0;
    await using redirecting = await listening((request, response) => {
      asked += request.headers.authorization === `Token ${canary.key}` ? 1 : 0;
      response.writeHead(302, { location: `${other.url}${request.url}` }).end();
    });
    const [path, state_dir] = [join(stage.directory, 'second/mirror.db'), join(stage.directory, 'second/state')];
    const { service } = config as { service: object };
    stage.configure({ service: { ...service, base_url: redirecting.url }, mirror: { path, state_dir } });
    const { checks } = await stage.json<{ checks: readonly { name: string; verdict: string; found: string }[] }>(
      'doctor',
    );
    const found = { verdict: 'wrong', found: expect.stringContaining(other.url) };
    expect(checks.find(({ name }) => name === 'service')).toMatchObject(found);
    expect(asked).toBeGreaterThan(0);
    expect(seen).toEqual([]);
    // The other one would have been noticed (control).
    await ask(other.url, '/there');
    expect(await happens(() => seen.length, (calls) => calls === 1)).toBe(1); // biome-ignore format: a wait
  });
});

/** Returns every file below a directory by its path, unpacked and read byte by byte: what is searched for is ASCII. */
function files(directory: string): Record<string, string> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    entries.map(({ parentPath, name }) => {
      const bytes = readFileSync(join(parentPath, name));
      return [name, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1')];
    }),
  );
}

/** Names what was written with a secret in it. */
function leaks(written: Readonly<Record<string, string>>, secrets: Readonly<Record<string, string>>): string[] {
  return Object.entries(written).flatMap(([place, text]) =>
    Object.entries(secrets)
      .filter(([, secret]) => text.includes(secret))
      .map(([name]) => `${place}: ${name}`),
  );
}

async function listening(handler: RequestListener): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
