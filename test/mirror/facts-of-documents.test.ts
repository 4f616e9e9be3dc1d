import { describe, expect, it } from 'vitest';
import { factsOf } from '../../src/mirror/catalogue/document-facts.ts';
import { factColumns } from '../../src/mirror/catalogue/product/shown.ts';

const nothing = factsOf({}, factColumns);

function check(document: Record<string, unknown>, expected: Partial<typeof nothing>): void {
  expect(factsOf(document, factColumns), JSON.stringify(document)).toEqual({ ...nothing, ...expected });
}

describe('what a document says of a product', () => {
  it('is nothing where it is empty', () => {
    expect(Object.keys(nothing).length).toBe(13);
    expect(Object.values(nothing).filter((value) => value !== null)).toEqual([]);
  });

  it('is taken from where the service writes it', () => {
    check(
      {
        product_slug: 'louvre-p1',
        product_url: 'https://shop.example/p1',
        summary: 'Short.',
        description: 'Long.',
        duration: '0:15:00',
        languages: ['de', 'en'],
        cancellation: { policy: 'before_date', window: 24 },
        supplier: { name: 'Louvre', city: 'Paris' },
        venue: { id: '7', name: 'Louvre Museum', address: '99 rue de Rivoli' },
        wheelchair_access: false,
        is_package: true,
      },
      {
        slug: 'louvre-p1',
        url: 'https://shop.example/p1',
        summary: 'Short.',
        description: 'Long.',
        duration: '0:15:00',
        languages: '["de","en"]',
        cancellation_policy: 'before_date',
        cancellation_window: 24,
        supplier: 'Louvre',
        venue_name: 'Louvre Museum',
        venue_address: '99 rue de Rivoli',
        wheelchair_access: 0,
        is_package: 1,
      },
    );
  });

  it('is not what has another type: numbers, arrays, empty texts and nulls for texts', () => {
    for (const value of [5, 1.5, true, null, [], ['a'], {}, { name: { name: 'x' } }, ''])
      check(
        {
          product_slug: value,
          product_url: value,
          summary: value,
          description: value,
          duration: value,
          cancellation: { policy: value, window: null },
          supplier: { name: value },
          venue: { name: value, address: value },
        },
        {},
      );
    for (const value of [5, 'text', null, [], ['name'], true])
      check({ cancellation: value, supplier: value, venue: value }, {});
    for (const value of [0, 1, 'true', null, [], {}]) check({ wheelchair_access: value, is_package: value }, {});
    for (const value of ['en', 5, null, { 0: 'en' }]) check({ languages: value }, {});
  });

  it('has of a list of languages those that are texts', () => {
    check({ languages: ['en', 5, null, ['nl'], 'nl'] }, { languages: '["en","nl"]' });
    check({ languages: [] }, { languages: '[]' });
  });

  it('has whole hours of cancellation, none below zero and none beyond a lifetime', () => {
    for (const [window, expected] of [
      [0, 0],
      [24.0, 24],
      [1.5, null],
      [-1, null],
      ['24', null],
      [1e300, null],
      [[24], null],
    ] as const)
      check({ cancellation: { window } }, { cancellation_window: expected });
  });

  it('has no address but that of a page', () => {
    for (const url of ['javascript:alert(1)', 'data:text/html,x', '//shop.example', 'http://', ' https://shop.example'])
      check({ product_url: url }, {});
    check({ product_url: 'HTTP://shop.example/p1' }, { url: 'HTTP://shop.example/p1' });
  });
});
