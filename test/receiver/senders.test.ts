import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { exchange, rawConnection, type TestReceiver, testReceiver } from './test-receiver.ts';

const body = '{"subscription_id":"norland","products":[]}';
const large = `{"text":"${'x'.repeat(300_000)}"}`;
const zipped = gzipSync(body);

/** The bytes of a request, and the body that has to be stored. */
interface Sender {
  readonly sends: (path: string) => string | Buffer;
  readonly stores: string | Buffer;
}

const request =
  (headers: readonly string[], sent: string | Buffer = body, line = (path: string) => `POST ${path} HTTP/1.1`) =>
  (path: string) =>
    Buffer.concat([Buffer.from(`${[line(path), ...headers].join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(sent)]);
const closing = ['Host: hooks.example.com', 'Connection: close'];
const length = (of: string | Buffer = body) => `Content-Length: ${of.length}`;
const chunks = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const chunked = ['Transfer-Encoding: chunked', 'Content-Type: application/json'];

/** Ways in which programs send the same delivery. */
const senders: Readonly<Record<string, Sender>> = {
  'with a length': { sends: request([...closing, length(), 'Content-Type: application/json']), stores: body },
  'in one chunk': { sends: request([...closing, ...chunked], `${chunks(body)}0\r\n\r\n`), stores: body },
  'in small chunks': {
    sends: request([...closing, ...chunked], `${[...body].map(chunks).join('')}0\r\n\r\n`),
    stores: body,
  },
  'in chunks with a trailer': {
    sends: request([...closing, ...chunked, 'Trailer: X-Sum'], `${chunks(body)}0\r\nX-Sum: 1\r\n\r\n`),
    stores: body,
  },
  'with chunk extensions': {
    sends: request([...closing, ...chunked], `${body.length.toString(16)};a=b\r\n${body}\r\n0\r\n\r\n`),
    stores: body,
  },
  'by HTTP/1.0': {
    sends: request(['Host: hooks.example.com', length()], body, (path) => `POST ${path} HTTP/1.0`),
    stores: body,
  },
  'with an absolute-form target': {
    sends: request([...closing, length()], body, (path) => `POST http://hooks.example.com${path} HTTP/1.1`),
    stores: body,
  },
  'with an absolute-form target of https and a port': {
    sends: request([...closing, length()], body, (path) => `POST https://hooks.example.com:443${path} HTTP/1.1`),
    stores: body,
  },
  'in gzip': { sends: request([...closing, length(zipped), 'Content-Encoding: gzip'], zipped), stores: zipped },
  'as a form': {
    sends: request([...closing, length(), 'Content-Type: application/x-www-form-urlencoded']),
    stores: body,
  },
  'without a content type': { sends: request([...closing, length()]), stores: body },
  'with lower-case headers': {
    sends: request([...closing, length(), 'Content-Type: application/json'].map((each) => each.toLowerCase())),
    stores: body,
  },
  'with a claim about where it comes from': {
    sends: request([...closing, length(), 'X-Forwarded-For: 203.0.113.9, 198.51.100.7']),
    stores: body,
  },
  'with a byte order mark': {
    sends: request([...closing, 'Content-Length: 4'], Buffer.from('\uFEFF1')),
    stores: Buffer.from('\uFEFF1'),
  },
  'with nothing in it': { sends: request([...closing, length('')], ''), stores: '' },
  'with 300 kB': { sends: request([...closing, length(large)], large), stores: large },
};

/** Starts a program and waits until a port accepts connections. Disposing ends it. */
async function started(program: string, args: readonly string[], port: number, env: Record<string, string> = {}) {
  const child: ChildProcess = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...env } });
  const isListening = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
  while (child.exitCode === null && !(await isListening())) await setTimeout(20);
  if (child.exitCode !== null) throw new Error(`${program} has ended with ${child.exitCode}`);
  return {
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function nginx(stack: AsyncDisposableStack, to: number): Promise<number> {
  const { path } = stack.use(temporaryDirectory());
  const port = await freePort();
  mkdirSync(join(path, 'temp'));
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${path}/temp;`);
  const proxied = `location / { proxy_pass http://127.0.0.1:${to}; proxy_set_header X-Forwarded-For $remote_addr; }`;
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    join(path, 'nginx.conf'),
    `${user} daemon off; pid ${path}/pid; error_log /dev/null; events {} http { access_log off; ${temps.join(' ')} server { listen 127.0.0.1:${port}; ${proxied} } }`,
  );
  stack.use(await started('nginx', ['-p', path, '-c', join(path, 'nginx.conf')], port));
  return port;
}

async function caddy(stack: AsyncDisposableStack, to: number): Promise<number> {
  const { path } = stack.use(temporaryDirectory());
  const port = await freePort();
  writeFileSync(
    join(path, 'Caddyfile'),
    `{\n admin off\n auto_https off\n}\nhttp://:${port} {\n bind 127.0.0.1\n reverse_proxy 127.0.0.1:${to}\n}\n`,
  );
  const args = ['run', '--config', join(path, 'Caddyfile'), '--adapter', 'caddyfile'];
  stack.use(await started('caddy', args, port, { HOME: path, XDG_DATA_HOME: path, XDG_CONFIG_HOME: path }));
  return port;
}

/** Sends in each way, and returns the ways that were not answered 200 or whose body was not stored as it was sent. */
async function wrong(port: number, { path, inbox }: TestReceiver): Promise<string[]> {
  const found: string[] = [];
  let seen = inbox.deliveries.after(0, 100).length;
  for (const [name, { sends, stores }] of Object.entries(senders)) {
    const answer = await exchange(port, sends(path));
    const stored = inbox.deliveries.after(0, 100);
    const isStored = stored.length === seen + 1 && stored.at(-1)?.body.equals(Buffer.from(stores)) === true;
    if (!/^HTTP\/1\.[01] 200 /.test(answer) || !isStored) found.push(`${name}: ${answer.split('\r\n')[0]}`);
    seen = stored.length;
  }
  return found;
}

/** A body is stored up to this length. */
const kept = { limits: { body: { bytes: 1024 * 1024, kept_bytes: 4096 } } };

describe('a delivery is stored as it was sent, however it is sent,', () => {
  it('without a proxy', async () => {
    await using test = await testReceiver(kept);
    expect(await wrong(test.port, test)).toEqual([]);
  });

  it('through nginx', needs('nginx'), async () => {
    await using stack = new AsyncDisposableStack();
    const test = stack.use(await testReceiver(kept));
    expect(await wrong(await nginx(stack, test.port), test)).toEqual([]);
  });

  it('through Caddy', needs('caddy'), async () => {
    await using stack = new AsyncDisposableStack();
    const test = stack.use(await testReceiver(kept));
    expect(await wrong(await caddy(stack, test.port), test)).toEqual([]);
  });

  it('twice on one connection, and byte by byte', async () => {
    await using test = await testReceiver();
    const { socket, said } = rawConnection(test.port);
    const bytes = request(['Host: a', length()])(test.path);
    socket.write(Buffer.concat([bytes, bytes]));
    await said('200 OK\r\ncontent-length: 0');
    for (const byte of request([...closing, length()])(test.path)) socket.write(Buffer.of(byte));
    await once(socket, 'close');
    expect(test.inbox.deliveries.after(0, 10).map((each) => each.body.toString())).toEqual([body, body, body]);
  });
});

it('a target with a host is taken by its path: 404 where that is no address, or the scheme not http(s)', async () => {
  await using test = await testReceiver();
  const to = (target: string) =>
    exchange(test.port, request([...closing, length()], body, () => `POST ${target} HTTP/1.1`)('')).then(
      (answer) => answer.split('\r\n')[0],
    );
  const refused = 'HTTP/1.1 404 Not Found';
  for (const target of ['http://hooks.example.com', `ftp://hooks.example.com${test.path}`, `http:/${test.path}`])
    expect([target, await to(target)]).toEqual([target, refused]);
  expect(await to(`http://hooks.example.com${test.path}?a`)).toBe(refused);
  expect(await to(`HTTP://user@hooks.example.com${test.path}`)).toBe('HTTP/1.1 200 OK');
});
