import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import { type Inbox, openInbox } from '../../src/inbox/inbox.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { master, testInbox } from './test-receiver.ts';

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
    expect(addresses.current('norland', instant(day))).toBe(2);
    expect(standings(inbox, 2 * day)).toEqual(['current', 'current', null]);
    addresses.announced('norland', 2, instant(3 * day), grace);
    expect(standings(inbox, 3 * day)).toEqual(['grace', 'current', null]);
    expect(standings(inbox, 10 * day - 1)).toEqual(['grace', 'current', null]);
    expect(standings(inbox, 10 * day)).toEqual(['dropped', 'current', null]);
    expect(addresses.recognise('A'.repeat(43), instant(0))).toBeNull();
    expect(addresses.recognise('', instant(0))).toBeNull();
  });

  it('killed between any two steps goes on where it was, and refuses neither address', () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'inbox.db');
    const steps: ((inbox: Inbox) => void)[] = [
      ({ addresses }) => addresses.current('norland', instant(0)),
      ({ addresses }) => addresses.announced('norland', 1, instant(1), grace),
      ({ addresses }) => addresses.begin('norland', instant(2)),
      // The answer to the first PUT was lost, and a second start begins again.
      ({ addresses }) => addresses.begin('norland', instant(3)),
      ({ addresses }) => addresses.announced('norland', 2, instant(4), grace),
      ({ addresses }) => addresses.announced('norland', 2, instant(5 * day), grace),
    ];
    for (const [done, step] of steps.entries()) {
      using inbox = openInbox(path, { master, now: instant(0) });
      step(inbox);
      const accepted = standings(inbox, 5, 2).map((standing) => standing === 'current' || standing === 'grace');
      expect(accepted, `after step ${done}`).toEqual([true, done >= 2]);
    }
    using inbox = openInbox(path, { master, now: instant(0) });
    expect(inbox.addresses.states()).toEqual([
      { subscription_id: 'norland', epoch: 1, begun_at: 0, announced_at: 1, until: 4 + grace },
      { subscription_id: 'norland', epoch: 2, begun_at: 2, announced_at: 4, until: null },
    ]);
    expect(inbox.addresses.masterChanged()).toBe(false);
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

describe('another master secret', () => {
  it('is noticed at the start, and leaves every subscription an address that is still to be announced', () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'inbox.db');
    const open = (secret: string) => openInbox(path, { master: { reveal: () => secret }, now: instant(5) });
    let old: string;
    {
      using inbox = open('first');
      inbox.addresses.announced('norland', inbox.addresses.current('norland', instant(0)), instant(1), grace);
      inbox.addresses.announced('norland', inbox.addresses.begin('norland', instant(2)), instant(2), grace);
      old = inbox.addresses.token('norland', 2);
    }
    {
      using inbox = open('second');
      expect(inbox.addresses.masterChanged()).toBe(true);
      expect(inbox.addresses.recognise(old, instant(3))).toBeNull();
    }
    // Killed before the service was told: the next start does not notice again, but has not forgotten.
    using inbox = open('second');
    expect(inbox.addresses.masterChanged()).toBe(false);
    expect(inbox.addresses.states()).toEqual([
      { subscription_id: 'norland', epoch: 3, begun_at: 5, announced_at: null, until: null },
    ]);
    expect(inbox.addresses.recognise(inbox.addresses.token('norland', 3), instant(6))?.standing).toBe('current');
  });
});
