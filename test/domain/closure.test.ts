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
    ['that says so again a minute later', { available_at: at + 1 }, 'enabled', at + 1 + minute, 'undone'],
    ['that says available after one that said disabled', { confirmed_at: at + 1 }, 'enabled', at + 2, 'reopened'],
  ])('%s', (_, facts, is, sent_at, verdict) => {
    expect(judge(closure(facts), is, sent_at)).toBe(verdict);
  }); // biome-ignore format: a table

  it('is due at once, a minute after one that said available, and not at all when it was confirmed', () => {
    expect(confirmAt(closure())).toBe(at);
    expect(confirmAt(closure({ available_at: at + 5 }))).toBe(at + 5 + minute);
    expect(confirmAt(closure({ confirmed_at: at + 5 }))).toBeNull();
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
