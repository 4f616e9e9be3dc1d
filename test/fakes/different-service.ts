import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request on its way to the sandbox. */
export interface PassingRequest {
  method: string;
  /** Path and query: what is changed in it is what the sandbox is asked. */
  readonly url: URL;
  /** Only `authorization` and `content-type` are passed on, as they stand here in the end. */
  readonly headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** How a service differs from the sandbox: null lets a request through. */
export interface Difference {
  request?(request: PassingRequest): { status: number; body?: object; headers?: Record<string, string> } | null;
  /** Changes an answer that is no refusal, parsed; of what stays undefined nothing changes. */
  answer?(json: Record<string, unknown>, request: PassingRequest): unknown;
  /** The same for a refusal: also its status. */
  refusal?(json: Record<string, unknown>, status: number): { readonly status: number; readonly body: unknown };
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
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = 'GET', headers } = incoming;
    const request: PassingRequest = { method, url, headers: { ...headers }, body: Buffer.concat(chunks).toString() };
    const send = (status: number, body: string, more: Record<string, string> = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...more });
      response.end(body);
    };
    const refused = difference.request?.(request) ?? null;
    if (refused !== null) {
      const body = refused.body ?? { success: false, error_code: 'no', message: 'Not here.' };
      send(refused.status, JSON.stringify(body), refused.headers);
      return;
    }
    const passed = ['authorization', 'content-type'].flatMap((name) => {
      const value = request.headers[name];
      return typeof value === 'string' ? [[name, value] as [string, string]] : [];
    });
    const answer = await fetch(url, {
      method: request.method,
      headers: passed,
      ...(request.body === '' ? {} : { body: request.body }),
    });
    const text = await answer.text();
    const date = { date: answer.headers.get('date') ?? '' };
    const json = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    if (!answer.ok && difference.refusal !== undefined) {
      const { status, body } = difference.refusal(json, answer.status);
      send(status, JSON.stringify(body), date);
      return;
    }
    const changed = answer.ok ? difference.answer?.(json, request) : undefined;
    send(answer.status, changed === undefined ? text : JSON.stringify(changed), date);
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
