import { describe, expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import type { ChangeKind } from '../../src/domain/changes/change.ts';
import type { DateChange } from '../../src/mirror/changes/changes.ts';
import { explainDate } from '../../src/sync/reports/explain-date.ts';

const available = { state: 'available', lowest_price: 900 };
const soldOut = { state: 'sold_out', lowest_price: null };
type Step = readonly [kind: ChangeKind, from?: unknown, to?: unknown];

/** Returns the history of a date in one currency, as `from state`. */
function history(now: typeof available | typeof soldOut, ...steps: readonly Step[]): string[] {
  const changes = steps.map(([kind, old, to], index): DateChange => {
    const detail = old === undefined ? {} : { currency: 'EUR', old, new: to };
    return { at: instant(index + 1), kind, reason: 'cadence-elapsed', detail };
  });
  const read = { currency: 'EUR', checked_at: instant(1), stale: 0 } as const;
  const shown = { ...read, ...now, available: now === available ? 1 : 0 } as const;
  const mirror = { dateNow: () => [shown], changes: { newest: () => 0, ofDate: () => changes } };
  const told = explainDate(mirror, { product_id: 7, claims: [] }, '2026-12-05');
  return told.history.map(({ from, state }) => `${from ?? 'first'} ${state ?? 'not known'}`);
}

describe('the history of a date', () => {
  it('has what its own changes report', () => {
    expect(history(soldOut, ['date_sold_out', available, soldOut])).toEqual(['first available', '1 sold_out']);
    expect(history(available, ['price_changed', 800, 900])).toEqual(['first available', '1 available']);
  });

  it('is not on sale while its product is closed, and afterwards what it became meanwhile', () => {
    const closed = [['date_added', null, available], ['sale_disabled'], ['sale_enabled']] as const;
    expect(history(soldOut, ...closed)).toEqual(['1 available', '2 not_on_sale', '3 sold_out']);
    const back = ['date_back', soldOut, available] as const;
    expect(history(available, ...closed, back)).toEqual(['1 available', '2 not_on_sale', '3 sold_out', '4 available']);
  });

  it('does not guess what it was between two closures', () => {
    const twice = [['dates_withheld'], ['dates_released'], ['sale_disabled']] as const;
    expect(history(available, ...twice)).toEqual(['1 not_on_sale', '2 not known', '3 not_on_sale']);
  });

  it('is not shown while its product is withdrawn, and not on sale where that comes back closed', () => {
    const gone = [['sale_disabled'], ['product_withdrawn'], ['product_returned']] as const;
    expect(history(available, ...gone)).toEqual(['1 not_on_sale', '2 not known', '3 not_on_sale']);
  });
});
