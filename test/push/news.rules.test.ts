import { describe, expect, it } from 'vitest';
import { isMute } from '../../src/push/mute.rules.ts';
import {
  awaitedMembers,
  isStillOld,
  NewsBudget,
  rereadAfterNews,
  type ShownDocument,
} from '../../src/push/news.rules.ts';

const minute = 60_000;
const product = (document: ShownDocument['document'], language = 'en'): ShownDocument => ({
  resource: 'product_detail',
  language,
  document,
});
const checkout = (document: ShownDocument['document']): ShownDocument => ({
  resource: 'checkout_information',
  language: 'en',
  document,
});

it('an announcement that no read shows is looked for after 2 and after 12 minutes, and not again', () => {
  const looks = [0, 2 * minute - 1, 2 * minute, 12 * minute - 1, 12 * minute].map((now) => rereadAfterNews(0, now));
  expect(looks).toEqual([2 * minute, 2 * minute, 12 * minute, 12 * minute, null]);
});

describe('an announced value', () => {
  const field = (old_value: unknown, new_value: unknown) => [{ field: 'summary', old_value, new_value }];

  it.each<[string, ShownDocument[], ReturnType<typeof field>, [string, string][]]>([
    ['is awaited where the old one is shown', [product({ summary: 'a' })], field('a', 'b'), [['product_detail', 'en']]],
    ['is awaited in the record that has the field', [product({}), checkout({ summary: 'a' })], field('a', 'b'), [['checkout_information', 'en']]],
    ['is awaited in the language of the old one', [product({ summary: 'x' }, 'de'), product({ summary: 'a' })], field('a', 'b'), [['product_detail', 'en']]],
    ['is awaited where neither is shown', [product({ summary: 'c' })], field('a', 'b'), [['product_detail', 'en']]],
    ['is awaited where there was none', [product({ summary: null })], field(null, 'b'), [['product_detail', 'en']]],
    ['is not awaited where it is shown', [product({ summary: 'b' })], field('a', 'b'), []],
    ['is not awaited where it is shown with other line endings', [product({ summary: 'b\r\nc' })], field('a', 'b\nc'), []],
    ['is not awaited in a field that is not mirrored', [product({ title: 'a' })], field('a', 'b'), []],
    ['is not awaited where no value was announced', [product({ summary: 'a' })], field('a', undefined), []],
  ])('%s', (_, documents, updated, expected) => {
    expect(awaitedMembers(documents, updated).map(({ resource, language }) => [resource, language])).toEqual(expected);
  }); // biome-ignore format: a table

  it('is awaited until the document has another value, whichever that is', () => {
    const [member] = awaitedMembers([product({ summary: 'a' })], field('a', 'b'));
    if (member === undefined) throw new Error('nothing is awaited');
    expect([{ summary: 'a' }, { summary: 'b' }, { summary: 'c' }, {}].map((now) => isStillOld(member, now))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(JSON.stringify(member)).not.toContain('"a"');
  });
});

it('looks take three in a hundred calls of the learned rate, however many are announced', () => {
  const budget = new NewsBudget(() => 10);
  let granted = 0;
  for (let now = 0; now < 3_600_000; now += 100) if (budget.takes(now)) granted += 1;
  expect(granted / 36_000).toBeCloseTo(0.03, 2);
});

const hour = 3_600_000;
const start = Date.parse('2026-11-02T08:00:00Z');

/** Deliveries every hour of working days for three weeks. */
const workdays = Array.from({ length: 21 * 24 }, (_, each) => start + each * hour).filter((at) => {
  const date = new Date(at);
  return date.getUTCHours() >= 8 && date.getUTCHours() < 18 && date.getUTCDay() % 6 !== 0;
});
const last = workdays.at(-1) ?? 0;
const always = Array.from({ length: 96 }, (_, each) => start + each * hour);

it.each([
  ['is not mute over a weekend that is like the others', workdays, last + 63 * hour, false],
  ['is mute when a silence outlasts its weekends by half', workdays, last + 96 * hour, true],
  ['that sends every hour is mute within a day', always, start + 95 * hour + 9 * hour, true],
  ['that sends every hour is not mute after five hours', always, start + 95 * hour + 5 * hour, false],
  ['of a few deliveries has no quirk', always.filter((_, each) => each % 12 === 0), start + 1000 * hour, false],
  ['of a single day has no quirk', always.slice(0, 24), start + 100 * hour, false],
  ['that never sent has no quirk', [], start, false],
])('a subscription %s', (_, times, now, expected) => {
  expect(isMute(times, now)).toBe(expected);
});
