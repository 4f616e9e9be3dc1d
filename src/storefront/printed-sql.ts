import { allColumns } from './views.ts';

/* The price that a shop prints, in statements: what an adult pays, in the currency that is bound. */

/** The price as SQL, and whose it is. */
export interface PrintedSql {
  readonly price: string;
  readonly type: string;
}

const ofCurrency = ['from_price', 'lowest_price', 'lowest_adult_price', 'price_variant_type', 'prediscount_price'];

/** The columns of a product `p`: its prices in another currency than the primary one are looked up. */
export const productColumns = allColumns('products', 'p', {
  ...Object.fromEntries(
    ofCurrency.map((name) => [
      name,
      `CASE WHEN p.currency = @currency THEN p.${name} ELSE ${ofProduct('p.product_id', `c.${name}`)} END`,
    ]),
  ),
  currency: '@currency',
});

/** The columns of an experience `e`: the service prices it in the primary currency alone. */
export const experienceColumns = allColumns('experiences', 'e', {
  from_price: 'CASE WHEN e.currency = @currency THEN e.from_price END',
  currency: '@currency',
});

/** Returns the price of a product: what the service says of it where no date has one. */
export function printedOfProduct(id: string): PrintedSql {
  return {
    price: ofProduct(id, 'COALESCE(c.lowest_adult_price, c.from_price)'),
    type: ofProduct(id, 'c.price_variant_type'),
  };
}

function ofProduct(id: string, column: string): string {
  return `(SELECT ${column} FROM product_prices c WHERE c.product_id = ${id} AND c.currency = @currency)`;
}

/** Returns the price of a product over the dates that are bound: of an adult, if one can have any of them. */
export function printedOfDates(id: string): PrintedSql {
  const { price, type } = printedOfDate('b');
  const first = (column: string) => `(SELECT ${column} FROM bookable_days b
    WHERE b.product_id = ${id} AND b.currency = @currency AND b.date BETWEEN @from AND @to AND ${price} IS NOT NULL
    ORDER BY ${adultsFirst({ price, type })} LIMIT 1)`;
  return { price: first(price), type: first(type) };
}

/** Returns the price of a date, a row of `bookable_days` or `availability_days`. */
export function printedOfDate(alias: string): PrintedSql {
  return { price: `${alias}.lowest_adult_price`, type: `${alias}.price_variant_type` };
}

/** Returns what dates are ordered by, so that the first has the price of all of them. */
export function adultsFirst({ price, type }: PrintedSql): string {
  return `${type} IS NOT 'adult', ${price}`;
}
