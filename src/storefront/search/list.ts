import { identifier, members, wholeNumber } from '../arguments.ts';
import type { Connection } from '../connection.ts';
import type { Editions } from '../editions.ts';
import { existing } from '../existing.ts';
import { productColumns } from '../printed-sql.ts';
import type { ViewRow } from '../views.ts';
import { type FilterForm, filterBindings, filterForm, filterSql } from './hits-sql.ts';
import { checkFilters, type Filters, filterNames } from './question.ts';

/** Products to list: by the filters of `find`, and by experience. */
export interface ProductsQuestion extends Filters {
  readonly experience_id?: number | undefined;
  readonly language?: string | undefined;
  /** Of the prices, min_price and max_price, and of from and to. */
  readonly currency?: string | undefined;
  /** The last product_id of the page before. */
  readonly after?: number | undefined;
  /** Absent: 100. */
  readonly limit?: number | undefined;
}

type Listed = ViewRow<'products'>;
type List = (question?: ProductsQuestion) => Listed[];

/** Lists products by their id, page by page. */
export function lister(connection: Connection, editions: Editions): List {
  const named = existing(connection);
  const list = connection.queries<Listed, ListForm>(listSql);
  return (question = {}) => {
    const known = [...filterNames, 'experience_id', 'language', 'currency', 'after', 'limit'] as const;
    const { experience_id, language, currency, after = -1, limit, ...filters } = members('question', question, known);
    checkFilters(filters);
    named(filters);
    if (experience_id !== undefined) identifier('experience_id', experience_id);
    return list({ experience: experience_id !== undefined, filters: filterForm(filters) }).all({
      ...filterBindings(filters),
      experience_id,
      language: editions.language(language),
      currency: editions.currency(currency),
      after: wholeNumber('after', after, { least: -1, most: Number.MAX_SAFE_INTEGER }),
      limit: wholeNumber('limit', limit, { least: 1, most: 10_000, absent: 100 }),
    });
  };
}

interface ListForm {
  readonly experience: boolean;
  readonly filters: FilterForm;
}

function listSql({ experience, filters }: ListForm): string {
  const { tag } = filters;
  const first = experience ? 'e' : tag ? 'g' : 'p';
  const joined = [
    experience && 'product_experiences e',
    tag && (experience ? 'product_tags g ON g.product_id = e.product_id' : 'product_tags g'),
    first === 'p' ? 'products p' : `products p ON p.product_id = ${first}.product_id`,
  ];
  const where = [
    'p.language = @language',
    `${first}.product_id > @after`,
    experience && 'e.experience_id = @experience_id',
    tag && 'g.tag_id = @tag_id',
    // Tags are joined already.
    ...filterSql({ ...filters, tag: false }, 'p'),
  ];
  const given = (parts: readonly (string | false)[]) => parts.filter((each) => each !== false);
  return `SELECT ${productColumns} FROM ${given(joined).join(' CROSS JOIN ')}
    WHERE ${given(where).join(' AND ')} ORDER BY ${first}.product_id LIMIT @limit`;
}
