import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { exchange, post, rawConnection, testReceiver } from './test-receiver.ts';

describe('what is not well-formed HTTP', () => {
  it("gets Node's own 400 or 431 and the end of its connection, and nothing is stored", async () => {
    await using test = await testReceiver();
    const head = (more: string) => `POST ${test.path} HTTP/1.1\r\nHost: a\r\n${more}`;
    const smuggled = `POST ${test.path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx`;
    const shapes = [
      head('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
      head('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n'),
      head('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
      head('Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n'),
      head('Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'),
      head('Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'),
      head('Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'),
      head('Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n'),
      head('Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n'),
      head(`Content-Length: 1\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`),
      head('Content-Length: 1, 1\r\n\r\nx'),
      head('Content-Length: +1\r\n\r\nx'),
      head('Content-Length: -1\r\n\r\nx'),
      head('Content-Length: 0x1\r\n\r\nx'),
      head('Content-Length : 1\r\n\r\nx'),
      head('Host: b\r\nContent-Length: 1\r\n\r\nx'),
      `POST ${test.path} HTTP/1.1\r\nContent-Length: 1\r\n\r\nx`,
      `POST ${test.path} HTTP/1.1\nHost: a\nContent-Length: 1\n\nx`,
      head('Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n'),
      head('Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n'),
      head('Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n'),
      head('Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n'),
      head('Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx'),
      head('X-Nul: a\0b\r\nContent-Length: 1\r\n\r\nx'),
      head('X-Cr: a\rb\r\nContent-Length: 1\r\n\r\nx'),
      head('X Space: a\r\nContent-Length: 1\r\n\r\nx'),
      ` ${head('Content-Length: 1\r\n\r\nx')}`,
      `post ${test.path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx`,
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      head(`X-Long: ${'a'.repeat(20_000)}\r\n\r\n`),
      head(`${Array.from({ length: 60 }, (_, n) => `X-${n}: 1\r\n`).join('')}\r\n`),
    ];
    const answers = await Promise.all(shapes.map((bytes) => exchange(test.port, Buffer.from(bytes, 'latin1'))));
    for (const [index, answer] of answers.entries())
      expect(answer, JSON.stringify(shapes[index])).toMatch(
        /^HTTP\/1\.1 4(00|31) [\s\S]*connection: close[\s\S]*\r\n\r\n$/i,
      );
    expect(test.inbox.deliveries.counts().received).toBe(0);
    expect(await exchange(test.port, post(test.path, 'honest'))).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('slow callers', () => {
  const limits = { headers_timeout: 300, request_timeout: 600, check_every: 50 };

  it('are closed by 408, in their headers or in their body, and an honest delivery is answered before', async () => {
    await using test = await testReceiver({ limits });
    const beginnings = [
      '',
      'P',
      `POST ${test.path} HTTP/1.1\r\nHost: a\r\nX-Slow: `,
      `POST ${test.path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{`,
      `POST ${test.path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
    ];
    const slow = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const connection = rawConnection(test.port);
        await once(connection.socket, 'connect');
        connection.socket.write(beginnings[n % beginnings.length] ?? '');
        return connection;
      }),
    );
    let closed = 0;
    const ends = slow.map(async ({ ended }) => {
      const answer = await ended;
      closed += 1;
      return answer;
    });
    expect(await exchange(test.port, post(test.path, 'honest'))).toMatch(/^HTTP\/1\.1 200 /);
    expect(closed).toBe(0);
    for (const answer of await Promise.all(ends)) expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(test.inbox.deliveries.after(0, 10).map(({ body }) => body.toString())).toEqual(['honest']);
  });

  // Limits of minutes: nobody is saved by their end.
  const patient = { headers_timeout: 120_000, request_timeout: 120_000, check_every: 1000 };
  const slowly = (path: string, more = '') =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\n${more}Expect: 100-continue\r\nContent-Length: 100000\r\n\r\n{`;
  async function opened(port: number, bytes: string) {
    const connection = rawConnection(port);
    await once(connection.socket, 'connect');
    connection.socket.write(bytes);
    return connection;
  }

  it('crowd out only each other: among 200 an honest delivery is answered, and one that has begun goes on', async () => {
    await using test = await testReceiver({ limits: patient });
    const begun = await opened(test.port, slowly(test.path));
    await begun.said('100 Continue');
    const strangers: Awaited<ReturnType<typeof opened>>[] = [];
    for (let n = 0; n < 220; n += 1) strangers.push(await opened(test.port, n % 2 === 0 ? '' : 'POST /hooks/'));
    expect(await exchange(test.port, post(test.path, 'honest'))).toMatch(/^HTTP\/1\.1 200 /);
    begun.socket.write('x'.repeat(99_999));
    expect(await begun.said('200 OK')).toContain('200 OK');
    for (const { socket } of [begun, ...strangers]) socket.destroy();
  });
});
