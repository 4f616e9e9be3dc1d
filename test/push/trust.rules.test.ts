import { describe, expect, it } from 'vitest';
import {
  afterChange,
  announceable,
  isTrusted,
  neededShare,
  type Trust,
} from '../../src/push/announcement-trust.rules.ts';

const none: Trust = { announced: 0, announceable: 0 };
/** Four weeks instead of one. */
const needed = neededShare([{ own: 7, covered: 28 }]);
const course = (from: Trust, was: 'announced' | 'missed', times: number): Trust =>
  Array.from({ length: times }).reduce<Trust>((trust) => afterChange(trust, was), from);

/** How many changes in a row are missed before it is trusted no more. */
function missedUntilDistrust(from: Trust): number {
  let trust = from;
  for (let missed = 1; missed < 100; missed += 1) {
    trust = afterChange(trust, 'missed');
    if (!isTrusted(trust, needed, true)) return missed;
  }
  return Number.POSITIVE_INFINITY;
}

describe('a subscription', () => {
  it('that falls silent is noticed before twenty changes are missed, however long it was good', () => {
    expect(missedUntilDistrust(none)).toBeLessThan(5);
    expect(missedUntilDistrust(course(none, 'announced', 10_000))).toBeLessThan(10);
  });

  it('that loses one in ten stays trusted', () => {
    let trust = none;
    for (let change = 1; change <= 2000; change += 1) {
      trust = afterChange(trust, change % 10 === 0 ? 'missed' : 'announced');
      expect(isTrusted(trust, needed, true)).toBe(true);
    }
  });

  it('that loses half is not trusted, and is again when it announces everything for a while', () => {
    let trust = none;
    for (let change = 1; change <= 40; change += 1)
      trust = afterChange(trust, change % 2 === 0 ? 'missed' : 'announced');
    expect(isTrusted(trust, needed, true)).toBe(false);
    expect(isTrusted(course(trust, 'announced', 10), needed, false)).toBe(false);
    expect(isTrusted(course(trust, 'announced', 30), needed, false)).toBe(true);
  });

  it('of which one or two changes were missed is believed', () => {
    expect(isTrusted(none, needed, true)).toBe(true);
    expect(isTrusted(course(none, 'missed', 2), needed, true)).toBe(true);
  });

  it.each([
    ['four weeks instead of one', [{ own: 7, covered: 28 }], 0.75],
    [
      'the most of several',
      [
        { own: 7, covered: 14 },
        { own: 30, covered: 120 },
      ],
      0.75,
    ],
    ['nothing is read less often: half', [{ own: 7, covered: 7 }], 0.5],
    ['the own cadence is the longer one: half', [{ own: 28, covered: 7 }], 0.5],
    ['a year instead of a week: no more than can be told', [{ own: 7, covered: 365 }], 0.9],
  ])('must announce as much as reading less often leaves to it: %s', (_, cadences, share) => {
    expect(neededShare(cadences)).toBe(share);
  });

  it('that loses three in ten is trusted where little is left to it, and not where much is', () => {
    let trust = none;
    for (let change = 1; change <= 200; change += 1)
      trust = afterChange(trust, change % 10 < 3 ? 'missed' : 'announced');
    expect(isTrusted(trust, 0.5, true)).toBe(true);
    expect(isTrusted(trust, 0.9, true)).toBe(false);
  });
});

describe('a change that a read found', () => {
  it.each([
    ['of the sale status, to closed', ['enabled', 'disabled', []], ['checkout_disabled']],
    ['of the sale status, to open', ['disabled', 'enabled', []], ['checkout_enabled']],
    ['of a field that the specification names', ['enabled', 'enabled', ['whats_included', 'ratings']], ['product_details_update']],
    ['of both', ['enabled', 'disabled', ['tag_ids']], ['checkout_disabled', 'product_details_update']],
    ['of a field that it does not name', ['enabled', 'enabled', ['ratings', 'promo_label']], []],
    ['from a status that nobody knew', ['unknown', 'enabled', []], []],
    ['in the first read', [null, 'enabled', []], []],
  ] as const)('%s', (_, [was, is, fields], types) => {
    expect(announceable(was, is, fields)).toEqual(types);
  }); // biome-ignore format: a table
});
