import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { type Database, openForWriting, waitForLocks } from '../../src/kernel/sqlite/database-file.ts';
import { Deliveries } from '../../src/receiver/deliveries.store.ts';
import type { Received } from '../../src/receiver/delivery.ts';
import { inboxFile } from '../../src/receiver/inbox.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { exchange, post, rawConnection, testReceiver } from './test-receiver.ts';

/** A file whose limits a test can change while it is written. */
function ownFile(): Disposable & { readonly db: Database; readonly deliveries: Deliveries } {
  const stack = new DisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const db = stack.adopt(openForWriting(join(path, 'inbox.db'), inboxFile), (opened) => {
    opened.close();
  });
  db.exec(`INSERT INTO inbox (inbox_id, pair_id) VALUES (1, 'pair')`);
  return { db, deliveries: new Deliveries(db), [Symbol.dispose]: () => stack.dispose() };
}

function status(answer: string): number {
  return Number(answer.slice(9, 12));
}

describe('a full disk', () => {
  it('is a 503, never a 200 without a row; reads go on, and it is over when there is room again', async () => {
    using file = ownFile();
    await using test = await testReceiver({ store: (group) => file.deliveries.store(group) });
    const body = 'x'.repeat(3000);
    const limit = Number(file.db.pragma('page_count', { simple: true })) + 20;
    file.db.pragma(`max_page_count = ${limit}`);
    const answers: number[] = [];
    for (let n = 0; n < 40; n += 1) answers.push(status(await exchange(test.port, post(test.path, `${n} ${body}`))));
    const stored = () => file.deliveries.after(0, 1000).map((each) => Number(each.body.toString().split(' ')[0]));
    expect(new Set(answers)).toEqual(new Set([200, 503]));
    expect(stored()).toEqual([...answers.entries()].filter(([, each]) => each === 200).map(([n]) => n));
    expect(test.receiver.counts().failed).toBe(answers.filter((each) => each === 503).length);

    file.db.pragma(`max_page_count = ${limit + 1000}`);
    expect(status(await exchange(test.port, post(test.path, `40 ${body}`)))).toBe(200);
    expect(stored().at(-1)).toBe(40);
    const { received, waiting } = file.deliveries.counts();
    expect(received).toBe(waiting);
    const said = test.lines().map(({ msg }) => msg);
    expect(said.filter((msg) => String(msg).startsWith('the inbox cannot be written'))).toHaveLength(1);
    expect(said.filter((msg) => msg === 'deliveries are stored again')).toHaveLength(1);
  });
});

describe('another program that writes the inbox', () => {
  it('is waited for without blocking the loop, for a second; then it is a 503', async () => {
    using file = ownFile();
    waitForLocks(file.db, 0);
    const failures: unknown[] = [];
    const locked = Promise.withResolvers<void>();
    const store = (group: readonly Received[]) => {
      try {
        file.deliveries.store(group);
      } catch (error) {
        failures.push(error);
        locked.resolve();
        throw error;
      }
    };
    await using test = await testReceiver({ store });
    const other = openForWriting(file.db.name, inboxFile);
    other.exec('BEGIN IMMEDIATE');
    const first = exchange(test.port, post(test.path, 'first'));
    await locked.promise;
    other.exec('ROLLBACK');
    expect(status(await first)).toBe(200);
    expect(failures[0]).toMatchObject({ code: 'SQLITE_BUSY' });
    other.exec('BEGIN IMMEDIATE');
    expect(status(await exchange(test.port, post(test.path, 'second')))).toBe(503);
    other.exec('ROLLBACK');
    expect(status(await exchange(test.port, post(test.path, 'third')))).toBe(200);
    other.close();
    expect(file.deliveries.after(0, 10).map(({ body }) => body.toString())).toEqual(['first', 'third']);
  });
});

describe('a failed fsync', () => {
  it('is the end: 503 for all that wait, nothing is written any more, and who stored it is told', async () => {
    using file = ownFile();
    const refusing = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
    file.db.function('fail', () => {
      throw refusing;
    });
    file.db.exec('CREATE TEMP TRIGGER failing AFTER INSERT ON main.delivery BEGIN SELECT fail(); END');
    await using test = await testReceiver({ store: (group) => file.deliveries.store(group) });
    expect(status(await exchange(test.port, post(test.path, 'x')))).toBe(503);
    expect(test.desk.failures).toMatchObject([{ code: 'sync-failed', exitCode: 74 }]);
    file.db.exec('DROP TRIGGER failing');
    expect(status(await exchange(test.port, post(test.path, 'x')))).toBe(503);
    expect(() => file.deliveries.heartbeat(instant(1))).toThrow('failed to store');
    expect(file.deliveries.counts().received).toBe(0);
  });
});

describe('stopping', () => {
  it('lets what was accepted end, and resets none of it', async () => {
    const test = await testReceiver();
    const connections = Array.from({ length: 50 }, () => rawConnection(test.port));
    const bytes = post(test.path, 'half and half');
    await Promise.all(
      connections.map(async ({ socket }) => {
        socket.write(bytes.subarray(0, bytes.length - 4));
        await once(socket, 'connect');
      }),
    );
    // Answered after all of the above were read.
    expect(status(await exchange(test.port, post(test.path, 'marker')))).toBe(200);
    const idle = rawConnection(test.port);
    await once(idle.socket, 'connect');
    const stopped = test.receiver[Symbol.asyncDispose]();
    for (const { socket } of connections) socket.write(bytes.subarray(bytes.length - 4));
    const answers = await Promise.all(connections.map(({ ended }) => ended));
    await stopped;
    await idle.ended;
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
    expect(test.inbox.deliveries.counts().received).toBe(51);
    expect(await exchange(test.port, bytes)).toBe('');
    await test[Symbol.asyncDispose]();
  });
});

describe('20,000 bodies of any kind', () => {
  const seed = Number(process.env.CATALOGUED_TEST_SEED ?? 1);

  it(`are answered 200 and stored as they came, and touch no prototype (seed ${seed})`, async () => {
    const before = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
    await using test = await testReceiver({ limits: { requests_per_socket: 0 } });
    const agent = new Agent({ keepAlive: true, maxSockets: 50 });
    const next = bodies(seed);
    const sent = new Map<string, number>();
    let refused = 0;
    const poster = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        const body = next();
        const key = body.toString('base64');
        sent.set(key, (sent.get(key) ?? 0) + 1);
        if ((await deliver(agent, test.port, test.path, body)) !== 200) refused += 1;
      }
    };
    await Promise.all(Array.from({ length: 50 }, () => poster(400)));
    agent.destroy();
    expect(refused).toBe(0);
    for (let after = 0; ; ) {
      const page = test.inbox.deliveries.after(after, 1000);
      for (const { body, length, truncated } of page) {
        expect(truncated || length === body.length).toBe(true);
        const key = body.toString('base64');
        sent.set(key, (sent.get(key) ?? 0) - 1);
      }
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.delivery_id;
    }
    expect(test.inbox.deliveries.counts()).toMatchObject({ received: 20_000, waiting: 20_000 });
    expect([...sent.values()].filter((left) => left !== 0)).toEqual([]);
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(before);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

function deliver(agent: Agent, port: number, path: string, body: Buffer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const call = request({ agent, port, host: '127.0.0.1', path, method: 'POST' }, (response) => {
    response.resume().on('end', () => resolve(response.statusCode ?? 0));
  });
  call.on('error', reject).end(body);
  return promise;
}

/** Bytes, JSON, nearly JSON: what a service, a fool or a foe may send. The same seed makes the same bodies. */
function bodies(seed: number): () => Buffer {
  let state = seed >>> 0 || 1;
  const roll = (below: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  const pick = <Item>(items: readonly Item[]): Item => items[roll(items.length)] as Item;
  const honest = () => {
    const change = { change_type: pick(['checkout_disabled', 'checkout_enabled', 'product_details_update', 'new']) };
    const products = Array.from({ length: roll(5) }, () => ({ product_id: roll(1e6), changes: [change] }));
    return JSON.stringify({ subscription_id: 'norland', products });
  };
  const scalars = [
    '1e400',
    '-0',
    '9007199254740993',
    '123456789012345678901234567890',
    '"\\ud800"',
    'NaN',
    'null',
    '""',
  ];
  const kinds: readonly (() => string | Buffer)[] = [
    honest,
    () => honest().slice(0, roll(80)),
    () => Buffer.from(Array.from({ length: roll(200) }, () => roll(256))),
    () => `{"__proto__":{"polluted":${roll(9)}},"constructor":{"prototype":{"polluted":1}}}`,
    () => `{"products":[{"product_id":${pick(scalars)},"changes":${pick(scalars)}}]}`,
    () => '['.repeat(roll(5000)) + ']'.repeat(roll(5000)),
    () => '{"a":'.repeat(roll(2000)),
    () => `{"product_id":1,"product_id":2,"products":[],"products":${pick(scalars)}}`,
    () => `\ufeff${honest()}`,
    () => honest().replaceAll(':', pick(['\0', '::', '\u2028', ' = '])),
    () => Buffer.from(honest(), 'utf16le'),
    () => Buffer.concat([Buffer.from(honest()), Buffer.from([0xff, 0xc0, 0x80, 0])]),
    () => `${roll(1e9)}=${'%'.repeat(roll(50))}&a[]=1`,
    () => '',
  ];
  return () => Buffer.from(pick(kinds)() as string);
}
