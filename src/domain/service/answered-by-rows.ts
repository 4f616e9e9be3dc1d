import type { ListQuestion, Question } from './adapter.ts';

/** Returns whether a question is answered by rows: one for a list, or for the variants of a product. */
export function hasRows(kind: Question['kind']): kind is ListQuestion['kind'] | 'variants' {
  return kind === 'products' || kind === 'experiences' || kind === 'tags' || kind === 'variants';
}
