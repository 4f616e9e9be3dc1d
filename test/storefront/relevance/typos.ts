import type { ProductEntry } from '../../../src/catalogue/product.rules.ts';
import type { Query } from './real-queries.ts';

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** A letter left out, added, wrong, or two exchanged; from the second letter on. */
function mistyped(word: string, nth: number, from = 1): string {
  const at = from + ((nth * 7) % (word.length - from - 1));
  const other = letters[(nth * 11 + at) % letters.length] ?? 'x';
  switch (nth % 4) {
    case 0:
      return word.slice(0, at) + word.slice(at + 1);
    case 1:
      return word.slice(0, at) + other + word.slice(at);
    case 2:
      return word.slice(0, at) + other + word.slice(at + 1);
    default:
      return word.slice(0, at) + (word[at + 1] ?? '') + (word[at] ?? '') + word.slice(at + 2);
  }
}

/** Words of titles that few titles have, each mistyped in every way, with the products that have them; the same titles always give the same ones. */
export function typosOf(entries: readonly ProductEntry[]): Readonly<Record<string, readonly Query[]>> {
  const titles = entries.map(({ product_id, title }) => ({ product_id, title: (title ?? '').toLowerCase() }));
  const all = titles.flatMap(({ title }) => [...new Set(title.match(/\b[a-z]{5,}\b/g))]);
  const counts = Map.groupBy(all, (word) => word);
  const words = [...counts].flatMap(([word, { length }]) => (length <= 5 ? [word] : [])).sort();
  const having = (word: string) =>
    titles.flatMap(({ product_id, title }) => (title.includes(word) ? [product_id] : []));
  const some = (least: number, make: (word: string, nth: number) => string): Query[] =>
    words
      .filter(({ length }) => length >= least)
      .filter((_, index, { length }) => index % Math.max(1, Math.ceil(length / 100)) === 0)
      .map((word, nth) => ({ word, typed: make(word, nth) }))
      .filter(({ word, typed }) => typed !== word && !counts.has(typed))
      .map(({ word, typed }) => [typed, having(word)]);
  return {
    'one typo': some(5, (word, nth) => mistyped(word, nth)),
    'two typos in a long word': some(8, (word, nth) => mistyped(mistyped(word, nth), nth + 5, 4)),
    'a wrong first letter': some(5, (word, nth) => (letters[(nth * 5 + 3) % letters.length] ?? 'x') + word.slice(1)),
  };
}
