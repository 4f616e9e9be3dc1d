import { describe, expect, it } from 'vitest';
import { afterChange, announceable, isTrusted, type Trust } from '../../src/domain/push/trust.ts';

const none: Trust = { announced: 0, announceable: 0 };
const course = (from: Trust, was: 'announced' | 'missed', times: number): Trust =>
  Array.from({ length: times }).reduce<Trust>((trust) => afterChange(trust, was), from);

/** How many changes in a row are missed before it is trusted no more. */
function missedUntilDistrust(from: Trust): number {
  let trust = from;
  for (let missed = 1; missed < 100; missed += 1) {
    trust = afterChange(trust, 'missed');
    if (!isTrusted(trust, true)) return missed;
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
      expect(isTrusted(trust, true)).toBe(true);
    }
  });

  it('that loses half is not trusted, and is again when it announces everything for a while', () => {
    let trust = none;
    for (let change = 1; change <= 40; change += 1)
      trust = afterChange(trust, change % 2 === 0 ? 'missed' : 'announced');
    expect(isTrusted(trust, true)).toBe(false);
    expect(isTrusted(course(trust, 'announced', 10), false)).toBe(false);
    expect(isTrusted(course(trust, 'announced', 30), false)).toBe(true);
  });

  it('of which one or two changes are known is believed either way', () => {
    expect(isTrusted(course(none, 'missed', 2), true)).toBe(true);
    expect(isTrusted(course(none, 'announced', 2), false)).toBe(false);
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
