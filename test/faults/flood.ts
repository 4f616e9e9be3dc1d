import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../../src/kernel/clock.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { asTheUnit } from '../fakes/as-the-unit.ts';
import { cli } from '../fakes/built-program.ts';
import { freePort } from '../fakes/free-port.ts';
import { type RunningCli, startProgram } from '../fakes/run-cli.ts';
import { testConfigText } from '../fakes/test-config.ts';

/*
 * Somebody who knows the callback address posts as much as the connection carries, to a real daemon: what it takes of
 * the disk and of memory, and whether an honest delivery still gets through.
 */

export interface Flood {
  readonly acknowledged: number;
  readonly refused: number;
  /** Megabytes a second that were sent. */
  readonly rate: number;
  /** The highest that the daemon's resident memory was, in MiB. */
  readonly peak: number;
  /** Of inbox.db and its write-ahead log, in bytes. */
  readonly file: number;
  /** What the receiver answered at last to a delivery as the service sends it, amid the flood. */
  readonly honest: number;
  /** How often the service sent it: again after each 503. */
  readonly tries: number;
}

export interface FloodOptions {
  readonly directory: string;
  /** When it ends: after so long, or when so many were acknowledged. */
  readonly ends: { readonly seconds: number } | { readonly acknowledged: number };
  readonly connections?: number;
  readonly body_bytes?: number;
  /** Megabytes a second at most. */
  readonly pace?: number;
  /** Laid over the daemon's configuration. */
  readonly config?: Record<string, unknown>;
}

export async function flood(options: FloodOptions): Promise<Flood> {
  const { directory, ends, connections = 60, body_bytes = 400_000, pace = 36, config = {} } = options;
  await using stack = new AsyncDisposableStack();
  const sandbox = stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 5 }));
  const port = await freePort();
  const file = join(directory, 'catalogued.yaml');
  const receiver = { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` };
  const [product] = sandbox.world.visible();
  // By name: of all that is mirrored there is none yet, and the next look at that is a minute later.
  const subscriptions = [{ id: 'all', type: 'product_ids', entities: [product?.id] }];
  const more = { receiver, subscriptions, signing: { body: 'json' }, log: { level: 'warn' }, ...config };
  writeFileSync(file, testConfigText(directory, sandbox.url, more));
  const env = { PATH: process.env.PATH, HOME: directory, CATALOGUED_RECEIVER_SECRET: 'm'.repeat(43) };
  const started = [process.execPath, ...asTheUnit, cli, '--config', file, 'run'];
  const daemon = stack.use(startProgram(started, { cwd: directory, env }));
  const callback = await called(sandbox, daemon);
  const path = new URL(callback).pathname;
  const notice = (padding: string) =>
    JSON.stringify({
      subscription_id: 'all',
      products: [{ product_id: product?.id, changes: [{ type: 'product_details_update', timestamp: '', padding }] }],
    });
  // Of random bytes: what compresses well would flatter the budget.
  const bodies = Array.from({ length: 8 }, () => notice(randomBytes(Math.ceil(body_bytes * 0.75)).toString('base64')));
  const answers = new Map<number, number>();
  let sent = 0;
  const began = performance.now();
  /** From 0 to 1. */
  const progress = () =>
    'seconds' in ends ? (performance.now() - began) / 1000 / ends.seconds : (answers.get(200) ?? 0) / ends.acknowledged;
  const amid = Promise.withResolvers<void>();
  const poster = async (n: number) => {
    for (let round = n; progress() < 1; round += 1) {
      if (progress() >= 0.5) amid.resolve();
      const early = sent / pace / 1000 - (performance.now() - began);
      if (early > 0) await systemClock.sleep(early);
      const body = bodies[round % bodies.length] ?? '';
      const status = await post(port, path, body);
      sent += body.length;
      answers.set(status, (answers.get(status) ?? 0) + 1);
    }
  };
  const posters = Promise.all(Array.from({ length: connections }, (_, n) => poster(n)));
  await amid.promise;
  let honest = 0;
  let tries = 0;
  // The service tries a few times (specification, section 6).
  while (honest !== 200 && tries < 4) {
    if (tries > 0) await systemClock.sleep(2000);
    tries += 1;
    honest = await post(port, path, notice(''), '127.0.0.2');
  }
  await posters;
  const elapsed = (performance.now() - began) / 1000;
  const status = readFileSync(`/proc/${daemon.child.pid}/status`, 'utf8');
  const peak = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  const inbox = join(directory, 'state', 'inbox.db');
  const size = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0;
  const acknowledged = answers.get(200) ?? 0;
  const refused = [...answers.values()].reduce((sum, each) => sum + each, 0) - acknowledged;
  const rate = sent / elapsed / 1e6;
  return { acknowledged, refused, rate, peak, file: size(inbox) + size(`${inbox}-wal`), honest, tries };
}

/** Resolves with the address that the daemon has told the service. */
async function called(sandbox: Sandbox, { child, output }: RunningCli): Promise<string> {
  for (;;) {
    const [subscription] = sandbox.subscriptions();
    if (subscription !== undefined) return String(subscription.callback_url);
    if (child.exitCode !== null) throw new Error(`the daemon ended: ${output()}`);
    await systemClock.sleep(50);
  }
}

/** The status of one delivery on a connection of its own; 0: it was cut off. */
function post(port: number, path: string, body: string, from = '127.0.0.1'): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const socket = connect({ port, host: '127.0.0.1', localAddress: from, noDelay: true });
  let answer = '';
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString('latin1');
    if (answer.includes('\r\n\r\n')) socket.destroy();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0)));
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
  );
  socket.write(body);
  return promise;
}
