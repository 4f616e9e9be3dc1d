import { dayNumber, identifier, members } from './arguments.ts';
import { checkSpan, chosenColumns, type Span, withoutGaps } from './calendar.ts';
import type { Connection } from './connection.ts';
import type { Edition, Editions } from './editions.ts';
import { adultsFirst, printedOfDate, productColumns } from './printed-sql.ts';
import type { ImageRow, ProductRow, Reader, SlotRow, WithdrawnRow } from './reader-types.ts';
import { allColumns, someColumns, type ViewRow } from './views.ts';

/** Products in a currency: their prices in another one than the primary stand in `product_prices`. */
interface OfProduct {
  readonly product_id: number;
  readonly language: string;
  readonly currency: string;
}

type KnownDay = ViewRow<'availability_days'>;

/** Returns what is read of the catalogue, by key. */
export function catalogueReads(
  connection: Connection,
  editions: Editions,
): Pick<
  Reader,
  'product' | 'prices' | 'images' | 'checkoutInformation' | 'variants' | 'alternatives' | 'sellable' | 'withdrawn'
> {
  const product = connection.query<OfProduct, ProductRow>(
    `SELECT ${productColumns} FROM products p WHERE p.product_id = @product_id AND p.language = @language`,
  );
  const prices = connection.query<[number], ViewRow<'product_prices'>>(
    `SELECT ${allColumns('product_prices', 'c')} FROM product_prices c WHERE c.product_id = ? ORDER BY c.currency`,
  );
  const images = connection.query<[number], ImageRow>(
    `SELECT ${allColumns('images', 'i')} FROM images i WHERE i.product_id = ? ORDER BY i.position`,
  );
  const checkout = connection.query<[number, string], ViewRow<'checkout_information'>>(
    `SELECT ${allColumns('checkout_information', 'c')} FROM checkout_information c WHERE c.product_id = ? AND c.language = ?`,
  );
  const variants = connection.query<[number, string], ViewRow<'variants'>>(
    `SELECT ${allColumns('variants', 'w')} FROM variants w WHERE w.product_id = ? AND w.language = ? ORDER BY w.variant_id`,
  );
  const alternatives = connection.query<OfProduct, ProductRow>(
    `SELECT ${productColumns} FROM alternatives a
      CROSS JOIN products p ON p.product_id = a.alternative_product_id
      WHERE a.product_id = @product_id AND p.language = @language ORDER BY p.product_id`,
  );
  const withdrawn = connection.query<[number], WithdrawnRow>(
    `SELECT ${allColumns('withdrawn_products', 'w')} FROM withdrawn_products w WHERE w.product_id = ?`,
  );
  const sellable = connection.query<[number], { sellable: 0 | 1 }>(
    'SELECT sellable FROM products WHERE product_id = ? LIMIT 1',
  );
  const of = (product_id: number, options: Edition): [number, string] => [
    identifier('product_id', product_id),
    editions.of(options).language,
  ];

  const inEdition = (product_id: number, options: Edition): OfProduct => ({
    product_id: identifier('product_id', product_id),
    ...editions.of(options),
  });

  return {
    product: (product_id, options = {}) => product.get(inEdition(product_id, options)) ?? null,
    prices: (product_id) => prices.all([identifier('product_id', product_id)]),
    images: (product_id) => images.all([identifier('product_id', product_id)]),
    checkoutInformation: (product_id, options = {}) => checkout.get(of(product_id, options)) ?? null,
    variants: (product_id, options = {}) => variants.all(of(product_id, options)),
    alternatives: (product_id, options = {}) => alternatives.all(inEdition(product_id, options)),
    withdrawn: (product_id) => withdrawn.get([identifier('product_id', product_id)]) ?? null,
    sellable: (product_id) => sellable.get([identifier('product_id', product_id)])?.sellable === 1,
  };
}

/** Dates, slots and prices. */
export function availabilityReads(
  connection: Connection,
  editions: Editions,
): Pick<Reader, 'calendar' | 'slots' | 'cheapest'> {
  // By its plus the view's own spans are gone through, once each, instead of these dates once for each of them.
  const ofSpan = (columns: string) => `SELECT ${columns} FROM availability_days d
    WHERE d.product_id = ? AND d.currency = ? AND +d.date BETWEEN ? AND ?`;
  const days = connection.queries<KnownDay, readonly string[]>(
    (names) => `${ofSpan(someColumns('availability_days', 'd', names))} ORDER BY d.date`,
  );
  const printed = printedOfDate('d');
  const cheapest = connection.query<[number, string, string, string], KnownDay>(
    `${ofSpan(allColumns('availability_days', 'd'))} AND d.state = 'available' AND ${printed.price} IS NOT NULL
      ORDER BY ${adultsFirst(printed)}, d.date LIMIT 1`,
  );
  const slots = connection.query<[number, string, string], SlotRow>(
    `SELECT ${allColumns('availability_slots', 's')} FROM availability_slots s
      WHERE s.product_id = ? AND s.currency = ? AND s.date = ? ORDER BY s.time, s.variant_id`,
  );

  return {
    calendar: (product_id: number, options: Span & Edition & { readonly columns?: readonly string[] } = {}) => {
      const { columns: asked, ...span } = members('options', options, [...spanMembers, 'columns']);
      const { from, to, ...edition } = spanOf(span);
      const { currency } = editions.of(edition);
      const columns = chosenColumns(asked);
      const bound = [identifier('product_id', product_id), currency, from ?? '', to ?? '9999-12-31'];
      return withoutGaps(days(columns).all(bound), { from, to, columns }, { product_id, currency });
    },
    cheapest: (product_id, options = {}) => {
      const { from, to, ...edition } = spanOf(options);
      const span = [from ?? '', to ?? '9999-12-31'] as const;
      return cheapest.get([identifier('product_id', product_id), editions.of(edition).currency, ...span]) ?? null;
    },
    slots: (product_id, date, options = {}) => {
      const { currency } = editions.of(options);
      dayNumber('date', date);
      return slots.all([identifier('product_id', product_id), currency, date]);
    },
  };
}

const spanMembers = ['from', 'to', 'language', 'currency'] as const;

function spanOf(options: Span & Edition): Span & Edition {
  const asked = members('options', options, spanMembers);
  checkSpan(asked);
  return asked;
}
