import { describe, expect, test } from 'vitest';
import type { EpochState } from '../../src/domain/push/callback-epoch.ts';
import type { HeldSubscription } from '../../src/domain/push/subscription.ts';
import { afterSelfTest, type StepFacts, subscriptionStep } from '../../src/domain/push/subscription-step.ts';
import { right, wanted } from './declared-subscription.ts';

const now = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;
const day = 24 * hour;
test('a repair waits for the address to answer, but not for ever: not every network reaches itself', () => {
  expect(afterSelfTest('passed', 0)).toBe('go');
  expect([0, 1, 2, 3, 9].map((failures) => afterSelfTest('failed', failures))).toEqual([
    'wait',
    'wait',
    'wait',
    'go',
    'go',
  ]);
});

const epoch = (number: number, announced_at: number | null, until: number | null = null): EpochState => ({
  epoch: number,
  begun_at: announced_at ?? now,
  announced_at,
  until,
});

describe('the next step of a subscription', () => {
  const facts: StepFacts = {
    failure: null,
    not_before: null,
    can: { put: true, reactivate: true },
    readable: true,
    put_at: now - 2 * day,
    put: 'same',
    wrested_at: null,
    taken: false,
  };
  const announced = [epoch(1, now - day)];
  const degraded = { ...right, status: 'degraded' };
  const cases: [
    title: string,
    held: HeldSubscription | null,
    epochs: EpochState[],
    facts: Partial<StepFacts>,
    expected: object,
  ][] = [
    ['is nothing where nothing differs', right, announced, {}, { step: 'nothing', reason: 'as-declared' }],
    ['is nothing before the first read', null, [], {}, { step: 'nothing', reason: 'not-read' }],
    ['puts one that nobody can read', null, [], { readable: false }, { step: 'put', reason: 'differs' }],
    [
      'is nothing where the service takes none',
      { ...right, entity_ids: [1] },
      announced,
      { put: 'other', can: { put: false, reactivate: false } },
      { step: 'nothing', reason: 'no-path' },
    ],
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
      { step: 'nothing', reason: 'put-today' },
    ],
    ['puts it again after a day', { ...right, entity_ids: [1] }, announced, {}, { step: 'put', reason: 'differs' }],
    [
      'waits for its time',
      { ...right, status: 'missing' },
      announced,
      { not_before: now + hour },
      { step: 'nothing', reason: 'paused' },
    ],
    [
      'waits after a failure, whatever differs',
      { ...right, entity_ids: [1] },
      announced,
      { put: 'other', failure: 'refused', not_before: now + hour },
      { step: 'nothing', reason: 'paused' },
    ],
    ['repairs what is degraded', degraded, announced, {}, { step: 'repair', action: 'reactivate' }],
    [
      'puts what is degraded where the service cannot reactivate',
      degraded,
      announced,
      { can: { put: true, reactivate: false } },
      { step: 'repair', action: 'put' },
    ],
    [
      'waits before the next repair',
      degraded,
      announced,
      { not_before: now + hour },
      { step: 'nothing', reason: 'paused' },
    ],
    [
      'repairs when its time has come',
      degraded,
      announced,
      { not_before: now },
      { step: 'repair', action: 'reactivate' },
    ],
    [
      'does not wait for an instant that no backoff makes',
      degraded,
      announced,
      { not_before: now + 12 * 365 * day },
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
      { taken: true },
      { step: 'put', reason: 'taken' },
    ],
    [
      'and no second time within a day',
      { ...right, address: 'foreign' },
      announced,
      { taken: true, wrested_at: now - 23 * hour },
      { step: 'nothing', reason: 'taken-today' },
    ],
    [
      'but once a day',
      { ...right, address: 'foreign' },
      announced,
      { taken: true, wrested_at: now - day },
      { step: 'put', reason: 'taken' },
    ],
    [
      'nor is it a war where the address may be an old one of our own',
      { ...right, address: 'foreign' },
      announced,
      { put: 'other', wrested_at: now - hour },
      { step: 'put', reason: 'differs' },
    ],
    ['rotates when it is time', right, [epoch(2, now - 30 * day), epoch(1, now - 60 * day)], {}, { step: 'rotate' }],
    ['rotates to its first address', right, [], {}, { step: 'rotate' }],
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
