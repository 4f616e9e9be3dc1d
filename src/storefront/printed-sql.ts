import type { Columns } from './connection.ts';

/*
 * The price that a shop prints, in statements: what an adult pays, in the currency that is bound. A mirror of an older
 * contract has only the lowest price of all.
 */

/** The price as SQL, and whose it is. */
export interface PrintedSql {
  readonly price: string;
  readonly type: string;
}

const ofCurrency = ['from_price', 'lowest_price', 'lowest_adult_price', 'price_variant_type', 'prediscount_price'];

/** Returns the columns of a product `p`: its prices in another currency than the primary one are looked up. */
export function productColumns(columns: Columns): string {
  const prices = ofCurrency.map((name) => [
    name,
    `CASE WHEN p.currency = @currency THEN p.${name} ELSE ${ofProduct('p.product_id', `c.${name}`)} END`,
  ]);
  return columns('products', 'p', { ...Object.fromEntries(prices), currency: '@currency' });
}

/** Returns the columns of an experience `e`: the service prices it in the primary currency alone. */
export function experienceColumns(columns: Columns): string {
  const from_price = 'CASE WHEN e.currency = @currency THEN e.from_price END';
  return columns('experiences', 'e', { from_price, currency: '@currency' });
}

/** Returns the price of a product: what the service says of it where no date has one. */
export function printedOfProduct(columns: Columns, id: string): PrintedSql {
  if (!columns.has('product_prices', 'lowest_adult_price'))
    return { price: ofProduct(id, 'c.from_price'), type: 'NULL' };
  return {
    price: ofProduct(id, 'COALESCE(c.lowest_adult_price, c.from_price)'),
    type: ofProduct(id, 'c.price_variant_type'),
  };
}

function ofProduct(id: string, column: string): string {
  return `(SELECT ${column} FROM product_prices c WHERE c.product_id = ${id} AND c.currency = @currency)`;
}

/** Returns the price of a product over the dates that are bound: of an adult, if one can have any of them. */
export function printedOfDates(columns: Columns, id: string): PrintedSql {
  const { price, type } = printedOfDate(columns, 'bookable_days', 'b');
  const first = (column: string) => `(SELECT ${column} FROM bookable_days b
    WHERE b.product_id = ${id} AND b.currency = @currency AND b.date BETWEEN @from AND @to AND ${price} IS NOT NULL
    ORDER BY ${adultsFirst({ price, type })} LIMIT 1)`;
  return { price: first(price), type: first(type) };
}

/** Returns the price of a date, a row of one of these views. */
export function printedOfDate(
  columns: Columns,
  view: 'bookable_days' | 'availability_days',
  alias: string,
): PrintedSql {
  if (!columns.has(view, 'lowest_adult_price')) return { price: `${alias}.lowest_price`, type: 'NULL' };
  return { price: `${alias}.lowest_adult_price`, type: `${alias}.price_variant_type` };
}

/** Returns what dates are ordered by, so that the first has the price of all of them. */
export function adultsFirst({ price, type }: PrintedSql): string {
  return `${type} IS NOT 'adult', ${price}`;
}
