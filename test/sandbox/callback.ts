import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { VirtualClock } from '../fakes/virtual-clock.ts';

interface Change {
  readonly change_type: string;
  readonly [member: string]: unknown;
}

export interface Notification {
  readonly subscription_id: string;
  readonly products: readonly { readonly product_id: number; readonly changes: readonly Change[] }[];
}

/** What a partner's address received: when, and the whole body. */
export interface Received {
  readonly at: number;
  readonly path: string;
  readonly headers: Record<string, unknown>;
  readonly text: string;
  readonly body: Notification;
}

/** A bare HTTP server that answers what `answers` holds, one after the other, and then 200. Null: it never answers. */
export async function startCallback(clock: VirtualClock, answers: (number | null)[] = []) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
    const text = Buffer.concat(chunks).toString();
    const { url: path = '', headers } = request;
    received.push({ at: clock.now(), path, headers, text, body: JSON.parse(text) as Notification });
    const status = answers.length === 0 ? 200 : answers.shift();
    if (typeof status === 'number')
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hooks/s`,
    received,
    /** What is answered from now on, however often. */
    answers,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Time passes, and whatever is posted on the way is answered before it goes on. */
export async function pass(clock: VirtualClock, sandbox: Sandbox, ms: number): Promise<void> {
  let over = false;
  void clock.sleep(ms).then(() => {
    over = true;
  });
  for (;;) {
    for (let quiet = 0; quiet < 3; quiet = sandbox.inFlight() > sandbox.sleeping() ? 0 : quiet + 1)
      await setImmediate();
    if (over) return;
    clock.next();
  }
}
