import { expect, it } from 'vitest';
import { isHeldOnly, missedTargets } from '../../../src/says/conditions/ages.rules.ts';
import { healthy } from './healthy-facts.ts';

it('a promised age is broken by its own line, also while the service is away; and none before the first fill has ended', () => {
  const line = {
    resource: 'availability',
    tier: 'near',
    records: 12,
    stale: 3,
    expired: 1,
    oldest_checked_at: null,
    target_ms: 6 * 3_600_000,
  };
  const freshness = [
    { ...line, met: 0 as const },
    { ...line, tier: null, resource: 'variants', met: 1 as const },
  ];
  expect(missedTargets({ ...healthy, filled_at: 1, freshness })).toMatchObject([
    {
      code: 'freshness:availability/near',
      says: '3 of 12 records were not read within 6 h, 1 are past their limit and hidden',
    },
  ]);
  expect(missedTargets({ ...healthy, filled_at: null, freshness })).toEqual([]);
});

it.each([
  ['near', 3, 0, true],
  ['near', 4, 0, false],
  ['near', 3, 1, false],
  ['far', 3, 0, false],
])(
  'of %s dates, %i late and %i hidden, where 3 near ones are held: that they are held is all: %s',
  (tier, stale, expired, only) => {
    const line = {
      resource: 'availability',
      tier,
      records: 12,
      stale,
      expired,
      oldest_checked_at: null,
      target_ms: 1,
    };
    const held = [
      { ...undecided, subject: 'near-dates', state: 'held', claiming: 3 },
      { ...undecided, subject: 'far-dates', state: 'ended', claiming: 3 },
    ] as const;
    const age = { code: 'freshness:availability/near', since: null, says: '', line: { ...line, met: 0 as const } };
    expect(isHeldOnly(age, held)).toBe(only);
  },
);

const undecided = {
  since: 1,
  able: 12,
  examples: [],
  decision: null,
  decided_until: null,
  ended_at: null,
  likeness: null,
};
