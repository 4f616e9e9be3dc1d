import type { Members } from '../values/members.ts';

/** A field that an update names, with its values before and after as it tells them; undefined: not told. */
export interface UpdatedField {
  readonly field: string;
  readonly old_value: unknown;
  readonly new_value: unknown;
}

/**
 * Tells whether a read has yet to show an update: one of our documents shows what it calls the old value. Of another language,
 * or of a field that we do not mirror, none does.
 */
export function isAwaited(documents: readonly Members[], updated: readonly UpdatedField[]): boolean {
  return updated.some(
    ({ field, old_value, new_value }) =>
      old_value !== undefined &&
      old_value !== null &&
      !isSame(old_value, new_value) &&
      documents.some((document) => Object.hasOwn(document, field) && isSame(document[field], old_value)),
  );
}

/** Values come from JSON; texts are told with other ends of lines than they are read with. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one === 'string' && typeof other === 'string') return plain(one) === plain(other);
  return JSON.stringify(one) === JSON.stringify(other);
}

function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').trim();
}
