import { describe, expect, it } from 'vitest';
import type { ProductEntry } from '../../src/catalogue/product.rules.ts';
import { instant, systemClock } from '../../src/kernel/clock.ts';
import type { SearchQuestion } from '../../src/storefront/reader.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { needs } from '../fakes/needs.ts';
import { openReader } from '../fakes/reader.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';
import { townProducts } from './relevance/town-products.ts';

const entries = townProducts.map(
  ({ product_id, title, city, country, tagline }, index) =>
  productOf(product_id, {
    title, tagline, city_name: city, country_name: country, city_id: city.length, country_id: country.length, venue_id: null,
    rating: null, from_price: 100 * product_id, tag_ids: [index % 7],
  }), // biome-ignore format: a product
);

function over<Result>(stored: readonly ProductEntry[], ask: (reader: ReturnType<typeof openReader>) => Result): Result {
  using test = testMirror();
  putProducts(test, stored);
  using reader = openReader(test.path);
  return ask(reader);
}

const idsOf = (stored: readonly ProductEntry[], question: SearchQuestion) =>
  over(stored, (reader) => reader.search(question).hits.map(({ product_id }) => product_id));

describe('search', () => {
  it('tells what was matched, what was dropped and what was meant', () => {
    over(entries, (reader) => {
      expect(reader.search({ text: 'tickets for the colloseum xyzzy' })).toMatchObject({
        total: 1,
        matched: ['colloseum'],
        dropped: ['xyzzy'],
        meant: 'tickets for the colosseum xyzzy',
        hits: [{ title: 'Colosseum, Roman Forum & Palatine Hill: Priority Entry', typos: 2, found_in: 'name' }],
      });
      expect(reader.search({ text: 'heineken' })).toMatchObject({ matched: ['heineken'], dropped: [], meant: null });
      // A place outweighs other words. Of those, the rarest are kept, wherever they stand.
      expect(reader.search({ text: 'flamenco oslo' })).toMatchObject({ matched: ['oslo'], dropped: ['flamenco'] });
      expect(reader.search({ text: 'wax museum london madame tussauds' })).toMatchObject({
        matched: ['london', 'madame', 'tussauds'],
        dropped: ['wax', 'museum'],
      });
      expect(reader.search({ text: 'xyzzy' })).toMatchObject({ hits: [], total: 0, dropped: ['xyzzy'], meant: null });
    });
  });

  it('drops the least telling words: a place outweighs other words, a name the rest, and of words as rare those of what is popular stay', () => {
    const at = (product_id: number, title: string, city_name: string, rating: number) =>
      productOf(product_id, { title, city_name, rating, rating_count: 100, venue_id: null });
    const stored = [
      at(1, 'Eiffel Tower: Second Floor', 'Paris', 5),
      at(2, 'Eiffel Tower: Summit', 'Paris', 4),
      at(3, 'Flamenco Show at Torre Bermeja', 'Madrid', 3),
      at(4, 'Safari Thoiry: Entry Ticket', 'Thoiry', 3),
      at(5, 'Safari & Marine Park', 'Serongga', 5),
      at(6, 'River Cruise', 'Madrid', 5),
    ];
    expect(idsOf(stored, { text: 'torre eiffel' })).toEqual([1, 2, 3]);
    expect(idsOf(stored, { text: 'safari park thoiry' })[0]).toBe(4);
    over(stored, (reader) => {
      // Each hit has every word, or it stands behind all that have.
      expect(reader.search({ text: 'eiffel summit' }).hits.map(({ product_id }) => product_id)).toEqual([2, 1]);
      expect(reader.search({ text: 'safari park thoiry' })).toMatchObject({
        matched: ['safari', 'thoiry'],
        dropped: ['park'],
      });
      expect(reader.search({ text: 'torre eiffel', limit: 1, offset: 2 })).toMatchObject({
        matched: ['eiffel'],
        total: 3,
      });
    });
  });

  it('reads what people write short, joined or in another language, and puts what has their generic words first', () => {
    const at = (product_id: number, title: string, city_name: string) =>
      productOf(product_id, { title, city_name, rating: null, venue_id: null });
    const stored = [
      at(1, 'Melbourne Cricket Ground: Guided Tour', 'Melbourne'),
      at(2, 'The 9/11 Memorial & Museum', 'New York'),
      at(3, 'Rembrandt House', 'Amsterdam'),
      at(4, 'Sainte-Chapelle: Entry', 'Paris'),
      at(5, 'Top of the Rock', 'New York'),
      at(6, 'Medici Chapels', 'Florence'),
      at(7, 'Canal Cruise', 'Amsterdam'),
      at(8, 'Canal Pass', 'Amsterdam'),
      at(9, 'La Pedrera', 'Barcelona'),
      at(10, 'Observation Wheel', 'Los Angeles'),
      at(11, 'Understanding Light', 'Florence'),
    ];
    over(stored, (reader) => {
      const found = (text: string) => reader.search({ text }).hits.map(({ product_id }) => product_id);
      expect(found('mcg')).toEqual([1]);
      expect(found('911 museum')[0]).toBe(2);
      expect(found('rembrandthuis')).toEqual([3]);
      expect(found('st chapelle')[0]).toBe(4);
      expect(found('rock nyc')[0]).toBe(5);
      expect(found('canal pass')).toEqual([8, 7]);
      expect(found('la pedrera')[0]).toBe(9);
      expect(found('la wheel')[0]).toBe(10);
      // Two words of which the beginnings alone are two typos apart.
      expect(found('universal')).toEqual([]);
      // No word is known but a generic one: it is asked for, and the search counts as one in vain.
      expect(reader.search({ text: 'rockefeller top' })).toMatchObject({
        matched: [],
        dropped: ['rockefeller'],
        total: 1,
      });
    });
  });

  it('says where every word was found, and puts what is found sooner first', () => {
    const stored = [
      productOf(1, { title: 'Boat Trip', tagline: 'Past the Zoo', city_name: 'Ghent' }),
      productOf(2, { title: 'City Card: Zoo Included', city_name: 'Ghent' }),
      productOf(3, { title: 'Antwerp Zoo', city_name: 'Antwerp' }),
      productOf(4, { title: 'Zoo', city_name: 'Ghent', sale_status: 'disabled' }),
      productOf(5, { title: 'The Old Zoo: Ticket', city_name: 'Ghent', rating: 5, rating_count: 4000 }),
      productOf(6, { title: 'Museum', city_name: 'Zoo' }),
    ];
    over(stored, (reader) => {
      const { hits } = reader.search({ text: 'zoo' });
      expect(hits.map(({ product_id, found_in }) => [product_id, found_in])).toEqual([
        // What lies in a city of this name; then names, wherever they have it: what sells, and then the popular one, comes first.
        [6, 'name'],
        [5, 'name'],
        [3, 'name'],
        [4, 'name'],
        [2, 'title'],
        [1, 'tagline'],
      ]);
      expect(reader.search({ text: 'zoo', sellable: true }).total).toBe(5);
    });
  });

  it('orders by place in popularity, in which a rating counts by the people behind it', () => {
    const rated = (product_id: number, rating: number | null, rating_count: number | null) =>
      productOf(product_id, { title: 'Tower', rating, rating_count });
    const stored = [rated(1, null, 0), rated(2, 5, 1), rated(3, 4.7, 900), rated(4, 2, 500), rated(5, 4.7, 90)];
    expect(idsOf(stored, { text: 'tower' })).toEqual([3, 5, 2, 1, 4]);
    expect(idsOf(stored, {})).toEqual([3, 5, 2, 1, 4]);
    over(stored, (reader) => expect(reader.search({ min_rating: 4.5 }).total).toBe(3));
  });

  it('halves a place for every doubling of own sales, of which ten checks count as one, and lets them fade', () => {
    using test = testMirror();
    const { mirror } = test;
    putProducts(
      { mirror },
      [1, 2, 3, 4].map((product_id) => productOf(product_id, { title: 'Tower', rating: null })),
    );
    const [now, month] = [Date.now(), 30 * 86_400_000];
    mirror.transaction(() => {
      mirror.catalogue.listPlaces.note([1, 2, 3, 4], 100);
      mirror.catalogue.categories.countSale({ product_id: 2, sold: 4, sold_at: instant(now) });
      mirror.catalogue.categories.countAsked({ product_id: 3, asked: 80, asked_at: instant(now) });
      mirror.catalogue.categories.countAsked({ product_id: 4, asked: 80, asked_at: instant(now - 3 * month - 1000) });
    });
    using reader = openReader(test.path);
    expect(reader.search({ text: 'tower' }).hits.map(({ product_id, place }) => [product_id, place])).toEqual([
      [3, 102 >> 4],
      [2, 101 >> 3],
      [4, 103 >> 1],
      [1, 100],
    ]);
  });

  it('narrows by city, country, tag, rating and price, with words and without', () => {
    over(entries, (reader) => {
      const all = reader.search({ limit: 1000 }).hits;
      expect(all).toHaveLength(entries.length);
      const filters: [SearchQuestion, (hit: (typeof all)[number]) => boolean][] = [
        [{ city_id: 4 }, ({ city_id }) => city_id === 4],
        [{ country_id: 5 }, ({ country_id }) => country_id === 5],
        [{ min_price: 1000, max_price: 3000 }, ({ price }) => price !== null && price >= 1000 && price <= 3000],
        [{ tag_id: 3 }, ({ product_id }) => (product_id - 1) % 7 === 3],
        [{ near: { latitude: 52.37, longitude: 4.9, km: 1 } }, () => true],
        [
          { city_id: 4, tag_id: 1, max_price: 5000 },
          (hit) => hit.city_id === 4 && (hit.product_id - 1) % 7 === 1 && (hit.price ?? 9999) <= 5000,
        ],
      ];
      for (const text of [undefined, 'ticket', 'museum']) {
        const found = reader.search({ text, limit: 1000 }).hits.map(({ product_id }) => product_id);
        for (const [filter, holds] of filters) {
          const wanted = all
            .filter((hit) => found.includes(hit.product_id) && holds(hit))
            .map(({ product_id }) => product_id);
          const { hits, total } = reader.search({ ...filter, text, limit: 1000 });
          expect([...hits.map(({ product_id }) => product_id)].sort(), JSON.stringify(filter)).toEqual(wanted.sort());
          expect(total).toBe(wanted.length);
        }
      }
    });
  });

  it('counts by city, country, tag, price and rating exactly what was found', () => {
    over(entries, (reader) => {
      for (const text of [undefined, 'museum', 'london']) {
        const { hits, facets, total } = reader.search({ text, facets: true, limit: 1000 });
        const sum = (name: 'city' | 'country' | 'tag' | 'price' | 'rating') =>
          facets?.[name].reduce((all, { count }) => all + count, 0);
        expect([sum('city'), sum('country'), sum('tag'), sum('price'), sum('rating')]).toEqual([
          total,
          total,
          total,
          total,
          0,
        ]);
        for (const { id, count } of facets?.city ?? [])
          expect(hits.filter(({ city_id }) => city_id === id)).toHaveLength(count);
      }
      expect(reader.search({ text: 'xyzzy', facets: true }).facets).toMatchObject({ city: [], price: [] });
    });
  });

  it('says which language the texts of a hit are in, where the one asked for has none', () => {
    using test = testMirror();
    putProducts(test, [productOf(1, { title: 'Tower' }), productOf(2, { title: 'Tower' })]);
    putProducts(test, [productOf(1, { title: 'Toren' })], { language: 'nl' });
    using reader = openReader(test.path, { language: 'nl' });
    const { hits } = reader.search();
    expect(
      hits.map(({ product_id, language, language_shown, title }) => [product_id, language, language_shown, title]),
    ).toEqual([
      [1, 'nl', 'nl', 'Toren'],
      [2, 'nl', 'en', 'Tower'],
    ]);
    expect(reader.search({ text: 'tower' }).hits).toMatchObject([
      { product_id: 1, language_shown: 'nl', found_in: 'name' },
      { product_id: 2, language_shown: 'en', found_in: 'name' },
    ]);
  });

  it('has pages that neither repeat nor leave out', () => {
    over(entries, (reader) => {
      for (const order of ['relevance', 'price_down', 'rating'] as const) {
        const whole = reader.search({ text: 'e', order, limit: 1000 });
        const pages = Array.from({ length: 25 }, (_, page) =>
          reader.search({ text: 'e', order, limit: 4, offset: 4 * page }),
        );
        expect(pages.flatMap(({ hits }) => hits)).toEqual(whole.hits);
        expect(new Set(pages.map(({ total }) => total))).toEqual(new Set([whole.total]));
      }
    });
  });

  it('marks in the title what was asked for', () => {
    over(entries, (reader) => {
      const marked = (text: string) =>
        reader
          .search({ text })
          .hits[0]?.highlight.map((piece) => (piece.matched ? `[${piece.text}]` : piece.text))
          .join('');
      expect(marked('musee dorsay')).toBe('[Musée] [d’Orsay]: Dedicated Entrance');
      expect(marked('colloseum')).toBe('[Colosseum], Roman Forum & Palatine Hill: Priority Entry');
      expect(marked('skylagoon')).toBe('[Sky] [Lagoon]: Entry with Ritual');
      expect(marked('westm')).toBe('[Westminster] Abbey: Entry Ticket');
    });
  });

  it('finds in scripts without spaces, and Arabic with and without its article', () => {
    const stored = [
      productOf(1, { title: '東京タワー 展望台チケット', city_name: '東京' }),
      productOf(2, { title: '京都 金閣寺', city_name: '京都' }),
      productOf(3, { title: 'พระบรมมหาราชวัง กรุงเทพ', city_name: 'กรุงเทพ' }),
      productOf(4, { title: '롯데월드타워 서울스카이', city_name: '서울' }),
      productOf(5, { title: 'المتحف المصري', city_name: 'القاهرة' }),
    ];
    over(stored, (reader) => {
      const first = (text: string) => reader.search({ text }).hits[0]?.product_id;
      expect(
        [
          '東京タワー',
          '東京タワーのチケット',
          '金閣寺',
          '金',
          'กรุงเทพ',
          '롯데월드',
          '서울',
          'متحف',
          'المتحف',
          'قاهرة',
        ].map(first),
      ).toEqual([1, 1, 2, 2, 3, 4, 4, 5, 5, 5]);
    });
  });
});

describe('what is related', () => {
  it('is on sale, of the same experience or city, the most alike and popular first', () => {
    const of = (
      product_id: number,
      city_id: number,
      venue_id: number,
      tag_ids: number[],
      more: Partial<ProductEntry> = {},
    ) => productOf(product_id, { city_id, venue_id, tag_ids, rating: null, ...more });
    const stored = [
      of(1, 1, 1, [1, 2, 3]),
      of(2, 1, 2, [1]),
      of(3, 1, 3, [1, 2, 9]),
      of(4, 2, 1, []),
      of(5, 1, 4, [1, 2, 3], { sale_status: 'disabled' }),
      of(6, 3, 5, [1, 2, 3]),
      of(7, 1, 6, [3], { rating: 5, rating_count: 900 }),
    ];
    over(stored, (reader) => {
      expect(reader.related(1).map(({ product_id }) => product_id)).toEqual([4, 3, 7, 2]);
      expect(reader.related(1, { limit: 2 })).toHaveLength(2);
      expect(reader.related(99)).toEqual([]);
    });
  });
});

describe('a list of products', () => {
  it('is narrowed by the filters of find, and by nothing else', () => {
    over(entries, (reader) => {
      const filters: SearchQuestion[] = [
        { city_id: 4 },
        { country_id: 5, tag_id: 2 },
        { min_price: 1000, max_price: 3000, sellable: true },
        { min_rating: 3 },
        { from: '2026-12-05', to: '2026-12-07' },
      ];
      for (const filter of filters)
        expect(reader.products({ ...filter, limit: 1000 }).map(({ product_id }) => product_id)).toEqual(
          reader
            .search({ ...filter, limit: 1000 })
            .hits.map(({ product_id }) => product_id)
            .sort((a, b) => a - b),
        );
      expect(() => reader.products({ city_id: 999 })).toThrow('city_id: no product has 999');
      expect(() => reader.products({ from: '2026-12-05', to: '2026-12-01' })).toThrow('is after');
    });
  });
});

it(
  'a search for dates finds what has tickets on one of them, at what an adult pays least on those and its first date',
  needs('time'),
  async () => {
    await using harness = await virtualHarness({ products: 30 }, {}, { start: systemClock.now() });
    await harness.fill();
    // The reader's views have the machine's own clock.
    const { path } = harness.daemon.config.mirror;
    const db = openMirrorAt(path, harness.clock.now());
    const days = db
      .prepare<[], { product_id: number; date: string; lowest_adult_price: number; price_variant_type: string }>(
        "SELECT product_id, date, lowest_adult_price, price_variant_type FROM bookable_days WHERE currency = 'EUR'",
      )
      .all();
    db.close();
    const dates = [...new Set(days.map(({ date }) => date))].sort();
    const [from = '', to = ''] = [dates[10], dates[12]];
    using reader = openReader(path);
    const within = days.filter(({ date }) => date >= from && date <= to);
    const wanted = [...new Set(within.map(({ product_id }) => product_id))].sort((a, b) => a - b);
    const { hits, total } = reader.search({ from, to, limit: 1000 });
    expect(wanted.length).toBeGreaterThan(3);
    expect(hits.map(({ product_id }) => product_id).sort((a, b) => a - b)).toEqual(wanted);
    expect(total).toBe(wanted.length);
    for (const { product_id, price, price_variant_type, date } of hits) {
      const own = within.filter((day) => day.product_id === product_id);
      expect(date).toBe(own.map((day) => day.date).sort()[0]);
      const adults = own.filter((day) => day.price_variant_type === 'adult');
      const printed = adults.length > 0 ? adults : own;
      expect(price).toBe(Math.min(...printed.map(({ lowest_adult_price }) => lowest_adult_price)));
      expect(printed.map((day) => day.price_variant_type)).toContain(price_variant_type);
    }
    expect(reader.search({ from, to, max_price: hits[0]?.price ?? 0 }).total).toBeLessThanOrEqual(total);
  },
);
