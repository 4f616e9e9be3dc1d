import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { expectNotices } from '../../src/push/announcement-trust.ts';
import type { WantedSubscription } from '../../src/push/subscription.rules.ts';
import { healMirror } from '../../src/schedule/heal-instants.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { testSync } from '../fakes/test-sync.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const now = instant(Date.parse('2026-11-21T12:30:00Z'));
const wrong = instant(Date.parse('2038-01-19T03:14:07Z'));
const closed = {
  outcome: 'changed',
  was: 'enabled',
  is: 'disabled',
  sale: 'neither',
  repriced: false,
  by_rate: false,
  detail_doubted: false,
  fields: [],
} as const;

it('a change since a read that a wrong clock dated counts against nobody', () => {
  using test = testMirror();
  const { mirror } = test;
  mirror.transaction(() =>
    expectNotices(testSync({ mirror }), { product_id: 1, sent_at: now }, { ...closed, before_at: wrong }),
  );
  expect(mirror.push.notices.ripe({ found_before: now })).toEqual([]);
});

it('a change that was found while the clock was wrong does not stand in the way of those found since', () => {
  using test = testMirror();
  const { mirror } = test;
  for (const sent_at of [wrong, now]) {
    mirror.transaction(() =>
      expectNotices(
        testSync({ mirror }),
        { product_id: 1, sent_at: instant(sent_at) },
        { ...closed, before_at: instant(now - 1000) },
      ),
    );
    healMirror(mirror, now);
  }
  expect(mirror.push.notices.ripe({ found_before: now })).toMatchObject([{ product_id: 1, found_at: now }]);
});

it('a subscription that began to cover a product while the clock was wrong can miss changes again', async () => {
  await using harness = await filledHarness({ lean: true, products: 5 });
  const { mirror } = harness.daemon;
  const [product_id = 0, ...others] = mirror.catalogue.products.ids();
  const entity_ids = [product_id, ...others];
  const wanted = { subscription_id: 'all', declared_id: 'all', type: 'product_ids' } as WantedSubscription;
  const held = { type: 'product_ids', change_types: ['checkout_disabled'], address: 'ours', epoch: 1 } as const;
  mirror.transaction(() => {
    mirror.push.subscriptions.declare([wanted]);
    mirror.push.subscriptions.learn('all', { ...held, status: 'active', entity_ids, at: now });
    mirror.push.coverage.cover(instant(wrong));
  });
  healMirror(mirror, now);
  const change = { product_id, change_type: 'checkout_disabled', since_at: now, found_at: now } as const;
  expect(mirror.push.notices.announcers(change)).toMatchObject([{ covered_since: now }]);
  // As a version wrote it that noted this a minute later.
  const db = new Database(mirror.path);
  db.exec('UPDATE _subscription_product SET since_at = NULL');
  db.close();
  expect(mirror.push.notices.announcers(change)).toEqual([]);
  const later = instant(now + 60_000);
  mirror.transaction(() => mirror.push.coverage.cover(later));
  expect(mirror.push.notices.announcers(change)).toMatchObject([{ covered_since: later }]);
});

it('a change that a cache hid from the read after its announcement was announced', () => {
  using test = testMirror();
  const { mirror } = test;
  mirror.transaction(() =>
    expectNotices(
      testSync({ mirror }),
      { product_id: 1, sent_at: now },
      { ...closed, before_at: instant(now - 600_000) },
    ),
  );
  expect(mirror.push.notices.ripe({ found_before: now })).toMatchObject([{ since_at: now - 1_200_000, found_at: now }]);
});
