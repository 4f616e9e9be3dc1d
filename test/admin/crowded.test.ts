import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSecret } from '../../src/config/secrets.ts';
import { roomFor } from '../../src/daemon/crowding.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import { cli } from '../fakes/built-program.ts';
import { canary } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { startProgram } from '../fakes/run-cli.ts';
import { testConfig, testConfigText } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

interface Shop {
  readonly port: number;
  readonly authorization?: string;
}

/** Asks with the storefront's token, on a connection of its own. Returns the status; null: the connection broke. */
async function ask({ port, authorization = `Bearer ${canary.storefront}` }: Shop, accept = 'application/json') {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const headers = { authorization, accept };
  const call = request({ host: '127.0.0.1', port, path: '/v1/changes', headers, agent: false }, (response) => {
    response.on('error', () => undefined).resume();
    resolve(response.statusCode ?? null);
  });
  call.on('error', () => resolve(null)).end();
  return { status: await promise, leave: () => call.destroy() };
}

/** Opens connections that send nothing, in groups: the kernel loses some of more that wait to be accepted. */
async function idle(at: number | string, connections: number): Promise<readonly Socket[]> {
  const opened: Socket[] = [];
  while (opened.length < connections) {
    const group = Array.from({ length: Math.min(100, connections - opened.length) }, async () => {
      const socket = (typeof at === 'number' ? connect(at, '127.0.0.1') : connect(at))
        .on('error', () => undefined)
        .resume();
      await once(socket, 'connect');
      return socket;
    });
    opened.push(...(await Promise.all(group)));
  }
  return opened;
}

describe('a storefront interface with many connections', () => {
  const stack = new AsyncDisposableStack();
  const { log, lines } = testLog('info');
  let daemon: RunningDaemon;
  let path = '';
  let port = 0;
  beforeAll(async () => {
    ({ path } = stack.use(temporaryDirectory()));
    port = await freePort();
    const storefront = { listen: `127.0.0.1:${port}` };
    const secrets = { storefront_token: createSecret(canary.storefront) };
    daemon = stack.use(
      await startDaemon({ ...testMachine(), log }, testConfig(path, 'http://127.0.0.1:9', { storefront }, secrets)),
    );
  });
  afterAll(() => stack.disposeAsync());
  const crowded = async () =>
    (await daemon.status.shown()).conditions.find(({ code }) => code === 'crowded')?.says ?? null;

  it('answers whoever has a key beside as many as it holds that show none, and says who they are', async () => {
    expect(await crowded()).toBeNull();
    const { connections, strangers } = roomFor(null).limits;
    const flood = await idle(port, connections);
    expect(await ask({ port })).toMatchObject({ status: 200 });
    const open = () => flood.filter(({ closed, destroyed }) => !closed && !destroyed).length;
    await expect.poll(open).toBeLessThanOrEqual(strangers);
    expect(await crowded()).toMatch(
      /^the interface storefront has closed 1,80\d connections to make room, 1,80\d of them from 127\.0\.0\.1$/,
    );
    const told = lines().filter(({ msg }) => msg === 'connections are closed to make room for others');
    expect(told).toMatchObject([{ level: 'warn', interface: 'storefront', peer: '127.0.0.1' }]);
    for (const socket of flood) socket.destroy();
  });

  it('counts those that show a wrong key among the strangers', async () => {
    const known = await ask({ port }, 'text/event-stream');
    const wrong = await idle(port, 20);
    for (const socket of wrong)
      socket.write('GET /v1/changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n\r\n');
    const flood = await idle(port, roomFor(null).limits.strangers);
    await Promise.all(wrong.map(async (socket) => socket.closed || (await once(socket, 'close'))));
    expect(known.status).toBe(200);
    known.leave();
    for (const socket of flood) socket.destroy();
  });

  it('counts nobody among them on a unix socket, where no key is shown', async () => {
    const flood = await idle(join(path, 'state', 'admin.sock'), 2 * roomFor(null).limits.strangers);
    for (const socket of flood) socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    await expect.poll(() => flood.filter(({ bytesRead }) => bytesRead === 0).length).toBe(0);
    for (const socket of flood) socket.destroy();
  });
});

it('event streams leave a process with few descriptors enough of them, and are logged where they are refused', async () => {
  using directory = temporaryDirectory();
  const port = await freePort();
  const config = join(directory.path, 'catalogued.yaml');
  const token = join(directory.path, 'token');
  writeFileSync(token, canary.storefront, { mode: 0o600 });
  const storefront = { listen: `127.0.0.1:${port}`, token_file: token };
  writeFileSync(config, testConfigText(directory.path, 'http://127.0.0.1:9', { storefront }), { mode: 0o600 });
  const command = `ulimit -n 400; exec "${process.execPath}" "${cli}" --config "${config}" run`;
  await using daemon = startProgram(['bash', '-c', command], {
    env: { PATH: process.env.PATH, CATALOGUED_API_KEY: canary.key },
  });
  await daemon.said(String(port));
  const { streams } = roomFor(400);
  const asked: Awaited<ReturnType<typeof ask>>[] = [];
  for (let each = 0; each < 450; each += 1) asked.push(await ask({ port }, 'text/event-stream'));
  expect(asked.filter(({ status }) => status === 200)).toHaveLength(streams);
  expect(asked.filter(({ status }) => status === 503)).toHaveLength(450 - streams);
  expect(await ask({ port })).toMatchObject({ status: 200 });
  expect(daemon.output()).toContain('event streams are refused');
  for (const { leave } of asked) leave();
});
