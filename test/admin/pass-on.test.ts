import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { forwardAdmin, forwardStorefront } from '../../src/admin/pass-on.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { roomFor } from '../../src/daemon/crowding.ts';
import { systemClock } from '../../src/kernel/clock.ts';

const leaderToken = createSecret('token-of-the-leader-0123456789');
const shopToken = createSecret('token-of-the-shop-0123456789');
const asked = JSON.stringify({ product_id: 1, deadline_ms: 1500 });

interface Asked {
  readonly url: string;
  readonly authorization: string | undefined;
  readonly origin: string | undefined;
  readonly body: string;
}

/** Somebody who answers as told, and remembers what was asked. */
async function stranger(answer: (response: ServerResponse, incoming: IncomingMessage) => void) {
  const requests: Asked[] = [];
  const server = createServer(async (incoming, response) => {
    const { url = '', headers } = incoming;
    requests.push({ url, authorization: headers.authorization, origin: headers.origin, body: await text(incoming) });
    answer(response, incoming);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    at: `http://127.0.0.1:${port}`,
    port,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const never = new AbortController().signal;
const door = (at: () => string | null) => ({
  listen: '127.0.0.1:0',
  token: shopToken,
  leader: { at, token: leaderToken },
  clock: systemClock,
  signal: never,
  room: roomFor(null),
});

/** Asks with a path as it is written: a URL would be made tidy before it is sent. */
async function ask(address: string, path: string, { method = 'GET', body = '' } = {}) {
  const { port } = new URL(address);
  const headers = { authorization: `Bearer ${shopToken.reveal()}`, 'content-type': 'application/json' };
  const call = request({ host: '127.0.0.1', port, path, method, headers });
  call.end(body);
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

describe('an instance that stands by', () => {
  it('passes a check on with its body, under its own key and never the shop’s, and the answer back', async () => {
    await using leader = await stranger((response) => response.writeHead(409).end('{"verdict":"gone"}'));
    await using shop = await forwardStorefront(door(() => leader.at));
    expect(await ask(shop.address, '/v1/check', { method: 'POST', body: asked })).toEqual({
      status: 409,
      body: '{"verdict":"gone"}',
    });
    expect(leader.requests).toEqual([
      { url: '/v1/check', authorization: `Bearer ${leaderToken.reveal()}`, body: asked },
    ]);
  });

  it('lets pages of allowed origins read with the public key, and the leader hears of no origin', async () => {
    await using leader = await stranger((response) => response.writeHead(200, { etag: '"feed-1"' }).end('[]'));
    const [public_key, origin] = ['pk-0123456789abcdef', 'https://shop.example'];
    const browsers = { public_key, origins: [origin] };
    await using shop = await forwardStorefront(
      door(() => leader.at),
      browsers,
    );
    const by = async (path: string, headers: Record<string, string>) => {
      const answer = await fetch(`${shop.address}${path}`, {
        headers: { authorization: `Bearer ${public_key}`, ...headers },
      });
      return [answer.status, answer.headers.get('etag'), answer.headers.get('access-control-allow-origin')];
    };
    expect(await by('/v1/cities', { origin })).toEqual([200, '"feed-1"', origin]);
    expect(await by('/v1/cities', { origin: 'https://evil.example' })).toEqual([403, null, null]);
    expect(await by('/v1/changes', {})).toEqual([401, null, null]);
    expect(leader.requests).toEqual([{ url: '/v1/cities', authorization: `Bearer ${leaderToken.reveal()}`, body: '' }]);
  });

  it('refuses who has no key before anybody is asked, and what a storefront may not ask', async () => {
    await using leader = await stranger((response) => response.end('{}'));
    await using shop = await forwardStorefront({
      ...door(() => leader.at),
      token: createSecret('another-0123456789abc'),
    });
    expect(await ask(shop.address, '/v1/check', { method: 'POST', body: asked })).toMatchObject({ status: 401 });
    await using own = await forwardStorefront(door(() => leader.at));
    expect(await ask(own.address, '/v1/resync', { method: 'POST' })).toMatchObject({ status: 404 });
    expect(leader.requests).toEqual([]);
  });

  it('tells nobody but the leader its key, whatever a path looks like', async () => {
    await using leader = await stranger((response) => response.end('of the leader'));
    await using other = await stranger((response) => response.end('of another'));
    await using admin = await forwardAdmin({ ...door(() => leader.at), hosts: [] }, () => true);
    const path = `//127.0.0.1:${other.port}/v1/status`;
    expect(await ask(admin.address, path)).toEqual({ status: 200, body: 'of the leader' });
    expect(leader.requests.map(({ url }) => url)).toEqual([path]);
    expect(other.requests).toEqual([]);
  });

  it('asks whoever leads by then, where the one before has gone', async () => {
    await using gone = await stranger((response) => response.end('{}'));
    await gone[Symbol.asyncDispose]();
    await using leader = await stranger((response) => response.end('of the new one'));
    let looks = 0;
    await using shop = await forwardStorefront(door(() => (looks++ === 0 ? gone.at : leader.at)));
    expect(await ask(shop.address, '/v1/check', { method: 'POST', body: asked })).toMatchObject({
      body: 'of the new one',
    });
  });

  it('repeats a question that was broken off, and no order that may have been taken', async () => {
    await using leader = await stranger((response, { method }) => {
      if (method === 'GET' && leader.requests.length > 1) response.end('{"changes":[]}');
      else response.destroy();
    });
    await using shop = await forwardStorefront(door(() => leader.at));
    expect(await ask(shop.address, '/v1/changes?after=0')).toMatchObject({ status: 200 });
    expect(leader.requests.length).toBe(2);
    expect(await ask(shop.address, '/v1/orders', { method: 'POST', body: '{}' })).toMatchObject({ status: 503 });
    expect(leader.requests.length).toBe(3);
  });
});
