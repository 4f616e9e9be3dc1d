import type { Members } from '../kernel/values/exact-json.ts';

/**
 * Field named by an update, with its values before and after. A value is undefined if the update does not include it.
 */
export interface UpdatedField {
  readonly field: string;
  readonly old_value: unknown;
  readonly new_value: unknown;
}

/**
 * Returns whether no read has shown an update yet: one of our documents still has the old value that the update names.
 * False if the field is not mirrored, or in another language.
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

/**
 * Returns whether two JSON values are equal. Texts may differ in their line endings, which updates and reads send
 * differently.
 */
export function isSame(one: unknown, other: unknown): boolean {
  if (typeof one === 'string' && typeof other === 'string') return plain(one) === plain(other);
  return JSON.stringify(one) === JSON.stringify(other);
}

function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').trim();
}
