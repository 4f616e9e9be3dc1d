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
