import { describe, expect, it } from 'vitest';
import { windows } from '../../src/dates/availability.rules.ts';
import { callsPerDay, planOf, shareOut } from '../../src/schedule/call-plan.rules.ts';
import type { lanes } from '../../src/schedule/lanes.rules.ts';
import { configOf } from '../config/check.ts';
import { tiers } from '../dates/usual-tiers.ts';

const hour = 3_600_000;
const day = 24 * hour;
const catalogue = {
  groups: [
    {
      on_sale: 7100,
      off_sale: 400,
      dynamic: 0,
      covered: 0,
      covered_dynamic: 0,
      windows: windows(tiers, 31),
      cadence: configOf({ service: { base_url: 'https://api.example.com' } }).cadence,
    },
  ],
  experiences: 1000,
  tags: 0,
  languages: 1,
  currencies: 1,
  page_size: 100,
  resources: new Set([
    'products',
    'experiences',
    'checkout_information',
    'variants',
    'availability',
    'product_detail',
  ] as const),
  walks: { products: 7 * day, experiences: 7 * day, tags: 7 * day },
  extra: null,
  audit: 0,
  look: day,
};
const shares = { checkout: 0, notification: 0, reopening: 0, near: 0.3, far: 0.1, weekly: 0.1, fill: 0 };
const line = (what: string) => planOf(catalogue).find((each) => each.what === what)?.calls_per_day ?? 0;

describe('a plan', () => {
  it('reads near dates four times a day and far ones once, a percent sooner than promised', () => {
    expect(line('near and middle dates')).toBeCloseTo((7100 * 4) / 0.99, 6);
    expect(line('far dates')).toBeCloseTo((7100 * 2) / 0.99, 6);
    expect(line('product list')).toBeCloseTo(75 / 7 / 0.99, 6);
    expect(line('looks at products off sale')).toBeCloseTo(400, 0);
  });

  it('reads dates from day 92 on every 8 days where that is configured, and else as often as far ones', () => {
    const callsOf = (beyond: { days: number; every: number | null }, horizon = 365) => {
      const [group] = catalogue.groups;
      if (group === undefined) throw new Error('there is a group');
      const own = windows({ ...tiers, horizon, beyond }, 31);
      const lines = planOf({ ...catalogue, groups: [{ ...group, on_sale: 7494, windows: own }] });
      return ['far dates', 'dates beyond the far ones'].map(
        (what) => lines.find((each) => each.what === what)?.calls_per_day ?? 0,
      );
    };
    expect(callsOf({ days: 92, every: null })).toEqual([(7494 * 11) / 0.99, 0]);
    const [far = 0, beyond = 0] = callsOf({ days: 92, every: 8 * day });
    expect(far).toBeCloseTo((7494 * 2) / 0.99, 6);
    expect(beyond).toBeCloseTo((7494 * 9) / 8 / 0.99, 6);
    // Within the horizon there is nothing beyond.
    expect(callsOf({ days: 92, every: 8 * day }, 92)[1]).toBe(0);
  });

  it('walks the list of tags once a week in each language, page by page, and in no further currency', () => {
    const tagged = { ...catalogue, tags: 201, resources: new Set([...catalogue.resources, 'tags'] as const) };
    const tags = (other: object) => planOf({ ...tagged, ...other }).find(({ what }) => what === 'tags');
    expect(tags({})?.calls_per_day).toBeCloseTo(3 / 7 / 0.99, 6);
    expect(tags({ languages: 3, currencies: 4 })).toMatchObject({ lane: 'weekly', records: 3 });
    expect(tags({ languages: 3, currencies: 4 })?.calls_per_day).toBeCloseTo((3 * 3) / 7 / 0.99, 6);
    expect(line('tags')).toBe(0);
  });

  it('counts what a longer horizon, a language or a currency adds', () => {
    const more = (other: object) => callsPerDay(planOf({ ...catalogue, ...other })) - callsPerDay(planOf(catalogue));
    expect(more({ currencies: 2 })).toBeGreaterThan(7100 * 6);
    expect(more({ languages: 2 })).toBeCloseTo((7500 * (2 / 7 + 1 / 28) + 75 / 7) / 0.99, 0);
  });

  it('makes one call in a hundred at random, of the extra reads where there are any, beside the promises where not', () => {
    const audited = planOf({ ...catalogue, audit: 0.01 });
    const promised = callsPerDay(planOf(catalogue));
    expect(audited.find(({ lane }) => lane === 'audit')?.calls_per_day).toBeCloseTo(promised / 100, 6);
    expect(callsPerDay(audited)).toBeCloseTo(1.01 * promised, 6);
    const extra = { share: 0.25, times: 5, rate: 864_000, most: 100 };
    const [without, beside] = [0, 0.01].map((audit) => callsPerDay(planOf({ ...catalogue, extra, audit })));
    expect(beside).toBeCloseTo(without ?? 0, 6);
    expect(beside).toBeCloseTo(216_000, 6);
  });

  it('counts what subscriptions save: checkout information and variants every 28 days, but for dynamic prices', () => {
    const [group] = catalogue.groups;
    const covered = {
      ...catalogue,
      groups: [{ ...group, dynamic: 500, covered: 7500, covered_dynamic: 500 }],
    } as never;
    const calls = (what: string) => planOf(covered).find((each) => each.what === what)?.calls_per_day ?? 0;
    expect(calls('variants')).toBeCloseTo(7500 / 28 / 0.99, 6);
    expect(calls('checkout information')).toBeCloseTo((7000 / 28 + 500) / 0.99, 6);
  });

  it('gives each lane its reserved share first, and what is left in order', () => {
    const lines = planOf(catalogue);
    const enough = shareOut(lines, shares, 10);
    expect(enough.every(({ wanted, got }) => got === wanted)).toBe(true);
    const scarce = shareOut(lines, shares, 0.3);
    const got = (lane: (typeof lanes)[number]) => scarce.find((each) => each.lane === lane)?.got ?? 0;
    expect(got('weekly')).toBeCloseTo(
      Math.min(0.1 * 0.3 * 86_400, scarce.find(({ lane }) => lane === 'weekly')?.wanted ?? 0),
      6,
    );
    expect(scarce.reduce((sum, each) => sum + each.got, 0)).toBeCloseTo(0.3 * 86_400, 6);
    expect(got('far')).toBeLessThan(line('far dates'));
  });
});
