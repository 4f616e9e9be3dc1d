import { describe, expect, it } from 'vitest';
import { changeText } from '../../src/admin/page/change-text.ts';
import type { ChangeKind } from '../../src/domain/changes/change.ts';
import { changes } from '../../src/mirror/contract/mirror.ts';
import { now } from './known-status.ts';

/** Details of each kind, and the rest of the sentence that begins with the product's title. */
const cases: Readonly<
  Record<ChangeKind, readonly [detail: object, of: { date?: string; language?: string }, text: string]>
> = {
  product_added: [{ title: 'Tower' }, {}, 'is new'],
  product_changed: [
    { fields: ['description', 'whats_included', 'a', 'b', 'c'] },
    { language: 'de' },
    'has changed in de: description, whats included, a, b and 1 more',
  ],
  product_withdrawn: [{ reason: 'not_listed' }, {}, 'was withdrawn (not listed)'],
  product_returned: [{ withdrawn_at: 1 }, {}, 'is listed again'],
  sale_disabled: [
    { reason: 'temporary_closure', expected_reopening: 'within_7_days' },
    {},
    'was closed (temporary closure), expected back within 7 days',
  ],
  sale_enabled: [{}, {}, 'is on sale again'],
  dates_withheld: [{}, {}, 'was closed: none of its dates is on sale'],
  dates_released: [{}, {}, 'is on sale again, with its dates'],
  price_changed: [
    { currency: 'EUR', old: 1100, new: 1250 },
    { date: '2026-11-22' },
    'has another price: its cheapest ticket on 2026-11-22 is 12.50 EUR, and was 11.00 EUR',
  ],
  date_added: [{}, { date: '2026-11-22' }, 'can be booked on 2026-11-22: a new date'],
  date_sold_out: [{}, { date: '2026-11-22' }, 'is sold out on 2026-11-22'],
  date_back: [{}, { date: '2026-11-22' }, 'can be booked again on 2026-11-22'],
  image_added: [{ image_key: 'a', credit: 'Photo: B' }, {}, 'has a new image (Photo: B)'],
  image_credit_changed: [{ old: 'A', new: null }, {}, 'has an image with another credit: none instead of A'],
  image_withdrawn: [{ image_key: 'a', credit: null }, {}, 'has lost an image'],
  checkout_changed: [
    { fields: ['must_know'] },
    { language: 'en' },
    'has changed checkout information in en: must know',
  ],
  variants_changed: [{ variant_ids: [1, 2] }, {}, 'has 2 changed tickets'],
  slots_changed: [{ dates: ['2026-11-22'] }, {}, 'has changed times, prices or limits on 1 date'],
  images_changed: [{ image_keys: ['a'] }, {}, 'has 1 changed image'],
  prices_changed: [{ currency: 'JPY', old: null, new: 900 }, {}, 'has a price: its price is 900 JPY'],
  experience_changed: [{ experience_ids: [1] }, {}, 'has joined or left 1 experience'],
  held: [{ subject: 'near-dates' }, {}, 'is held: too many answers make the same claim (near dates)'],
  tags_changed: [{ tag_ids: [1] }, {}, 'has other tags'],
  pass_completed: [{ from: 1, to: 2 }, {}, 'was read'],
};

const change = (kind: string, detail: string, of: { date?: string; language?: string } = {}) =>
  changeText({ seq: 1, at: now, product_id: 1, kind, language: of.language ?? null, date: of.date ?? null, detail });

describe('a change of the feed as a sentence', () => {
  it.each(Object.entries(cases))('%s', (kind, [detail, of, text]) => {
    expect(change(kind, JSON.stringify(detail), of)).toBe(text);
  });

  it('names a price that is gone', () => {
    expect(change('price_changed', '{"currency":"EUR","old":1100,"new":null}')).toBe(
      'has no price any more: its price was 11.00 EUR',
    );
  });

  it('is there for every kind that the contract has, for one that it does not know, and for a detail that cannot be read', () => {
    expect(Object.keys(cases).sort()).toEqual([...(changes.columns.kind.words ?? [])].sort());
    expect(change('gate_moved', '{}')).toBe('has changed: gate moved');
    for (const kind of Object.keys(cases))
      for (const detail of ['', '[]', '"x"', '{"fields":3,"old":{},"new":[]}']) change(kind, detail);
  });
});
