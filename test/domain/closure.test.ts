import { describe, expect, it } from 'vitest';
import type { SaleStatus } from '../../src/domain/catalogue/product.ts';
import {
  type ClosureFacts,
  type ClosureVerdict,
  confirmAt,
  isMisuse,
  judge,
  mayApply,
} from '../../src/domain/sale/closure.ts';

const at = Date.parse('2026-11-21T12:00:00Z');
const minute = 60_000;
const closure = (facts: Partial<ClosureFacts> = {}): ClosureFacts => ({
  notified_at: at,
  applied_at: at,
  available_at: null,
  confirmed_at: null,
  ...facts,
});

describe('a read about a closed product', () => {
  it.each<[string, Partial<ClosureFacts>, SaleStatus, number, ClosureVerdict]>([
    ['sent before the notification came', {}, 'disabled', at - 1, 'undecided'],
    ['sent in the same instant', {}, 'enabled', at, 'undecided'],
    ['of an unknown status', {}, 'unknown', at + 1, 'undecided'],
    ['that says disabled', {}, 'disabled', at + 1, 'confirmed'],
    ['that says disabled after one that said available', { available_at: at + 1 }, 'disabled', at + minute, 'confirmed'],
    ['that says available', {}, 'enabled', at + 1, 'available-once'],
    ['that says so again too soon', { available_at: at + 1 }, 'enabled', at + minute, 'undecided'],
    ['that says so again a minute later', { available_at: at + 1 }, 'enabled', at + 1 + minute, 'undecided'],
    ['that says so again when no cache has the old state', { available_at: at + 1 }, 'enabled', at + 12 * minute, 'undone'],
    ['that says so again too soon, when no cache has the old state', { available_at: at + 11 * minute + 1 }, 'enabled', at + 12 * minute, 'undecided'],
    ['that says so once when no cache has the old state', {}, 'enabled', at + 12 * minute, 'available-once'],
    ['that decides between two announced states', { available_at: at - minute }, 'enabled', at + 1, 'undone'],
    ['that says available after one that said disabled', { confirmed_at: at + 1 }, 'enabled', at + 2, 'reopened'],
    ['that was made before the one that said disabled', { confirmed_at: at + 5 }, 'enabled', at + 2, 'undecided'],
  ])('%s', (_, facts, is, sent_at, verdict) => {
    expect(judge(closure(facts), is, sent_at)).toBe(verdict);
  }); // biome-ignore format: a table

  it('is due 2 and 12 minutes after the notification, and not at all when it was confirmed', () => {
    const next = (sent_at: number, now: number) => confirmAt(closure(), { sent_at, now });
    expect(next(at + 1, at + 5)).toBe(at + 2 * minute);
    expect(next(at + 1, at + 2 * minute)).toBe(at + 12 * minute);
    expect(next(at + 12 * minute, at + 12 * minute)).toBe(at + 13 * minute);
    // A cache has kept its answer since before the notification.
    expect(next(at - minute, at + 12 * minute)).toBe(at + 17 * minute);
    expect(confirmAt(closure({ confirmed_at: at + 5 }), { sent_at: at, now: at })).toBeNull();
  });
});

it('so many closures take effect without a read, and no more', () => {
  expect([4, 5].map((unconfirmed) => mayApply(unconfirmed, 20))).toEqual([true, false]);
  expect([749, 750].map((unconfirmed) => mayApply(unconfirmed, 7500))).toEqual([true, false]);
});

it('hints are misuse when most of the last hundred were not confirmed', () => {
  const last = (undone: number, of: number) =>
    Array.from({ length: of }, (_, index) => ({ confirmed_at: index < undone ? null : at }));
  expect([isMisuse(last(99, 99)), isMisuse(last(50, 100)), isMisuse(last(51, 100))]).toEqual([false, false, true]);
});
