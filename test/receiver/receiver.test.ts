import { createHmac, hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { METHODS } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { instant, systemClock } from '../../src/kernel/clock.ts';
import { ownTestToken } from '../../src/receiver/addresses.store.ts';
import { type Inbox, openInbox } from '../../src/receiver/inbox.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { exchange, master, post, rawConnection, subscription_id, testInbox, testReceiver } from './test-receiver.ts';

describe('a delivery', () => {
  it('is stored as it came, and answered 200 without a body', async () => {
    await using test = await testReceiver();
    const body = '{"subscription_id":"norland","products":[]}';
    const stored = test.stored();
    const answer = await exchange(test.port, post(test.path, body));
    await stored;
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/content-length: 0\r\n[\s\S]*\r\n\r\n$/i);
    expect(test.inbox.deliveries.after(0, 10)).toMatchObject([
      {
        delivery_id: 1,
        subscription_id,
        epoch: 1,
        peer: '127.0.0.1',
        content_type: 'application/json',
        length: body.length,
        truncated: false,
        sha256: hash('sha256', body),
        state: 'waiting',
        body: Buffer.from(body),
      },
    ]);
    expect(test.receiver.counts()).toMatchObject({ stored: 1, failed: 0 });
  });

  it('may be of any content type, or say none, and be empty', async () => {
    await using test = await testReceiver();
    const bare = (headers: string, body = '') =>
      exchange(test.port, `POST ${test.path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n${body}`);
    for (const answer of [
      await bare('Content-Type: text/plain\r\nContent-Length: 2\r\n', 'hi'),
      await bare('Content-Type: nonsense;;=\r\nContent-Length: 2\r\n', 'hi'),
      await bare('Content-Length: 2\r\n', 'hi'),
      await bare('Content-Length: 0\r\n'),
      await bare(''),
      await bare('Transfer-Encoding: chunked\r\n', '1\r\nh\r\n1\r\ni\r\n0\r\n\r\n'),
    ])
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    const stored = test.inbox.deliveries.after(0, 10);
    expect(stored.map(({ content_type }) => content_type)).toEqual([
      'text/plain',
      'nonsense;;=',
      null,
      null,
      null,
      null,
    ]);
    expect(stored.map(({ body }) => body.toString())).toEqual(['hi', 'hi', 'hi', '', '', 'hi']);
  });

  it('that waits for "100 Continue" is told so', async () => {
    await using test = await testReceiver();
    const { socket, said, ended } = rawConnection(test.port);
    socket.write(`POST ${test.path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`);
    await said('100 Continue');
    socket.write('hi');
    await said('200 OK');
    socket.destroy();
    await ended;
  });

  it('comes over a unix socket too', async () => {
    using directory = temporaryDirectory();
    const socket = join(directory.path, 'receiver.sock');
    await using test = await testReceiver({ listen: `unix:${socket}`, allow: ['192.0.2.7'] });
    const forwarded = (from: string) => exchange(socket, post(test.path, 'x', [`X-Forwarded-For: ${from}`]));
    expect(await forwarded('192.0.2.7')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await forwarded('192.0.2.8')).toMatch(/^HTTP\/1\.1 404 /);
    expect(await exchange(socket, post(test.path, 'x'))).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('does not share its commit with later ones, but with all of the same turn', async () => {
    const groups: number[] = [];
    await using test = await testReceiver({ store: (group) => groups.push(group.length) });
    const pipelined = Buffer.concat(
      Array.from({ length: 20 }, () =>
        Buffer.from(`POST ${test.path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx`),
      ),
    );
    const { socket, ended } = rawConnection(test.port);
    socket.write(Buffer.concat([pipelined, post(test.path, 'last')]));
    expect((await ended).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(21);
    expect(groups.reduce((sum, size) => sum + size, 0)).toBe(21);
    expect(groups.length).toBeLessThan(21);
  });
});

describe('what is too long', () => {
  const long = 1024 * 1024 + 1;

  it('is cut: its beginning is stored, 200, and the connection ends', async () => {
    await using test = await testReceiver();
    expect(await exchange(test.port, post(test.path, Buffer.alloc(long - 1, 'a')))).toMatch(/^HTTP\/1\.1 200 /);
    const { socket, ended } = rawConnection(test.port);
    socket.write(`POST ${test.path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const chunk = `10000\r\n${'b'.repeat(65_536)}\r\n`;
    // Endless: it writes for as long as somebody reads.
    const more = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', more);
    more();
    await ended;
    const announced = rawConnection(test.port);
    announced.socket.write(
      `POST ${test.path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${long}\r\n\r\n${'c'.repeat(8192)}`,
    );
    expect(await announced.said('200 OK')).toMatch(/connection: close/i);
    await announced.ended;
    // One as long as may be fills a batch by itself.
    const [whole] = test.inbox.deliveries.after(0, 10);
    const [endless, said_so] = test.inbox.deliveries.after(whole?.delivery_id ?? 0, 10);
    expect(whole).toMatchObject({ truncated: false, length: long - 1 });
    expect(endless).toMatchObject({ truncated: true });
    expect(endless?.length).toBeGreaterThanOrEqual(long);
    expect(endless?.length).toBeLessThan(2 * long);
    expect(endless?.body.toString()).toBe('b'.repeat(4096));
    expect(said_so).toMatchObject({ truncated: true, body: Buffer.alloc(4096, 'c') });
    expect(said_so?.length).toBeLessThanOrEqual(8192);
    expect(test.receiver.counts()).toMatchObject({ stored: 3, truncated: 2 });
  });

  it('compressed stays compressed: nothing is inflated', async () => {
    await using test = await testReceiver();
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    expect(await exchange(test.port, post(test.path, bomb, ['Content-Encoding: gzip']))).toMatch(/^HTTP\/1\.1 200 /);
    const [stored] = test.inbox.deliveries.after(0, 10);
    expect(stored?.body.equals(bomb)).toBe(true);
    expect(stored?.length).toBeLessThan(100_000);
  });

  it('or shorter than it said is not stored, because its sender never ended it', async () => {
    await using test = await testReceiver();
    const { socket, ended } = rawConnection(test.port);
    socket.end(`POST ${test.path} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nshort`);
    await ended;
    expect(await exchange(test.port, post(test.path, 'whole'))).toMatch(/^HTTP\/1\.1 200 /);
    expect(test.inbox.deliveries.after(0, 10).map(({ body }) => body.toString())).toEqual(['whole']);
  });
});

describe('a refusal', () => {
  it('of our own test of the address is neither counted nor logged, and answered like a stranger’s', async () => {
    // It comes from an address that may not deliver.
    await using test = await testReceiver({ allow: ['192.0.2.1'] });
    const test404 = async (token: string) => {
      const { status, headers } = await fetch(`http://127.0.0.1:${test.port}/hooks/${token}`, {
        method: 'POST',
        body: '{}',
      });
      return { status, connection: headers.get('connection'), length: headers.get('content-length') };
    };
    const now = systemClock.now();
    const own = await test404(ownTestToken(master, now));
    expect(test.receiver.counts().refused).toEqual({ path: 0, method: 0, address: 0, token: 0, dropped: 0 });
    const strange = await test404(ownTestToken(master, instant(now - 3 * 3_600_000)));
    await expect.poll(() => test.desk.refusals).toEqual(['address']);
    expect(own).toEqual(strange);
    expect(test.receiver.counts().refused).toMatchObject({ address: 1, token: 0 });
    expect(test.lines().filter(({ msg }) => msg === 'requests refused')).toHaveLength(1);
  });

  it('is one and the same 404, whatever is wrong', async () => {
    await using test = await testReceiver({ allow: ['127.0.0.1'] });
    await using elsewhere = await testReceiver({ allow: ['192.0.2.1'] });
    const token = test.path.slice('/hooks/'.length);
    const targets = [
      '/',
      '*',
      '/hooks',
      '/hooks/',
      `/hooks//${token}`,
      `${test.path}/`,
      `${test.path}?x=1`,
      `/Hooks/${token}`,
      `/hooks/${token.slice(1)}`,
      `/hooks/${'A'.repeat(43)}`,
      `/hooks/${token}%00`,
      '/hooks/%',
      '/%zz%',
      `/hooks/${'x'.repeat(4000)}`,
      `http://a/x${test.path}`,
      '/hooks/../hooks',
    ];
    const requests = [
      ...targets.map((target) => post(target, '{}')),
      ...METHODS.filter((method) => method !== 'POST' && method !== 'CONNECT').map(
        (method) => `${method} ${test.path} HTTP/1.1\r\nHost: a\r\n\r\n`,
      ),
      'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n',
      `GET ${test.path} HTTP/1.0\r\n\r\n`,
      `GET ${test.path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      `POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
      `POST /x HTTP/1.1\r\nHost: a\r\nExpect: nonsense\r\nContent-Length: 5\r\n\r\n`,
      `POST /x HTTP/1.1\r\nHost: a\r\nContent-Type: nonsense;;\r\nContent-Length: 99999999\r\n\r\n`,
    ];
    const answers = await Promise.all(requests.map((bytes) => exchange(test.port, bytes)));
    answers.push(await exchange(elsewhere.port, post(elsewhere.path, '{}')));
    expect(answers.length).toBeGreaterThan(50);
    for (const [index, answer] of answers.entries())
      expect(answer, String(requests[index]).slice(0, 100)).toBe(answers[0]);
    expect(answers[0]).toBe('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
    expect(test.inbox.deliveries.counts().received).toBe(0);
  });

  it('does not read the body', async () => {
    await using test = await testReceiver();
    const { socket, said, ended } = rawConnection(test.port);
    socket.write('POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n');
    await said('404');
    await ended;
  });

  it('tells of a dropped address, which is a condition, and answers like any other', async () => {
    await using test = await testReceiver();
    const { addresses } = test.inbox;
    addresses.announced(subscription_id, 1, instant(0), 0);
    addresses.announced(subscription_id, addresses.begin(subscription_id, instant(0)), instant(0), 0);
    const dropped = await exchange(test.port, post(test.path, '{}'));
    expect(dropped).toBe(await exchange(test.port, post('/x', '{}')));
    expect(test.desk.refusals).toEqual(['dropped', 'path']);
    expect(test.lines().find(({ msg }) => String(msg).startsWith('an expired callback address'))).toMatchObject({
      level: 'warn',
      reason: 'dropped',
    });
  });
});

const day = 86_400_000;
const grace = 7 * day;

describe('the token of a callback address', () => {
  it('is the HMAC of master, subscription and epoch: 43 characters, one a subscription and epoch', () => {
    using test = testInbox();
    const { addresses } = test.inbox;
    const expected = createHmac('sha256', master.reveal()).update('callback:norland:1').digest('base64url');
    expect(addresses.token('norland', 1)).toBe(expected);
    expect(expected).toHaveLength(43);
    const tokens = ['norland', 'other'].flatMap((id) => [1, 2, 11].map((epoch) => addresses.token(id, epoch)));
    expect(new Set(tokens).size).toBe(6);
  });

  it('is nowhere in the file, and neither is the master', () => {
    using test = testInbox();
    const { addresses } = test.inbox;
    addresses.announced('norland', addresses.current('norland', instant(0)), instant(0), grace);
    addresses.recognise(addresses.token('norland', 1), instant(0));
    for (const file of [test.path, `${test.path}-wal`]) {
      const bytes = readFileSync(file).toString('latin1');
      expect(bytes).not.toContain(addresses.token('norland', 1));
      expect(bytes).not.toContain(master.reveal());
    }
  });

  it('cannot be made without a master secret (78), and then none is recognised', () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'inbox.db');
    using inbox = openInbox(path, { master: null, now: instant(0) });
    expect(inbox.addresses.current('norland', instant(0))).toBe(1);
    expect(() => inbox.addresses.token('norland', 1)).toThrow(expect.objectContaining({ exitCode: 78 }));
    expect(inbox.addresses.recognise('A'.repeat(43), instant(0))).toBeNull();
    expect(inbox.addresses.masterChanged()).toBe(false);
  });
});

describe('rotation', () => {
  /** What each epoch's token is worth at that instant. */
  function standings({ addresses }: Inbox, now: number, epochs = 3): (string | null)[] {
    return Array.from(
      { length: epochs },
      (_, index) => addresses.recognise(addresses.token('norland', index + 1), instant(now))?.standing ?? null,
    );
  }

  it('accepts the new address first, the old one for the grace, and knows it afterwards', () => {
    using test = testInbox();
    const { inbox } = test;
    const { addresses } = inbox;
    expect(standings(inbox, 0)).toEqual([null, null, null]);
    expect(addresses.current('norland', instant(0))).toBe(1);
    expect(standings(inbox, 0)).toEqual(['current', null, null]);
    addresses.announced('norland', 1, instant(10), grace);
    expect(addresses.begin('norland', instant(day))).toBe(2);
    expect(addresses.begin('norland', instant(day + 1))).toBe(2);
    expect(addresses.current('norland', instant(day))).toBe(2);
    expect(standings(inbox, 2 * day)).toEqual(['current', 'current', null]);
    addresses.announced('norland', 2, instant(3 * day), grace);
    expect(standings(inbox, 3 * day)).toEqual(['grace', 'current', null]);
    expect(standings(inbox, 10 * day - 1)).toEqual(['grace', 'current', null]);
    expect(standings(inbox, 10 * day)).toEqual(['dropped', 'current', null]);
    expect(addresses.recognise('A'.repeat(43), instant(0))).toBeNull();
    expect(addresses.recognise('', instant(0))).toBeNull();
  });

  it('remembers the last few dropped addresses, and no more', () => {
    using test = testInbox();
    const { addresses } = test.inbox;
    addresses.announced('norland', addresses.current('norland', instant(0)), instant(0), 1);
    for (const at of [10, 20, 30, 40, 50, 60, 70, 80, 90, 100].map(instant))
      addresses.announced('norland', addresses.begin('norland', at), at, 1);
    const epochs = addresses.states().map(({ epoch }) => epoch);
    expect(epochs).toEqual([6, 7, 8, 9, 10, 11]);
    expect(addresses.recognise(addresses.token('norland', 10), instant(200))?.standing).toBe('dropped');
    expect(addresses.recognise(addresses.token('norland', 3), instant(200))).toBeNull();
  });
});
