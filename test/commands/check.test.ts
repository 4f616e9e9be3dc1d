import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

function post(socketPath: string, path: string, text: string, type = 'application/json'): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(text) };
  const call = request({ socketPath, path, method: 'POST', headers }, async (response) => {
    const chunks = await Array.fromAsync(response as AsyncIterable<Buffer>);
    resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) });
  });
  call.on('error', reject);
  call.end(text);
  return promise;
}

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(systemClock.now() + days * dayMs).toISOString().slice(0, 10);

it('check and order answer through a daemon and without one, and nothing that is sent stops it', async () => {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 8 });
  const config = join(directory.path, 'catalogued.yaml');
  writeFileSync(config, testConfigText(directory.path, sandbox.url));
  const run = (...args: string[]) => runHere(['--config', config, ...args]);
  const daemon = startCli(['--config', config, 'run'], { cwd: directory.path });
  await daemon.said('pass ended');

  const date = inDays(5);
  const product = sandbox.world
    .visible()
    .find((each) => each.place.zone !== null && sandbox.world.days(each, date, date, 'EUR').length > 0);
  if (product === undefined) throw new Error('nothing is sold on that date');
  const id = String(product.id);
  const calls = () => sandbox.calls.counts().calls;

  const before = calls();
  const holds = await run('check', id, '--date', date, '--json');
  expect({ code: holds.code, stderr: holds.stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(holds.stdout)).toMatchObject({ verdict: 'holds', reasons: [], alternatives: [] });
  expect(await run('check', id, '--date', date, '--expect-price', '1')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^changed .*: price changed\nNow {7}available/),
    stderr: '',
  });
  product.sold_out.add(date);
  expect(await run('check', id, '--date', date)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^gone .*: date sold out\n.*\nMirror {4}available.*\n\ninstead /),
  });
  expect(calls() - before).toBe(3);
  expect(await run('check', '1', '--date', date)).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('not in the mirror'),
  });
  expect(await run('check', id, '--date', '2026-02-30')).toMatchObject({ code: 64 });
  expect(await run('check', id, '--date', date, '--currency', 'xxx')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('XXX is not mirrored'),
  });
  expect(await run('order', 'failed', id, '--date', date, '--code', 'variants_not_available')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Noted; its dates are/),
  });
  // The daemon writes down what it has counted once a second.
  const status = async () => (await run('status')).stdout;
  await expect
    .poll(status, { timeout: 10_000 })
    .toMatch(/Errors {4}\d+\.\d %: the mirror was wrong in 1 of 3 checks and 0 of 1 order; near/);
  expect(await status()).toContain(`most often wrong: ${id} (1 of 4)`);

  const socket = join(directory.path, 'state', 'admin.sock');
  const check = { product_id: product.id, date: inDays(6) };
  const bad: [string, number, RegExp][] = [
    [JSON.stringify({ ...check, product_id: 1 }), 404, /not in the mirror/],
    [JSON.stringify({ ...check, date: '2026-02-30' }), 400, /date: found/],
    [JSON.stringify({ ...check, variants: [{ variant_id: 1, count: -1 }] }), 400, /count: found -1/],
    [JSON.stringify({ ...check, variants: [{ variant_id: 1, count: 1 }] }), 400, /has no variant 1/],
    [JSON.stringify({ ...check, expect_price: { amount: 1, currency: 'XXX' } }), 400, /XXX is not mirrored/],
    [JSON.stringify({ ...check, currency: 'XXX' }), 400, /XXX is not mirrored/],
    [
      JSON.stringify({ ...check, currency: 'EUR', expect_price: { amount: 1, currency: 'XXX' } }),
      400,
      /the check is in EUR, but the expected price in XXX/,
    ],
    [JSON.stringify({ ...check, more: 1 }), 400, /more: is not known/],
    ['{"product_id": NaN}', 400, /JSON/],
    ['', 400, /./],
    [`{"product_id": "${'9'.repeat(1024 * 1024)}"}`, 400, /too large/],
  ];
  for (const [text, code, says] of bad) {
    const answer = await post(socket, '/v1/check', text).catch((error: NodeJS.ErrnoException) => error);
    // A body that is not wanted may be cut off while it is still being sent.
    if (answer instanceof Error) expect(answer.code).toBe('EPIPE');
    else {
      expect(answer).toMatchObject({ status: code, body: { message: expect.stringMatching(says) } });
      expect(String(answer.body.message)).not.toContain('\n');
    }
  }
  const order = { product_id: product.id, date: inDays(6), quantity: 2, outcome: 'confirmed' };
  expect(await post(socket, '/v1/orders', JSON.stringify(order))).toMatchObject({ status: 200, body: { due: 1 } });
  const once = { ...order, order_id: 'order-1' };
  for (const repeated of [false, true])
    expect(await post(socket, '/v1/orders', JSON.stringify(once))).toMatchObject({ status: 200, body: { repeated } });
  expect(await post(socket, '/v1/orders', JSON.stringify({ ...once, quantity: 3 }))).toMatchObject({
    status: 409,
    body: { error: 'order-differs' },
  });
  for (const order_id of ['', 'x'.repeat(201), 7])
    expect(await post(socket, '/v1/orders', JSON.stringify({ ...order, order_id }))).toMatchObject({ status: 400 });
  expect(await post(socket, '/v1/orders', JSON.stringify({ ...order, quantity: 0 }))).toMatchObject({ status: 400 });
  expect(await post(socket, '/v1/orders', JSON.stringify({ ...order, product_id: 2 }))).toMatchObject({ status: 404 });
  expect(await post(socket, '/v1/check', JSON.stringify(check))).toMatchObject({ status: 200 });
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);

  product.sold_out.delete(date);
  expect(await run('check', id, '--date', date, '--json')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"state": "sold_out"'),
  });
  expect((await run('order', 'failed', id, '--date', date, '--code', 'timeslot_not_available')).stdout).toBe(
    'Noted; its dates were read again. The mirror had said available.\n',
  );
  await sandbox.setReachable('no');
  expect(await run('check', id, '--date', date)).toMatchObject({
    code: 69,
    stdout: expect.stringMatching(/^unknown .*service unreachable\nNow {7}unknown\nMirror {4}available/),
    stderr: expect.stringMatching(/^Error: no live answer: service unreachable\nTry: /),
  });
});
