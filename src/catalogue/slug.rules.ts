import { fold } from '../storefront/search/words.rules.ts';

const mostLetters = 80;

/**
 * Returns a name as the addresses of pages have it: lower case, plain letters, hyphens between words (`Saint-Émilion` is
 * `saint-emilion`). Null if it has no letters. The views put the id behind it, so that two places of one name differ.
 */
export function slugOf(name: string | null): string | null {
  const words = fold(name ?? '').match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  return words.join('-').slice(0, mostLetters).replace(/-$/, '') || null;
}
