import { createRequire } from 'node:module';
import type { Stem } from '../../../domain/search/terms.ts';

const require = createRequire(import.meta.url);

interface Stemmer {
  readonly stemmer: Stem;
}

/** Snowball's stemmers by language, each loaded when it is first needed: most mirrors have one language or three. */
const stemmers: Readonly<Record<string, () => unknown>> = {
  ar: () => require('@orama/stemmers/arabic'),
  da: () => require('@orama/stemmers/danish'),
  de: () => require('@orama/stemmers/german'),
  el: () => require('@orama/stemmers/greek'),
  en: () => require('@orama/stemmers/english'),
  es: () => require('@orama/stemmers/spanish'),
  fi: () => require('@orama/stemmers/finnish'),
  fr: () => require('@orama/stemmers/french'),
  hu: () => require('@orama/stemmers/hungarian'),
  id: () => require('@orama/stemmers/indonesian'),
  it: () => require('@orama/stemmers/italian'),
  nl: () => require('@orama/stemmers/dutch'),
  no: () => require('@orama/stemmers/norwegian'),
  pt: () => require('@orama/stemmers/portuguese'),
  ro: () => require('@orama/stemmers/romanian'),
  ru: () => require('@orama/stemmers/russian'),
  sv: () => require('@orama/stemmers/swedish'),
  tr: () => require('@orama/stemmers/turkish'),
};

/** Takes the ending off a word of a language; of one without a stemmer, words stay as they are. */
export function stemOf(language: string): Stem {
  const load = stemmers[language.slice(0, 2)];
  return load === undefined ? (written) => written : (load() as Stemmer).stemmer;
}
