import { isMembers, type Members } from '../values/members.ts';
import { pageAddress } from '../values/page-address.ts';

/** Columns of a product that are extracted from its document. A value of an unexpected type is null. */
const facts = {
  slug: ({ product_slug }) => words(product_slug),
  /** With the scheme http or https. */
  url: ({ product_url }) => pageAddress(product_url),
  summary: ({ summary }) => words(summary),
  description: ({ description }) => words(description),
  duration: ({ duration }) => words(duration),
  /** JSON: an array of texts. */
  languages: ({ languages }) =>
    Array.isArray(languages) ? JSON.stringify(languages.filter((each) => typeof each === 'string')) : null,
  cancellation_policy: ({ cancellation }) => words(inside(cancellation).policy),
  /** Hours. */
  cancellation_window: ({ cancellation }) => hours(inside(cancellation).window),
  supplier: ({ supplier }) => words(inside(supplier).name),
  venue_name: ({ venue }) => words(inside(venue).name),
  venue_address: ({ venue }) => words(inside(venue).address),
  wheelchair_access: ({ wheelchair_access }) => bit(wheelchair_access),
  is_package: ({ is_package }) => bit(is_package),
} satisfies Record<string, (product: Members) => string | number | null>;

export type DocumentFacts = { readonly [Name in keyof typeof facts]: ReturnType<(typeof facts)[Name]> } & {
  /** Two letters. A service may answer in another language than the requested one. */
  readonly text_language: string | null;
};

export const factColumns = Object.keys(facts) as readonly (keyof typeof facts)[];

/** Returns the facts of a document. A null document has none: all are null. */
export function factsOf(document: string | null): DocumentFacts {
  const product = inside(document === null ? null : JSON.parse(document));
  const text_language = /^[a-z]{2}(?=$|[-_])/.exec((words(product.language) ?? '').toLowerCase())?.[0] ?? null;
  const columns = factColumns.map((name) => [name, facts[name](product)] as const);
  return { ...(Object.fromEntries(columns) as Omit<DocumentFacts, 'text_language'>), text_language };
}

function inside(value: unknown): Members {
  return isMembers(value) ? value : {};
}

function words(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Returns a number of hours. A value above 1,000,000 (more than a hundred years) is not plausible and becomes null. */
function hours(value: unknown): number | null {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1_000_000 ? Number(value) : null;
}

function bit(value: unknown): 0 | 1 | null {
  if (typeof value !== 'boolean') return null;
  return value ? 1 : 0;
}
