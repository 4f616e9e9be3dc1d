import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request on its way to the sandbox. */
export interface PassingRequest {
  readonly method: string;
  /** Path and query: what is changed in it is what the sandbox is asked. */
  readonly url: URL;
  /** Only `authorization` is passed on, as it stands here in the end. */
  readonly headers: Record<string, string | string[] | undefined>;
}

/** How a service differs from the sandbox: null lets a request through. */
export interface Difference {
  request?(request: PassingRequest): { status: number; body?: object; headers?: Record<string, string> } | null;
  /** Changes an answer, parsed; of what stays undefined nothing changes. */
  answer?(json: Record<string, unknown>, request: PassingRequest): Record<string, unknown> | undefined;
}

/** A service that is the sandbox at `target` but for one difference. A function: the sandbox may start later. */
export async function differentService(
  target: string | (() => string),
  difference: Difference,
): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((incoming, response) => {
    pass(incoming, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');

  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', typeof target === 'string' ? target : target());
    const request = { method: incoming.method ?? 'GET', url, headers: incoming.headers };
    const refused = difference.request?.(request) ?? null;
    if (refused !== null) {
      response.writeHead(refused.status, { 'content-type': 'application/json', ...refused.headers });
      response.end(JSON.stringify(refused.body ?? { success: false, error_code: 'no', message: 'Not here.' }));
      return;
    }
    const answer = await fetch(url, { headers: { authorization: String(request.headers.authorization ?? '') } });
    const text = await answer.text();
    const changed = answer.ok ? difference.answer?.(JSON.parse(text) as Record<string, unknown>, request) : undefined;
    response.writeHead(answer.status, { 'content-type': 'application/json', date: answer.headers.get('date') ?? '' });
    response.end(changed === undefined ? text : JSON.stringify(changed));
  }

  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
