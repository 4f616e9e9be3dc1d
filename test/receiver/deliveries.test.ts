import { hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { openForWriting } from '../../src/kernel/sqlite/database-file.ts';
import { InboxFull } from '../../src/receiver/byte-budget.store.ts';
import { Deliveries } from '../../src/receiver/deliveries.store.ts';
import type { Received } from '../../src/receiver/delivery.ts';
import { inboxFile, openInbox } from '../../src/receiver/inbox.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { master, testInbox } from './test-receiver.ts';

function received(text: string, more: Partial<Received> = {}): Received {
  const body = Buffer.from(text);
  return {
    received_at: instant(1000),
    subscription_id: 'norland',
    epoch: 1,
    peer: '192.0.2.1',
    content_type: null,
    length: body.length,
    truncated: false,
    body,
    ...more,
  };
}

const bodies = (deliveries: Deliveries, after = 0) => deliveries.after(after, 100).map(({ body }) => body.toString());
const sum = ({ waiting, applied, superseded, quarantined }: ReturnType<Deliveries['counts']>) =>
  waiting + applied + superseded + quarantined;

describe('deliveries', () => {
  it('wait in the order of arrival until they are settled, and are settled once', () => {
    using test = testInbox();
    const { deliveries } = test.inbox;
    deliveries.store([received('a'), received('b')]);
    deliveries.store([received('c')]);
    expect(deliveries.after(0, 2).map(({ delivery_id }) => delivery_id)).toEqual([1, 2]);
    expect(bodies(deliveries, 1)).toEqual(['b', 'c']);
    deliveries.settle(1, 'applied', 'two records due', instant(2000));
    deliveries.settle(1, 'quarantined', 'too late', instant(3000));
    deliveries.transaction(() => {
      deliveries.settle(2, 'superseded', null, instant(2000));
      deliveries.settle(99, 'applied', null, instant(2000));
    });
    expect(bodies(deliveries)).toEqual(['c']);
    expect(deliveries.find(1)).toMatchObject({ state: 'applied', reason: 'two records due', settled_at: 2000 });
    expect(deliveries.find(3)).toMatchObject({
      state: 'waiting',
      reason: null,
      settled_at: null,
      sha256: hash('sha256', 'c'),
    });
    expect(deliveries.find(99)).toBeNull();
    expect(deliveries.counts()).toEqual({ received: 3, waiting: 1, applied: 1, superseded: 1, quarantined: 0 });
  });

  it('are all stored or none', () => {
    using test = testInbox();
    const { deliveries } = test.inbox;
    const broken = { ...received('b'), peer: null as unknown as string };
    expect(() => deliveries.store([received('a'), broken])).toThrow('NOT NULL');
    expect(deliveries.counts().received).toBe(0);
    deliveries.store([received('c')]);
    expect(deliveries.after(0, 9)).toMatchObject([{ delivery_id: 1 }]);
  });

  it('are counted for ever: received = waiting + applied + superseded + quarantined, also when they are gone', () => {
    using test = testInbox();
    const { deliveries } = test.inbox;
    const states = ['applied', 'superseded', 'quarantined'] as const;
    for (let round = 0; round < 50; round += 1) {
      deliveries.store(
        Array.from({ length: 1 + (round % 4) }, () => received(`${round}`, { received_at: instant(round) })),
      );
      for (const { delivery_id } of deliveries.after(0, 1 + (round % 3)))
        deliveries.settle(delivery_id, states[(delivery_id * 7) % 3] ?? 'applied', null, instant(round));
      if (round % 10 === 9) deliveries.prune(instant(round - 2));
      if (round === 25) deliveries.replay(instant(24), instant(round));
      if (round === 30) deliveries.goOnAbove(1000);
      const counts = deliveries.counts();
      expect(sum(counts), JSON.stringify(counts)).toBe(counts.received);
    }
    deliveries.prune(instant(1e9));
    const counts = deliveries.counts();
    expect(counts.received).toBeGreaterThan(120);
    expect(sum(counts)).toBe(counts.received);
    expect(deliveries.list({ since: null, state: 'applied', limit: 100 })).toEqual([]);
    expect(deliveries.list({ since: null, state: 'waiting', limit: 100 })).toHaveLength(counts.waiting);
  });

  it('never get a number twice, also when the last ones are gone or the mirror knows of higher ones', () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'inbox.db');
    const last = (): number => {
      using inbox = openInbox(path, { master, now: instant(0) });
      const { deliveries } = inbox;
      deliveries.store([received('x')]);
      const [stored] = deliveries.after(0, 1);
      if (stored === undefined) throw new Error('nothing waits');
      deliveries.settle(stored.delivery_id, 'applied', null, instant(1));
      deliveries.prune(instant(2));
      return stored.delivery_id;
    };
    expect([last(), last()]).toEqual([1, 2]);
    {
      using inbox = openInbox(path, { master, now: instant(0) });
      inbox.deliveries.goOnAbove(41);
      inbox.deliveries.goOnAbove(7);
    }
    expect(last()).toBe(42);
    using fresh = testInbox();
    fresh.inbox.deliveries.goOnAbove(500);
    fresh.inbox.deliveries.store([received('x')]);
    expect(fresh.inbox.deliveries.after(0, 1)).toMatchObject([{ delivery_id: 501 }]);
    expect(fresh.inbox.deliveries.counts().received).toBe(1);
  });

  it('stay while they wait, however old; settled ones leave', () => {
    using test = testInbox();
    const { deliveries } = test.inbox;
    deliveries.store([received('old, waiting'), received('old, settled'), received('young, settled')]);
    deliveries.settle(2, 'applied', null, instant(10));
    deliveries.settle(3, 'quarantined', 'not JSON', instant(20));
    expect(deliveries.prune(instant(20))).toBe(1);
    expect(deliveries.list({ since: null, state: null, limit: 9 }).map(({ delivery_id }) => delivery_id)).toEqual([
      3, 1,
    ]);
  });

  it('in quarantine are bounded, by number and by size: the oldest go first, and what waits stays', () => {
    using directory = temporaryDirectory();
    const db = openForWriting(join(directory.path, 'inbox.db'), inboxFile);
    db.exec(`INSERT INTO inbox (inbox_id, pair_id) VALUES (1, 'pair')`);
    const deliveries = new Deliveries(db, { quarantine: { rows: 10, bytes: 300 } });
    const quarantined = () => deliveries.list({ since: null, state: 'quarantined', limit: 1000 });
    const quarantine = (size: number, count: number) => {
      for (let n = 0; n < count; n += 1) {
        deliveries.store([received('x'.repeat(size))]);
        const [waiting] = deliveries.after(1, 1);
        deliveries.settle(waiting?.delivery_id ?? 0, 'quarantined', 'not JSON', instant(1));
      }
    };
    deliveries.store([received('waits for ever'.repeat(100))]);
    quarantine(1, 100);
    expect(quarantined().length).toBeLessThan(20);
    expect(quarantined()[0]).toMatchObject({ delivery_id: 101 });
    quarantine(100, 20);
    expect(quarantined().length).toBeLessThanOrEqual(3);
    expect(bodies(deliveries)).toHaveLength(1);
    expect(deliveries.counts()).toMatchObject({ received: 121, waiting: 1, quarantined: 120 });
    db.close();
  });

  it('wait once more as copies, in order and under new numbers', () => {
    using test = testInbox();
    const { deliveries } = test.inbox;
    for (const [text, received_at] of [
      ['a', 10],
      ['b', 20],
      ['c', 30],
      ['d', 40],
    ] as const)
      deliveries.store([received(text, { received_at: instant(received_at) })]);
    for (const [delivery_id, state] of [
      [1, 'applied'],
      [2, 'quarantined'],
      [3, 'superseded'],
    ] as const)
      deliveries.settle(delivery_id, state, null, instant(50));
    expect(deliveries.replayable(instant(20))).toEqual({ deliveries: 2, gone: 0 });
    expect(deliveries.replay(instant(20), instant(60))).toBe(2);
    expect(bodies(deliveries)).toEqual(['d', 'b', 'c']);
    expect(deliveries.find(5)).toMatchObject({ received_at: 60, replay_of: 2, state: 'waiting' });
    // A copy stands for its original: the same again repeats the originals, not the copies.
    for (const delivery_id of [4, 5, 6]) deliveries.settle(delivery_id, 'applied', null, instant(70));
    expect(deliveries.replay(instant(20), instant(80))).toBe(3);
    expect(bodies(deliveries)).toEqual(['b', 'c', 'd']);
    expect(deliveries.lastBySubscription()).toEqual(new Map([['norland', 40]]));
  });

  it('say when each subscription was last heard of, also when they are gone', () => {
    using test = testInbox();
    const { deliveries } = test.inbox;
    const far = instant(Date.UTC(2038, 0, 1));
    deliveries.store([
      received('a', { received_at: far }),
      received('b', { subscription_id: 'other', received_at: instant(5) }),
    ]);
    deliveries.store([received('c', { received_at: instant(7) })]);
    for (const delivery_id of [1, 2, 3]) deliveries.settle(delivery_id, 'applied', null, instant(8));
    deliveries.prune(instant(9));
    expect(deliveries.lastBySubscription()).toEqual(
      new Map([
        ['norland', 7],
        ['other', 5],
      ]),
    );
  });

  it('could be received until the last heartbeat before this start', () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'inbox.db');
    const open = () => openInbox(path, { master, now: instant(0) });
    {
      using inbox = open();
      expect(inbox.deliveries.last_heartbeat).toBeNull();
      inbox.deliveries.heartbeat(instant(1000));
      inbox.deliveries.heartbeat(instant(2000));
      expect(inbox.deliveries.last_heartbeat).toBeNull();
    }
    using inbox = open();
    inbox.deliveries.heartbeat(instant(9000));
    expect(inbox.deliveries.last_heartbeat).toBe(2000);
  });
});

describe('the budget of bytes', () => {
  /** Random, so that it takes as many bytes as it has. */
  const large = () => received(randomBytes(6000).toString('base64'));
  const within = (bytes: number) => {
    const directory = temporaryDirectory();
    const path = join(directory.path, 'inbox.db');
    const inbox = openInbox(path, { master, now: instant(0), deliveries_bytes: bytes });
    return {
      ...inbox,
      path,
      [Symbol.dispose]: () => {
        inbox[Symbol.dispose]();
        directory[Symbol.dispose]();
      },
    };
  };
  const states = (deliveries: Deliveries) =>
    deliveries
      .list({ since: null, state: null, limit: 100 })
      .reverse()
      .map(({ delivery_id, state, body_gone }) => `${delivery_id} ${state}${body_gone ? ' gone' : ''}`);

  it('takes the bodies of applied deliveries first, the oldest first, then those in quarantine, and leaves their rows', () => {
    using inbox = within(35_000);
    const { deliveries } = inbox;
    deliveries.store([large(), large(), large(), large()]);
    const first = deliveries.find(2);
    deliveries.settle(1, 'quarantined', 'not JSON', instant(5));
    deliveries.settle(2, 'applied', null, instant(5));
    deliveries.settle(3, 'superseded', null, instant(5));
    deliveries.store([large(), large()]);
    expect(states(deliveries)).toEqual([
      '1 quarantined',
      '2 applied gone',
      '3 superseded',
      '4 waiting',
      '5 waiting',
      '6 waiting',
    ]);
    const { body: _, body_gone: __, ...facts } = first ?? {};
    expect(deliveries.find(2)).toMatchObject({ ...facts, state: 'applied', settled_at: 5, reason: null });
    deliveries.store([large(), large()]);
    expect(states(deliveries).slice(0, 3)).toEqual(['1 quarantined gone', '2 applied gone', '3 superseded gone']);
    expect(deliveries.bytes()).toMatchObject({ bodies_gone: 3 });
    expect(deliveries.bytes().stored_bytes).toBeLessThanOrEqual(35_000);
    expect(deliveries.counts()).toEqual({ received: 8, waiting: 5, applied: 1, superseded: 1, quarantined: 1 });
  });

  it('never takes what waits: where nothing else is left, nothing more is stored', () => {
    using inbox = within(14_000);
    const { deliveries } = inbox;
    deliveries.store([large(), large()]);
    expect(() => deliveries.store([large()])).toThrow(InboxFull);
    expect(states(deliveries)).toEqual(['1 waiting', '2 waiting']);
    deliveries.settle(1, 'applied', null, instant(5));
    deliveries.store([large()]);
    expect(states(deliveries)).toEqual(['1 applied gone', '2 waiting', '3 waiting']);
  });

  it('leaves settled what an older mirror would need again and is gone, and says since when', () => {
    using inbox = within(24_000);
    const { deliveries } = inbox;
    for (const received_at of [10, 20, 30, 40, 50, 60]) {
      deliveries.store([{ ...large(), received_at: instant(received_at) }]);
      for (const { delivery_id } of deliveries.after(0, 1))
        deliveries.settle(delivery_id, 'applied', null, instant(70));
    }
    expect(states(deliveries)).toContain('3 applied gone');
    expect(deliveries.replayable(instant(0))).toEqual({ deliveries: 3, gone: 3 });
    expect(deliveries.replay(instant(0), instant(80))).toBe(3);
    expect(deliveries.waitAgain(1)).toMatchObject({ gone_since: 20 });
    deliveries.prune(instant(71));
    expect(deliveries.waitAgain(1)).toMatchObject({ deliveries: 0, gone_since: 0 });
    const { received: all, waiting, applied } = deliveries.counts();
    expect(waiting + applied).toBe(all);
  });
});

it('bodies are compressed where that saves room, and come back as they came', () => {
  using test = testInbox();
  const { deliveries } = test.inbox;
  const texts = ['', 'short', '{"products":[]}'.repeat(10_000), randomBytes(50_000).toString('latin1')];
  for (const text of texts) deliveries.store([received(text)]);
  expect(bodies(deliveries)).toEqual(texts.map((text) => Buffer.from(text).toString()));
  expect(deliveries.bytes().stored_bytes).toBeLessThan(90_000);
  expect(deliveries.find(3)).toMatchObject({ length: 150_000, sha256: hash('sha256', texts[2] ?? '') });
});
