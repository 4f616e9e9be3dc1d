import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../../src/kernel/clock.ts';
import type { Refused } from '../../src/receiver/admission.ts';
import type { Deliveries } from '../../src/receiver/deliveries.store.ts';
import type { Received } from '../../src/receiver/delivery.ts';
import { type Inbox, openInbox } from '../../src/receiver/inbox.ts';
import { type Desk, InboxDesk } from '../../src/receiver/inbox-desk.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../src/receiver/receiver.ts';
import { testLog } from '../fakes/test-log.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

export const master = { reveal: () => 'the master secret of the tests' };
export const subscription_id = 'norland';

/** An inbox of its own in a directory that goes with it. */
export function testInbox(): Disposable & { readonly inbox: Inbox; readonly path: string } {
  const stack = new DisposableStack();
  const path = join(stack.use(temporaryDirectory()).path, 'inbox.db');
  const inbox = stack.use(openInbox(path, { master, now: systemClock.now() }));
  return { inbox, path, [Symbol.dispose]: () => stack.dispose() };
}

/** A receiver on a free port, with one subscription whose address is announced. */
export interface TestReceiver extends AsyncDisposable {
  readonly inbox: Inbox;
  readonly receiver: Receiver;
  readonly port: number;
  /** The path that is accepted. */
  readonly path: string;
  readonly desk: TestDesk;
  lines(): Record<string, unknown>[];
  /** Resolves when something is stored after this was asked. */
  stored(): Promise<void>;
}

/** The desk of an inbox, which remembers what was refused and why something could not be stored. */
class TestDesk implements Desk {
  readonly refusals: Refused['reason'][] = [];
  readonly failures: unknown[] = [];
  readonly #desk: Desk;
  #next = Promise.withResolvers<void>();

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  async keep(delivery: Received): Promise<void> {
    try {
      await this.#desk.keep(delivery);
    } catch (error) {
      this.failures.push(error);
      throw error;
    }
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  refused({ reason }: Refused): void {
    this.refusals.push(reason);
  }

  stored(): Promise<void> {
    return this.#next.promise;
  }
}

export async function testReceiver({
  store,
  ...options
}: Partial<ReceiverOptions> & { readonly store?: Deliveries['store'] } = {}): Promise<TestReceiver> {
  await using stack = new AsyncDisposableStack();
  const { inbox } = stack.use(testInbox());
  const { log, lines } = testLog('debug');
  const epoch = inbox.addresses.current(subscription_id, systemClock.now());
  const desk = new TestDesk(
    new InboxDesk(store ?? ((group) => inbox.deliveries.store(group)), systemClock, options.log ?? log),
  );
  const receiver = stack.use(
    await startReceiver({
      listen: '127.0.0.1:0',
      public_url: 'http://a/hooks',
      allow: [],
      trusted_proxies: [],
      addresses: inbox.addresses,
      desk,
      clock: systemClock,
      log,
      ...options,
    }),
  );
  const closing = stack.move();
  return {
    inbox,
    receiver,
    port: receiver.address.startsWith('unix:') ? 0 : Number(new URL(receiver.address).port),
    path: `/hooks/${inbox.addresses.token(subscription_id, epoch)}`,
    desk,
    lines,
    stored: () => desk.stored(),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** A connection on which bytes are written, and what came back until it was closed. */
export interface RawConnection {
  readonly socket: Socket;
  /** Everything that came, once the other side has closed or reset it. */
  readonly ended: Promise<string>;
  /** Resolves when what came has this in it. */
  said(text: string): Promise<string>;
}

export function rawConnection(to: number | string): RawConnection {
  const socket = typeof to === 'number' ? connect(to, '127.0.0.1') : connect(to);
  let all = '';
  socket.on('data', (chunk: Buffer) => {
    all += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  return {
    socket,
    // A reset is an end too.
    ended: new Promise((resolve) => socket.on('close', () => resolve(all))),
    said: (text) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const look = () => {
        if (all.includes(text)) resolve(all);
      };
      socket.on('data', look);
      socket.on('close', () => reject(new Error(`closed without ${text}: ${all}`)));
      look();
      return promise;
    },
  };
}

/** Writes it all and reads until the other side closes. */
export function exchange(to: number | string, bytes: string | Buffer): Promise<string> {
  const { socket, ended } = rawConnection(to);
  socket.write(bytes);
  return ended;
}

/** A whole request that closes its connection. */
export function post(path: string, body: string | Buffer, headers: readonly string[] = []): Buffer {
  const bytes = Buffer.from(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: hooks.example.com',
    'Content-Type: application/json',
    `Content-Length: ${bytes.length}`,
    'Connection: close',
    ...headers,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}
