import type { Window } from '../catalogue/availability.ts';
import { dueNeverFetched } from './cadence.ts';
import type { Resource } from './record.ts';

/** What can be asked of the service, as of now: what it turns out to lack goes, and may come back. */
export type Resources = Pick<ReadonlySet<Resource>, 'has'>;

/** What the configuration and the service profile ask to be mirrored. The first language and currency are the primary. */
export interface Extent {
  readonly languages: readonly [string, ...string[]];
  readonly currencies: readonly [string, ...string[]];
  readonly windows: readonly Window[];
  /** Resources that the service profile has a path for, and that the service is not known to lack. */
  readonly resources: Resources;
}

/** A kind of record, and the instant in 1970 that puts a never-fetched one in its place. */
export interface RecordKind {
  readonly resource: Resource;
  readonly edition: string;
  readonly part: number;
  readonly due_at: number;
}

/** The list walks. The primary one decides what is visible; a further language or currency only adds to what it found. */
export function walkKinds({ languages, currencies, resources }: Extent): {
  primary: RecordKind;
  further: RecordKind[];
} {
  const [language, ...otherLanguages] = languages;
  const [currency, ...otherCurrencies] = currencies;
  const further = [
    ...otherLanguages.map((other) => kind('products', listEdition(other, currency))),
    ...otherCurrencies.map((other) => kind('products', listEdition(language, other))),
  ];
  if (resources.has('experiences')) further.push(kind('experiences', listEdition(language, currency)));
  return { primary: kind('products', listEdition(language, currency)), further };
}

/** What is fetched for every product. */
export function productKinds({ languages, currencies, windows, resources }: Extent): RecordKind[] {
  const inLanguages = (['product_detail', 'checkout_information', 'variants'] as const).flatMap((resource) =>
    resources.has(resource) ? languages.map((language) => kind(resource, language)) : [],
  );
  // A further currency is read in the primary language, for its price.
  const [language, [, ...otherCurrencies]] = [languages[0], currencies];
  const inCurrencies = resources.has('product_detail')
    ? otherCurrencies.map((currency) => kind('product_detail', listEdition(language, currency)))
    : [];
  return [
    ...inLanguages,
    ...inCurrencies,
    ...currencies.flatMap((currency) => windows.map(({ part }) => kind('availability', currency, part))),
  ];
}

/** Which language and currency a product's own read is asked for in: `en` in the primary currency, `en/USD` in a further one. */
export function detailEdition(
  edition: string,
  { currencies }: Pick<Extent, 'currencies'>,
): { language: string; currency: string } {
  const { language, currency } = splitListEdition(edition);
  return { language, currency: currency === '' ? currencies[0] : currency };
}

/** The edition of a list: `en/EUR`. */
function listEdition(language: string, currency: string): string {
  return `${language}/${currency}`;
}

export function splitListEdition(edition: string): { language: string; currency: string } {
  const [language = '', currency = ''] = edition.split('/');
  return { language, currency };
}

function kind(resource: Resource, edition: string, part = 0): RecordKind {
  return { resource, edition, part, due_at: dueNeverFetched({ resource, part }).at };
}
