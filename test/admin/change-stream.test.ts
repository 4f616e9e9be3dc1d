import { get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type AdminOptions, startAdmin } from '../../src/admin/server.ts';
import { roomFor } from '../../src/daemon/crowding.ts';
import { ChangeFeed } from '../../src/feed/changes.store.ts';
import { instant } from '../../src/kernel/clock.ts';
import { readsOf } from '../../src/kernel/sqlite/statements.ts';
import { eventSource } from '../fakes/event-source.ts';
import { pruneChanges, putChanges } from '../fakes/planted.ts';
import { testLog } from '../fakes/test-log.ts';
import { temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import { manualClock } from '../service/manual-clock.ts';

const by = { sent_at: instant(1000), reason: 'cadence-elapsed' } as const;

/** The admin interface over a mirror of its own: only what the feed needs. */
async function harness(watched = (feed: ChangeFeed) => feed) {
  const stack = new AsyncDisposableStack();
  const test = stack.use(testMirror());
  const { path } = stack.use(temporaryDirectory());
  const clock = manualClock();
  const socket = join(path, 'admin.sock');
  const feed = watched(new ChangeFeed(readsOf(test.reader)));
  const changes = { feed, clock, onChanges: (listener: () => void) => test.mirror.onChanges(listener) };
  const options = {
    listen: `unix:${socket}`,
    token: null,
    log: testLog().log,
    answers: {},
    changes,
    room: roomFor(null),
  };
  const admin = await startAdmin(options as unknown as AdminOptions);
  stack.use(admin);
  return {
    socket,
    clock,
    admin,
    mirror: test.mirror,
    /** So many changes in one transaction, each with so long a detail. */
    add: (count: number, length = 0) =>
      putChanges(
        test,
        Array.from({ length: count }, (_, product_id) => ({
          product_id,
          kind: 'sale_disabled',
          detail: { reason: 'x'.repeat(length) },
        })),
        by,
      ),
    json: (path: string) =>
      new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
        get({ socketPath: socket, path }, async (response) => {
          const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Record<string, unknown> });
        }).on('error', reject);
      }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const seqs = (events: readonly { data: unknown }[]) => events.map(({ data }) => (data as { seq: number }).seq);
const upTo = (count: number, after = 0) => Array.from({ length: count }, (_, index) => after + index + 1);

describe('GET /v1/changes as JSON', () => {
  it('is a page after a cursor, with the next one and how far the feed reaches', async () => {
    await using it = await harness();
    expect(await it.json('/v1/changes')).toEqual({
      status: 200,
      body: { changes: [], next: 0, floor: 0, newest: 0, feed: expect.any(String) },
    });
    it.add(5);
    const { status, body } = await it.json('/v1/changes?after=1&limit=2');
    expect(status).toBe(200);
    expect(body).toMatchObject({ next: 3, floor: 0, newest: 5 });
    expect(body.changes).toMatchObject([
      { seq: 2, at: 1000, product_id: 1, kind: 'sale_disabled', language: null, date: null, detail: { reason: '' } },
      { seq: 3 },
    ]);
  });

  it('says of a cursor before the floor that it is gone (410), of one ahead of the newest or of nonsense that it is wrong (400)', async () => {
    await using it = await harness();
    it.add(5);
    pruneChanges(it, instant(2000));
    it.add(1);
    expect(await it.json('/v1/changes?after=4')).toEqual({
      status: 410,
      body: { error: 'cursor-too-old', message: expect.any(String), hint: expect.stringContaining('after 6') },
    });
    expect((await it.json('/v1/changes?after=5')).status).toBe(200);
    expect((await it.json('/v1/changes')).body).toMatchObject({ next: 6, floor: 5 });
    expect(await it.json('/v1/changes?after=7')).toMatchObject({
      status: 400,
      body: { error: 'cursor-from-the-future' },
    });
    for (const after of ['', '-1', '1.5', 'x', '1e3', '9'.repeat(40), '5&after=6'])
      expect(await it.json(`/v1/changes?after=${after}`), after).toMatchObject({
        status: 400,
        body: { error: 'bad-cursor' },
      });
    for (const limit of ['0', '1001', 'all', ''])
      expect(await it.json(`/v1/changes?after=5&limit=${limit}`), limit).toMatchObject({
        status: 400,
        body: { error: 'bad-limit' },
      });
  });
});

describe('GET /v1/changes as server-sent events', () => {
  it('sends what is there, then each change with its commit, without waiting for any time', async () => {
    await using it = await harness();
    it.add(250);
    const source = await eventSource(it.socket, '/v1/changes?after=3');
    await source.reached(247);
    it.add(2);
    await source.reached(249);
    expect(() =>
      it.mirror.transaction(() => {
        it.mirror.changes.add({ product_id: 9, kind: 'sale_enabled', detail: {} }, by);
        throw new Error('rolled back');
      }),
    ).toThrow('rolled back');
    it.add(1);
    await source.reached(250);
    expect(seqs(source.events)).toEqual(upTo(250, 3));
    expect(source.events.at(-1)).toMatchObject({
      id: '253',
      event: 'change',
      data: { seq: 253, kind: 'sale_disabled' },
    });
    source.close();
  });

  it('goes on after the Last-Event-ID of who comes back, whatever the address says', async () => {
    await using it = await harness();
    it.add(5);
    const source = await eventSource(it.socket, '/v1/changes?after=0', { headers: { 'last-event-id': '3' } });
    await source.reached(2);
    expect(seqs(source.events)).toEqual([4, 5]);
    source.close();
  });

  it('refuses a cursor before the stream begins, with the statuses of the JSON', async () => {
    await using it = await harness();
    it.add(5);
    pruneChanges(it, instant(2000));
    const ask = async (cursor: string) => {
      const { status, refusal } = await eventSource(it.socket, '/v1/changes', { headers: { 'last-event-id': cursor } });
      return [status, refusal?.error];
    };
    expect(await ask('4')).toEqual([410, 'cursor-too-old']);
    expect(await ask('6')).toEqual([400, 'cursor-from-the-future']);
    expect(await ask('first')).toEqual([400, 'bad-cursor']);
  });

  it('reads no further for a client that does not, tells it where retention has overtaken it, and closes', async () => {
    let handed = 0;
    await using it = await harness((feed) => {
      const after = feed.after.bind(feed);
      feed.after = (cursor, limit) => {
        const page = after(cursor, limit);
        handed += page.changes.length;
        return page;
      };
      return feed;
    });
    it.add(20_000, 1000);
    const source = await eventSource(it.socket, '/v1/changes', { reads: 'later' });
    // As many turns of the loop as would take all of it.
    for (let turn = 0; turn < 400; turn += 1) await setImmediate();
    // 20 MB wait in the file; some hundred kB are in the two sockets.
    expect(handed).toBeLessThan(3000);
    pruneChanges(it, instant(2000));
    source.response.resume();
    await source.ended;
    expect(source.events.at(-1)).toMatchObject({ id: null, event: 'reset', data: { error: 'cursor-too-old' } });
    const sent = seqs(source.events.slice(0, -1));
    expect(sent).toEqual(upTo(sent.length));
  });

  it('ends when the daemon drains, also for a client that does not read', async () => {
    await using it = await harness();
    it.add(20_000, 1000);
    const [reading, stuck] = [
      await eventSource(it.socket, '/v1/changes?after=20000'),
      await eventSource(it.socket, '/v1/changes', { reads: 'later' }),
    ];
    await it.admin[Symbol.asyncDispose]();
    await reading.ended;
    stuck.response.resume();
    await stuck.ended;
    await expect(eventSource(it.socket, '/v1/changes')).rejects.toThrow();
  });
});

describe('whoever stalls', () => {
  it.each([
    ['in a head', 'GET /v1/changes HTTP/1.1\r\n'],
    ['in a body', 'POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{'],
  ])('%s does not keep the daemon from ending', async (_, sent) => {
    await using it = await harness();
    const socket = connect(it.socket);
    const ended = new Promise((resolve) => socket.on('error', resolve).on('close', resolve));
    await new Promise((resolve) => socket.write(sent, resolve));
    // Whoever comes later is answered later.
    await it.json('/v1/changes');
    const closed = it.admin[Symbol.asyncDispose]();
    await it.clock.advance(5000);
    await closed;
    await ended;
  });
});

it('a follower too many is refused with 503, and let in once another one has left', async () => {
  await using it = await harness();
  const followers = await Promise.all(Array.from({ length: 500 }, () => eventSource(it.socket, '/v1/changes')));
  expect(followers.map(({ status }) => status)).toEqual(followers.map(() => 200));
  const refused = await eventSource(it.socket, '/v1/changes');
  expect(refused).toMatchObject({ status: 503, refusal: { error: 'too-many-followers' } });
  followers[0]?.close();
  const again = async () => {
    const follower = await eventSource(it.socket, '/v1/changes');
    if (follower.status === 200) followers.push(follower);
    return follower.status;
  };
  await expect.poll(again).toBe(200);
  for (const follower of followers) follower.close();
});

it('a cursor of another feed is refused with the feed that there is now, as a page and as events', async () => {
  await using it = await harness();
  const { feed } = (await it.json('/v1/changes')).body as unknown as { feed: string };
  expect(await it.json('/v1/changes?after=0&feed=another')).toMatchObject({
    status: 410,
    body: { error: 'feed-changed', feed, next: 0 },
  });
  expect((await it.json(`/v1/changes?after=0&feed=${feed}`)).status).toBe(200);
  const refused = await eventSource(it.socket, '/v1/changes?after=0&feed=another');
  expect(refused).toMatchObject({ status: 410, refusal: { error: 'feed-changed', feed } });
  const source = await eventSource(it.socket, `/v1/changes?after=0&feed=${feed}`);
  it.add(1);
  await source.reached(1);
  expect(source.feed()).toBe(feed);
  source.close();
});
