import { readFileSync } from 'node:fs';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import type { CatalogueEntry } from './catalogue.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads real entries to serve: an array of `{id, name, type, city, country, price, rating, status, description}`, and
 * recorded answers of the single-product read (`{product}`), one or an array of them. Throws (65) for anything else.
 */
export function readCatalogue(path: string): CatalogueEntry[] {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw refused(missing ? `there is no catalogue at ${path}` : `${path} is not JSON`);
  }
  const entries = (Array.isArray(json) ? json : [json]).map((element: unknown, index) => {
    const entry =
      isMembers(element) && isMembers(element.product)
        ? recorded(element.product)
        : isMembers(element)
          ? listed(element)
          : null;
    if (entry === null)
      throw refused(`${path}: entry ${index} is neither a product with id and name nor a recorded {product}`);
    return entry;
  });
  if (entries.length === 0) throw refused(`${path} has no entries`);
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()];
}

function listed(entry: Members): CatalogueEntry | null {
  const id = Number(entry.id);
  if (!Number.isSafeInteger(id) || id <= 0 || typeof entry.name !== 'string') return null;
  return {
    id,
    title: entry.name,
    tagline: String(entry.description ?? ''),
    city: String(entry.city ?? 'Nowhere'),
    country: String(entry.country ?? 'Nowhere'),
    price_cents: Math.round(Number(entry.price ?? 0) * 100),
    tag_ids: [
      ...new Set(
        String(entry.type ?? '')
          .split(',')
          .map(Number)
          .filter((tag) => tag > 0),
      ),
    ],
    // The lowest rating has one star, so 0 means that the entry has no rating.
    rating: typeof entry.rating === 'number' && entry.rating > 0 ? entry.rating : null,
    available: entry.status !== 'inactive',
    recorded: null,
  };
}

/** Returns the entry of a recorded product; null: it has no usable id or title. */
export function recorded(product: Members): CatalogueEntry | null {
  const entry = listed({
    ...product,
    name: product.title,
    city: product.city_name,
    country: product.country_name,
    description: product.tagline,
  });
  return entry === null ? null : { ...entry, available: product.sale_status !== 'unavailable', recorded: product };
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(message: string): CataloguedError {
  return new CataloguedError('catalogue-file', message, {
    exitCode: exitCodes.data,
    hint: 'see catalogued sandbox --help for what it takes',
  });
}
