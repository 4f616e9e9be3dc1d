import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { selfTest } from '../../src/push/self-test.ask.ts';
import { manualClock } from '../service/manual-clock.ts';

const never = new AbortController().signal;
const token = 'a'.repeat(43);

async function asked(listener: RequestListener, refusal: string | null = null) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const public_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/`;
  const clock = manualClock();
  const answer = selfTest({ token, public_url, clock, deadline_ms: 10_000, refusal }, never);
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return { answer, clock, [Symbol.asyncDispose]: close };
}

describe('a self-test of the public address', () => {
  test('posts a token that is nobody’s, and passes where it gets the 404', async () => {
    const seen: unknown[] = [];
    await using at = await asked((request, response) => {
      seen.push([request.method, request.url]);
      response.writeHead(404).end('not found');
    }, 'not found');
    expect(await at.answer).toEqual({ result: 'passed', message: 'the receiver answers', answered: true });
    expect(seen).toEqual([['POST', `/hooks/${token}`]]);
  });

  const cases: [title: string, RequestListener, string | null, RegExp][] = [
    ['somebody else’s 404', (_, response) => response.writeHead(404).end('<html>'), 'not found', /another program/],
    ['a page', (_, response) => response.end('welcome'), null, /answers 200/],
    ['a proxy without a receiver', (_, response) => response.writeHead(502).end(), null, /answers 502/],
    ['a broken connection', (request) => request.socket.resetAndDestroy(), null, /cannot be reached \(ECONNRESET\)/],
    [
      'an endless body',
      (_, response) => void response.writeHead(404).write('x'.repeat(100_000)),
      'not found',
      /another program/,
    ],
  ];
  test.each(cases)('fails on %s', async (_, listener, refusal, expected) => {
    await using at = await asked(listener, refusal);
    expect(await at.answer).toMatchObject({ result: 'failed', message: expect.stringMatching(expected) });
  });

  test('fails where nobody answers in time, and never says the address', async () => {
    const arrived = Promise.withResolvers<void>();
    await using at = await asked(() => arrived.resolve());
    await arrived.promise;
    await at.clock.advance(10_000);
    expect(await at.answer).toEqual({ result: 'failed', message: 'no answer in time', answered: false });
  });
});
