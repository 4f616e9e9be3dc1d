import { printedOfDate, printedOfProduct } from './printed-sql.ts';

/** Parts that a search has. Each form is one statement, prepared once. */
export interface ExactForm {
  readonly text: boolean;
  readonly near: boolean;
  readonly date: boolean;
  readonly city: boolean;
  readonly priced: boolean;
  readonly sellable: boolean;
  readonly order: 'relevance' | 'price' | 'distance';
}

/**
 * One statement over the views, of which docs/search.md shows the forms people need most. What narrows most is asked first
 * (words, then a place, then a city, then a date), by CROSS JOIN, and everything else is looked up by key. A date near a place
 * is asked for by its price, with the place as a set of products: twenty cheap ones are found long before all the others
 * there are looked up (`+` keeps the planner from doing that).
 */
export function exactSql(form: ExactForm): string {
  const { text, near, date, city, priced, sellable } = form;
  const printed = date ? printedOfDate('b') : printedOfProduct('p.product_id');
  const { price } = printed;
  const chord2 = '(l.x - @x) * (l.x - @x) + (l.y - @y) * (l.y - @y) + (l.z - @z) * (l.z - @z)';
  const where = [
    'p.language = @language',
    text && 'product_search MATCH @match AND s.language = @language',
    near && `${chord2} <= @chord2`,
    near && date && !text && `+b.product_id IN (SELECT product_id FROM ${boxes})`,
    date && 'b.currency = @currency AND b.date = @date',
    city && 'p.city_id = @city_id',
    priced && `${price} <= @max_price`,
    sellable && 'p.sellable = 1',
  ];
  return `SELECT p.product_id, p.language, p.title, p.tagline, p.city_id, p.city_name, p.latitude, p.longitude, p.sellable, p.rating,
  r.popularity, ${price} AS price, ${printed.type} AS price_variant_type, @currency AS currency, ${date ? 'b.date' : 'NULL'} AS date, ${near ? chord2 : 'NULL'} AS chord2,
  ${date ? 'b' : 'p'}.checked_at, ${date ? 'b' : 'p'}.stale
FROM ${joins(form).join('\nCROSS JOIN ')}
WHERE ${where.filter((each) => each !== false).join(' AND ')}
ORDER BY ${orders(form, price).join(', ')}
LIMIT @limit OFFSET @offset`;
}

const boxes = `(
  SELECT product_id, x, y, z FROM product_places
  WHERE max_latitude >= @south AND min_latitude <= @north AND max_longitude >= @west AND min_longitude <= @east
  UNION ALL
  SELECT product_id, x, y, z FROM product_places
  WHERE max_latitude >= @south AND min_latitude <= @north AND max_longitude >= @west_beyond AND min_longitude <= @east_beyond
) l`;

/** The table that a search begins with. */
function firstOf({ text, near, date, city }: ExactForm): 's' | 'l' | 'p' | 'b' {
  if (text) return 's';
  if (near) return date ? 'b' : 'l';
  return date && !city ? 'b' : 'p';
}

function joins(form: ExactForm): string[] {
  const { text, near, date } = form;
  const first = firstOf(form);
  const on = `.product_id = ${first}.product_id`;
  const joined = [
    text && 'product_search s',
    first === 'b' && 'bookable_days b',
    near && (first === 'l' ? boxes : `product_places l ON l${on}`),
    first === 'p' && 'products p',
    date && first !== 'b' && `bookable_days b ON b${on}`,
    first !== 'p' && `products p ON p${on}`,
    `product_popularity r ON r${on}`,
  ];
  return joined.filter((each) => each !== false);
}

/** Sorts sellable products first. Equal products keep their order from page to page. */
function orders({ text, date, near, order }: ExactForm, price: string): string[] {
  const relevance = text ? 's.rank * (1 + r.popularity)' : 'r.popularity DESC';
  const sellable = date ? [] : ['p.sellable DESC'];
  switch (order) {
    case 'relevance':
      return [...sellable, relevance, 'p.product_id'];
    case 'price':
      return [...sellable, `${price} NULLS LAST`, ...(near ? ['chord2'] : []), relevance, 'p.product_id'];
    case 'distance':
      return [...sellable, 'chord2', relevance, 'p.product_id'];
  }
}
