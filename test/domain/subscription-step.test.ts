import { describe, expect, test } from 'vitest';
import type { EpochState } from '../../src/domain/push/callback-epoch.ts';
import { changeTypes, type HeldSubscription, type WantedSubscription } from '../../src/domain/push/subscription.ts';
import { afterSelfTest, repairOf, type StepFacts, subscriptionStep } from '../../src/domain/push/subscription-step.ts';

const now = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;
const day = 24 * hour;
const wanted: WantedSubscription = {
  subscription_id: 'all',
  declared_id: 'all',
  type: 'product_ids',
  entity_ids: [1, 2, 3],
  change_types: [...changeTypes],
};
const right: HeldSubscription = {
  type: 'product_ids',
  entity_ids: [3, 2, 1],
  change_types: [...changeTypes].reverse(),
  status: 'active',
  address: 'current',
};

describe('a repair', () => {
  const facts = { failures: 0, not_before: null, can: { reactivate: true } };
  const cases: [title: string, status: string | null, facts: Parameters<typeof repairOf>[1], expected: object][] = [
    ['is not needed where it works', 'active', facts, { action: 'nothing' }],
    ['is not needed before it was ever asked', null, facts, { action: 'nothing' }],
    ['reactivates a degraded one after a self-test', 'degraded', facts, { action: 'reactivate', self_test: true }],
    ['reactivates a failed one after a self-test', 'failed', facts, { action: 'reactivate', self_test: true }],
    [
      'puts it again where the service cannot reactivate',
      'degraded',
      { ...facts, can: { reactivate: false } },
      { action: 'put', self_test: true },
    ],
    ['creates a cancelled one again', 'cancelled', facts, { action: 'recreate', self_test: false }],
    ['creates one that is gone again', 'missing', facts, { action: 'recreate', self_test: false }],
    ['waits for its time', 'degraded', { ...facts, not_before: now + hour }, { action: 'wait', until: now + hour }],
    [
      'comes when its time has come',
      'degraded',
      { ...facts, not_before: now },
      { action: 'reactivate', self_test: true },
    ],
    [
      'does not wait for an instant that no backoff makes',
      'degraded',
      { ...facts, not_before: now + 12 * 365 * day },
      { action: 'reactivate', self_test: true },
    ],
  ];
  test.each(cases)('%s', (_, status, given, expected) => {
    expect(repairOf(status, given, now)).toEqual(expected);
  });

  test('waits for the address to answer, but not for ever: not every network reaches itself', () => {
    expect(afterSelfTest('passed', { failures: 0 })).toBe('go');
    expect(afterSelfTest('skipped', { failures: 0 })).toBe('go');
    expect([0, 1, 2, 3, 9].map((failures) => afterSelfTest('failed', { failures }))).toEqual([
      'wait',
      'wait',
      'wait',
      'go',
      'go',
    ]);
  });
});

const epoch = (number: number, announced_at: number | null, until: number | null = null): EpochState => ({
  epoch: number,
  begun_at: announced_at ?? now,
  announced_at,
  until,
});

describe('the next step of a subscription', () => {
  const facts: StepFacts = {
    failures: 0,
    failure: null,
    not_before: null,
    can: { reactivate: true },
    put_at: now - 2 * day,
    put: 'same',
    wrested_at: null,
    foreign: 'theirs',
  };
  const announced = [epoch(1, now - day)];
  const cases: [
    title: string,
    held: HeldSubscription | null,
    epochs: EpochState[],
    facts: Partial<StepFacts>,
    expected: object,
  ][] = [
    ['is nothing where nothing differs', right, announced, {}, { step: 'nothing' }],
    ['puts what is not there', { ...right, status: 'missing' }, [], {}, { step: 'put', reason: 'missing' }],
    ['puts what was cancelled', { ...right, status: 'cancelled' }, announced, {}, { step: 'put', reason: 'cancelled' }],
    [
      'puts what differs',
      { ...right, entity_ids: [1] },
      announced,
      { put: 'other' },
      { step: 'put', reason: 'differs' },
    ],
    [
      'does not put within a day what was just accepted',
      { ...right, entity_ids: [1] },
      announced,
      { put_at: now - hour },
      { step: 'nothing' },
    ],
    ['puts it again after a day', { ...right, entity_ids: [1] }, announced, {}, { step: 'put', reason: 'differs' }],
    ['waits for its time', { ...right, status: 'missing' }, announced, { not_before: now + hour }, { step: 'nothing' }],
    [
      'repairs what is degraded',
      { ...right, status: 'degraded' },
      announced,
      {},
      { step: 'repair', action: 'reactivate' },
    ],
    [
      'puts a difference before it repairs',
      { ...right, status: 'degraded', entity_ids: [1] },
      announced,
      { put: 'other' },
      { step: 'put', reason: 'differs' },
    ],
    [
      'puts once against an address that is not ours',
      { ...right, address: 'foreign' },
      announced,
      {},
      { step: 'put', reason: 'taken' },
    ],
    [
      'and no second time within a day',
      { ...right, address: 'foreign' },
      announced,
      { wrested_at: now - 23 * hour },
      { step: 'nothing' },
    ],
    [
      'but once a day',
      { ...right, address: 'foreign' },
      announced,
      { wrested_at: now - day },
      { step: 'put', reason: 'taken' },
    ],
    [
      'nor is it a war where the address may be an old one of our own',
      { ...right, address: 'foreign' },
      announced,
      { foreign: 'perhaps ours', put: 'other', wrested_at: now - hour },
      { step: 'put', reason: 'differs' },
    ],
    ['rotates when it is time', right, [epoch(1, now - 31 * day)], {}, { step: 'rotate' }],
    [
      'tells the service of a new address',
      { ...right, address: 'grace' },
      [epoch(1, now - day), epoch(2, null)],
      {},
      { step: 'put', reason: 'rotation' },
    ],
    ['knows that the service has it already', right, [epoch(1, now - day), epoch(2, null)], {}, { step: 'announced' }],
  ];
  test.each(cases)('%s', (_, held, epochs, given, expected) => {
    expect(subscriptionStep(wanted, held, epochs, { ...facts, ...given }, { rotate_every: 30 * day, now })).toEqual(
      expected,
    );
  });
});
