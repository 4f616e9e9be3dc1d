import { describe, expect, it } from 'vitest';
import { factsOf } from '../../src/mirror/catalogue/document-facts.ts';
import { factColumns } from '../../src/mirror/catalogue/product/shown.ts';

const nothing = factsOf({}, factColumns);

function check(document: Record<string, unknown>, expected: Partial<typeof nothing>): void {
  expect(factsOf(document, factColumns), JSON.stringify(document)).toEqual({ ...nothing, ...expected });
}

describe('what a document says of a product', () => {
  it('is nothing where it is empty', () => {
    expect(Object.keys(nothing).length).toBe(34);
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
        highlights: ['The roof'],
        whats_included: '* Entry',
        whats_excluded: '* Food',
        marketing_restrictions: ['no_brand_bidding'],
        promo_label: 'bestseller',
        discount_percentage: 12.5,
        skip_line: true,
        smartphone_ticket: false,
        instant_ticket_delivery: true,
        advance_arrival_time: '00:20',
        last_admission_window: '01:00:00',
        starting_point: { address: 'Quay 1', label: 'The gate', city_id: '60', lat: 52.5, lng: 4 },
        live_guide_languages: ['nl'],
        audio_guide_languages: 'en',
        package_products: [5, 'six'],
        in_packages: [7],
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
        duration_minutes: 15,
        highlights: '["The roof"]',
        whats_included: '* Entry',
        whats_excluded: '* Food',
        marketing_restrictions: '["no_brand_bidding"]',
        promo_label: 'bestseller',
        discount_percentage: 12.5,
        skip_line: 1,
        smartphone_ticket: 0,
        instant_ticket_delivery: 1,
        advance_arrival_minutes: 20,
        last_admission_minutes: 60,
        starting_point_address: 'Quay 1',
        starting_point_label: 'The gate',
        starting_point_city_id: 60,
        starting_point_latitude: 52.5,
        starting_point_longitude: 4,
        live_guide_languages: '["nl"]',
        audio_guide_languages: '["en"]',
        package_products: '[5]',
        in_packages: '[7]',
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
    for (const value of ['', 5, null, { 0: 'en' }]) check({ languages: value }, {});
    for (const value of ['22', null, [22], true]) check({ discount_percentage: value }, {});
    for (const value of [null, 'gate', ['gate']]) check({ starting_point: value }, {});
  });

  it('has the minutes of a span with hours and minutes, with seconds or without, and of no other form', () => {
    for (const [span, minutes] of [
      ['01:15', 75],
      ['0:15:00', 15],
      ['48:00', 2880],
      ['1:60', null],
      ['90', null],
      ['01:15:00:00', null],
      ['an hour', null],
      [90, null],
    ] as const)
      check({ advance_arrival_time: span }, { advance_arrival_minutes: minutes });
  });

  it('has of a list of languages those that are texts, and of a text alone a list', () => {
    check({ languages: 'en' }, { languages: '["en"]' });
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
