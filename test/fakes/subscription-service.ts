import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What the stand-in has of a subscription. */
export interface ServedSubscription {
  subscription_type: string;
  entity_ids?: number[];
  change_types: string[];
  callback_url: string;
  status: string;
}

export interface ServedCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** The service's side of subscriptions, as small as it can be, and an empty catalogue: it keeps what it is sent, and a test scripts what it answers. */
export interface SubscriptionService extends AsyncDisposable {
  readonly url: string;
  readonly held: Map<string, ServedSubscription>;
  readonly calls: ServedCall[];
  /** Of the next calls, in order: `effect` lets it happen before the answer is lost or replaced. */
  readonly script: ((call: ServedCall, response: ServerResponse, effect: () => void) => void)[];
  /** By how much its clock is ahead of `now`. */
  skew: number;
  /** Called before a call is answered. */
  verify: (call: ServedCall) => { status: number; error_code: string } | null;
  /** Calls that it does not have, and the status that they are answered with. */
  readonly lacks: Map<'read' | 'reactivate', 404 | 405>;
  puts(): ServedCall[];
}

export async function subscriptionService(now: () => number): Promise<SubscriptionService> {
  const held = new Map<string, ServedSubscription>();
  const calls: ServedCall[] = [];
  const script: SubscriptionService['script'] = [];
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const call = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    calls.push(call);
    response.setHeader('date', new Date(now() + service.skew).toUTCString());
    if (call.path.startsWith('/v2/products?'))
      return answer(response, 200, { success: true, products: [], pagination: { page: 1, page_size: 1, total: 0 } });
    const refusal = call.method === 'GET' ? null : service.verify(call);
    if (refusal !== null) return answer(response, refusal.status, { success: false, ...refusal, message: 'No.' });
    const [, id = '', rest] = /^\/v2\/product-change-notification\/([^/]+)(\/reactivate)?$/.exec(call.path) ?? [];
    const lacking = service.lacks.get(call.method === 'GET' ? 'read' : 'reactivate');
    if (lacking !== undefined && (call.method === 'GET' || rest !== undefined))
      return answer(response, lacking, { success: false, error_code: 'not_found', message: 'None.' });
    const effect = () => {
      const payload = payloadOf(call.body);
      if (call.method === 'PUT')
        held.set(id, { ...payload, status: held.get(id)?.status === 'degraded' ? 'degraded' : 'active' });
      const known = held.get(id);
      if (rest !== undefined && known !== undefined) held.set(id, { ...known, ...payload, status: 'active' });
    };
    const scripted = script.shift();
    if (scripted !== undefined) return scripted(call, response, effect);
    const before = held.has(id);
    effect();
    const found = held.get(id);
    if (found === undefined)
      return answer(response, 404, { success: false, error_code: 'not_found', message: 'None.' });
    return answer(response, call.method === 'PUT' && !before ? 201 : 200, { subscription_id: id, ...found });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const service: SubscriptionService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held,
    calls,
    script,
    lacks: new Map(),
    skew: 0,
    verify: () => null,
    puts: () => calls.filter(({ method }) => method === 'PUT'),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
  return service;
}

export function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** The payload of a compact token, unverified, or of plain JSON. */
export function payloadOf(body: string): ServedSubscription {
  const [, payload] = body.split('.');
  const text = body.startsWith('{') || payload === undefined ? body : Buffer.from(payload, 'base64url').toString();
  return JSON.parse(text === '' ? '{}' : text) as ServedSubscription;
}
