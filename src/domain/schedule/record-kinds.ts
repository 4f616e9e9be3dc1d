import type { Window } from '../catalogue/availability.ts';
import { dueNeverFetched } from './cadence.ts';
import type { KindKey } from './record.ts';
import { listResources, type ProductResource, productResources, type Resource, resources } from './resources.ts';

/** Resources that can be requested from the service now, without the paths that it turned out to lack. */
export type Offered = Pick<ReadonlySet<Resource>, 'has'>;

/** Data to mirror, by configuration and service profile. The first language and currency are the primary ones. */
export interface Extent {
  readonly languages: readonly [string, ...string[]];
  readonly currencies: readonly [string, ...string[]];
  readonly windows: readonly Window[];
  /** Resources for which the service profile has a path, and which the service is not known to lack. */
  readonly resources: Offered;
}

/** A kind of record. `due_at` is the instant in 1970 that sorts a never-fetched one. */
export interface RecordKind extends KindKey {
  readonly due_at: number;
}

/**
 * Returns the list walks. The primary one decides which products are visible. A further language or currency only adds
 * to its products.
 */
export function walkKinds({ languages, currencies, resources: offered }: Extent): {
  primary: RecordKind;
  further: RecordKind[];
} {
  const [language, ...otherLanguages] = languages;
  const [currency, ...otherCurrencies] = currencies;
  const primary = kind('products', listEdition(language, currency));
  const further = listResources.filter((resource) => resource === primary.resource || offered.has(resource));
  return {
    primary,
    further: further.flatMap((resource) => [
      ...(resource === primary.resource ? [] : [kind(resource, primary.edition)]),
      ...(resources[resource].edition === 'primary'
        ? []
        : [
            ...otherLanguages.map((other) => kind(resource, listEdition(other, currency))),
            ...(resources[resource].edition === 'language' ? [] : otherCurrencies).map((other) =>
              kind(resource, listEdition(language, other)),
            ),
          ]),
    ]),
  };
}

/** Returns the kinds of record that every product has. */
export function productKinds(extent: Extent): RecordKind[] {
  return productResources
    .filter((resource) => resources[resource].tiers || extent.resources.has(resource))
    .flatMap((resource) => {
      const parts = resources[resource].tiers ? extent.windows.map(({ part }) => part) : [0];
      const editions = editionsOf(resource, extent);
      return editions.flatMap((edition) => parts.map((part) => kind(resource, edition, part)));
    });
}

function editionsOf(resource: ProductResource, { languages, currencies }: Extent): readonly string[] {
  const [[language], [, ...otherCurrencies]] = [languages, currencies];
  switch (resources[resource].edition) {
    case 'language':
      return languages;
    case 'prices':
      // A further currency is read in the primary language, for its price.
      return [...languages, ...otherCurrencies.map((currency) => listEdition(language, currency))];
    case 'currency':
      return currencies;
  }
}

/**
 * Returns the language and currency in which a product's own read is requested: `en` means the primary currency,
 * `en/USD` a further one.
 */
export function detailEdition(
  edition: string,
  { currencies }: Pick<Extent, 'currencies'>,
): { language: string; currency: string } {
  const { language, currency } = splitListEdition(edition);
  return { language, currency: currency === '' ? currencies[0] : currency };
}

/** Returns the edition of the list that corresponds to the edition of a product's own read: `en/EUR` for `en`. */
export function listEditionOf(edition: string, extent: Pick<Extent, 'currencies'>): string {
  const { language, currency } = detailEdition(edition, extent);
  return listEdition(language, currency);
}

/** Returns the edition of a list: `en/EUR`. */
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
