import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { main } from '../../../src/commands/main.ts';
import { createSecret } from '../../../src/config/secrets.ts';
import { DaemonRows } from '../../../src/copies/follow/daemon-rows.ts';
import { SourceAway } from '../../../src/copies/follow/source.ts';
import { startDaemon } from '../../../src/daemon/daemon.ts';
import { canary } from '../../fakes/canary.ts';
import { capturedIo } from '../../fakes/captured-io.ts';
import { freePort } from '../../fakes/free-port.ts';
import { needs } from '../../fakes/needs.ts';
import { ownAuthority } from '../../fakes/own-authority.ts';
import { openReader } from '../../fakes/reader.ts';
import { startCli } from '../../fakes/run-cli.ts';
import { startSandbox } from '../../fakes/start-sandbox.ts';
import { testConfig } from '../../fakes/test-config.ts';
import { testMachine } from '../../fakes/test-machine.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';

/** A daemon with a door of its own for storefronts, and a person on another host. */
async function stage(rows: { publish: boolean }) {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory()).path;
  const sandbox = stack.use(await startSandbox({ products: 3, lean: true, key: null }));
  const listen = `127.0.0.1:${await freePort()}`;
  const secrets = { storefront_token: createSecret(canary.storefront) };
  const config = testConfig(directory, sandbox.url, { rows, storefront: { listen } }, secrets);
  stack.use(await startDaemon(testMachine(), config));
  const tokenFile = join(directory, 'token');
  writeFileSync(tokenFile, `${canary.storefront}\n`, { mode: 0o600 });
  const ending = new AbortController();
  const closing = stack.move();
  return {
    mirror: config.config.mirror.path,
    copy: join(directory, 'elsewhere', 'copy.db'),
    from: `http://${listen}`,
    tokenFile,
    /** Follows until `stop`. */
    run: async (...args: string[]) => {
      const io = { ...capturedIo(), signal: ending.signal };
      const code = await main(['follow', ...args], io);
      return { code, stdout: io.out(), stderr: io.err() };
    },
    stop: () => ending.abort(),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const patient = { timeout: 50_000, interval: 50 };

function titlesIn(path: string): string[] {
  using reader = openReader(path);
  return reader.products({ limit: 100 }).map(({ title }) => title ?? '');
}

test('a copy of a daemon behind a token stands in its folder, whole, and goes on with what the daemon reads', async () => {
  await using at = await stage({ publish: true });
  const running = at.run('--from', at.from, '--token-file', at.tokenFile, '--every', '20', at.copy);
  await expect.poll(() => existsSync(at.copy) && titlesIn(at.copy).length, patient).toBe(3);
  using reader = openReader(at.copy);
  await expect.poll(() => reader.info().filled_at, patient).not.toBeNull();
  expect(titlesIn(at.copy)).toEqual(titlesIn(at.mirror));
  at.stop();
  expect(await running).toMatchObject({ code: 0, stderr: '' });
});

test('whoever may not follow is told why, and what to do', async () => {
  await using at = await stage({ publish: true });
  expect(await at.run('--from', at.from, at.copy)).toMatchObject({
    code: 77,
    stderr: expect.stringMatching(
      /^Error: http:\/\/127\.0\.0\.1:\d+ answers 401: .*\nTry: name the storefront token with --token-file\n$/,
    ),
  });
  expect(await at.run('--from', 'ftp://example.com', at.copy)).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('Try: write https://host:port'),
  });
  writeFileSync(`${at.tokenFile}.open`, 'x', { mode: 0o644 });
  expect(await at.run('--from', at.from, '--token-file', `${at.tokenFile}.open`, at.copy)).toMatchObject({
    code: 77,
    stderr: expect.stringContaining('others have access'),
  });
  expect(existsSync(at.copy)).toBe(false);
});

test('a daemon that publishes no rows says which key to set', async () => {
  await using at = await stage({ publish: false });
  expect(await at.run('--from', at.from, '--token-file', at.tokenFile, at.copy)).toMatchObject({
    code: 78,
    stderr: expect.stringContaining('Try: set rows.publish: true'),
  });
  expect(existsSync(at.copy)).toBe(false);
});

test.for([
  ['<h1>Back soon</h1>', 'text/html'],
  ['{"error":"maintenance"}', 'application/json'],
  ['null', 'application/json'],
] as const)('a proxy that answers %s in the place of the daemon, with 200, is asked again', async ([body, type]) => {
  using directory = temporaryDirectory();
  let asked = 0;
  const proxy = createServer((_, response) => {
    asked += 1;
    response.setHeader('content-type', type).end(body);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const source = new DaemonRows(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, null);
  const never = new AbortController().signal;
  const path = join(directory.path, 'copy.db');
  await expect(source.after({ origin: 'x', after: 0, limit: 1 }, never)).rejects.toThrow(SourceAway);
  await expect(source.copy(path, never)).rejects.toThrow(SourceAway);
  expect(asked).toBe(2);
  expect(existsSync(path)).toBe(false);
  proxy.close();
});

test('a daemon behind TLS is followed with its own authority, and refused in one line without', {
  ...needs('openssl', 'time'),
}, async () => {
  await using at = await stage({ publish: true });
  using authority = ownAuthority('IP:127.0.0.1');
  const [key, cert] = [authority.key, authority.cert].map((file) => readFileSync(file));
  const proxy = createTlsServer({ key, cert }, (incoming, response) => {
    const { method, headers } = incoming;
    const passed = request(`${at.from}${incoming.url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    // The daemon ends before the proxy does.
    passed.on('error', () => response.destroy());
    passed.end();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const from = `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const command = ['follow', '--from', from, '--token-file', at.tokenFile, at.copy];
  const follow = (ca: string) => startCli(command, { cwd: authority.directory, env: { NODE_EXTRA_CA_CERTS: ca } });
  expect(await follow(authority.other_ca).ended).toEqual({
    code: 78,
    stdout: '',
    stderr: expect.stringMatching(
      /^Error: https:\/\/127\.0\.0\.1:\d+ cannot be trusted: [^\n]+\nTry: name its authority [^\n]+ NODE_EXTRA_CA_CERTS=[^\n]+\n$/,
    ),
  });
  expect(existsSync(at.copy)).toBe(false);
  const running = follow(authority.ca);
  await running.said('a first copy stands');
  // The first copy is of the mirror as it was, which may not have been filled yet.
  await expect.poll(() => titlesIn(at.copy).length, patient).toBe(3);
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  proxy.closeAllConnections();
  proxy.close();
});
