import { isMembers, type Members } from '../values/members.ts';
import { pageAddress } from '../values/page-address.ts';

/** What pages show of a product's document, in its language. What is of another type than it should be is not said. */
export interface DocumentFacts {
  /** Two letters: a service may answer in another language than the one asked for. */
  readonly text_language: string | null;
  readonly slug: string | null;
  /** By http or https. */
  readonly url: string | null;
  readonly summary: string | null;
  readonly description: string | null;
  readonly duration: string | null;
  /** JSON: an array of texts. */
  readonly languages: string | null;
  readonly cancellation_policy: string | null;
  /** Hours. */
  readonly cancellation_window: number | null;
  readonly supplier: string | null;
  readonly venue_name: string | null;
  readonly venue_address: string | null;
  readonly wheelchair_access: 0 | 1 | null;
  readonly is_package: 0 | 1 | null;
}

/** Returns what a document says; null is none at all. */
export function factsOf(document: string | null): DocumentFacts {
  const product = inside(document === null ? null : JSON.parse(document));
  const [cancellation, supplier, venue] = [product.cancellation, product.supplier, product.venue].map(inside) as [
    Members,
    Members,
    Members,
  ];
  return {
    text_language: /^[a-z]{2}(?=$|[-_])/.exec((words(product.language) ?? '').toLowerCase())?.[0] ?? null,
    slug: words(product.product_slug),
    url: pageAddress(product.product_url),
    summary: words(product.summary),
    description: words(product.description),
    duration: words(product.duration),
    languages: Array.isArray(product.languages)
      ? JSON.stringify(product.languages.filter((each) => typeof each === 'string'))
      : null,
    cancellation_policy: words(cancellation.policy),
    cancellation_window: hours(cancellation.window),
    supplier: words(supplier.name),
    venue_name: words(venue.name),
    venue_address: words(venue.address),
    wheelchair_access: bit(product.wheelchair_access),
    is_package: bit(product.is_package),
  };
}

function inside(value: unknown): Members {
  return isMembers(value) ? value : {};
}

function words(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A hundred years and more are no hours before a visit. */
function hours(value: unknown): number | null {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1_000_000 ? Number(value) : null;
}

function bit(value: unknown): 0 | 1 | null {
  if (typeof value !== 'boolean') return null;
  return value ? 1 : 0;
}
