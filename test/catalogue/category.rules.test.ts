import { expect, it } from 'vitest';
import { categoryOf, faded } from '../../src/catalogue/category.rules.ts';

const facts = {
  product_id: 7,
  experience_ids: [1, 2],
  city_id: 113,
  tag_ids: [601, 602],
  supplier: 'Lantern Foundation',
  dynamic_pricing: false,
  seller_rank: 12,
};

it.each([
  [{ product_ids: [7, 8] }, true],
  [{ experience_ids: [2, 9] }, true],
  [{ city_ids: [114] }, false],
  [{ tag_ids: [602] }, true],
  [{ supplier: 'lantern foundation' }, true],
  [{ dynamic_pricing: true }, false],
  [{ top_sellers: 12 }, true],
  [{ top_sellers: 11 }, false],
  [{ city_ids: [113], tag_ids: [1] }, false],
])('the conditions %j hold for a product, or not', (match, expected) => {
  expect(categoryOf([{ name: 'c', match }], facts)).toBe(expected ? 'c' : null);
});

it('the first category that matches is the one', () => {
  const categories = [
    { name: 'Rome', match: { city_ids: [5] } },
    { name: 'towers', match: { tag_ids: [601] } },
    { name: 'all of the city', match: { city_ids: [113] } },
  ];
  expect(categoryOf(categories, facts)).toBe('towers');
});

it('a product without sales is no top seller, and one without a city is of none', () => {
  expect(categoryOf([{ name: 'top', match: { top_sellers: 1000 } }], { ...facts, seller_rank: null })).toBe(null);
  expect(categoryOf([{ name: 'city', match: { city_ids: [113] } }], { ...facts, city_id: null })).toBe(null);
});

it('a sale counts half after thirty days', () => {
  const at = Date.parse('2026-11-21');
  expect(faded(at + 30 * 86_400_000, 8, at)).toBeCloseTo(4, 9);
  expect(faded(at - 86_400_000, 8, at)).toBe(8);
  expect(faded(at, 8, null)).toBe(0);
});
