import type { SandboxProduct, SandboxVariant } from './catalogue.ts';
import { translate } from './translate.ts';

/** The read that shows an edited member. */
type Shown = 'product' | 'checkout_information';

/**
 * The members that may be edited, by the names that notifications use. Each has the read that shows it, and its kind of
 * value; texts are translated.
 */
const members = {
  title: ['product', 'text'],
  tagline: ['product', 'text'],
  summary: ['product', 'text'],
  whats_included: ['product', 'text'],
  whats_excluded: ['product', 'text'],
  starting_time: ['product', 'word'],
  duration: ['product', 'word'],
  exhibitions: ['product', 'list'],
  languages: ['product', 'list'],
  must_know: ['checkout_information', 'text'],
  good_to_know: ['checkout_information', 'text'],
  pre_purchase: ['checkout_information', 'text'],
  usage: ['checkout_information', 'text'],
  included: ['checkout_information', 'text'],
  excluded: ['checkout_information', 'text'],
  post_purchase: ['checkout_information', 'text'],
} as const satisfies Record<string, readonly [Shown, 'text' | 'word' | 'list']>;

export type EditableMember = keyof typeof members;
export type EditableField = EditableMember | 'description' | 'tags' | 'variants';

export const editableFields: readonly EditableField[] = [
  ...(Object.keys(members) as EditableMember[]),
  'description',
  'tags',
  'variants',
];

type EditedVariant = Pick<SandboxVariant, 'id' | 'label'> & Partial<SandboxVariant>;

/**
 * A change of the values that reads show. `variants`: an array of `{id, label, type?, factor?}`; `tags`: an array of
 * numbers.
 */
export interface Edit {
  readonly field: EditableField;
  readonly value: unknown;
}

/** Returns the reason why a value from outside is not an edit; null: it is one. */
export function refuseEdit({ field, value }: { field: unknown; value: unknown }): string | null {
  if (!editableFields.includes(field as EditableField)) return `field: one of ${editableFields.join(', ')}`;
  switch (kindOf(field as EditableField)) {
    case 'array of numbers':
      return Array.isArray(value) && value.every(Number.isSafeInteger) ? null : 'value: an array of numbers';
    case 'array of variants':
      return Array.isArray(value) && value.length > 0 && value.every(isVariant)
        ? null
        : 'value: an array of {id, label}';
    case 'list':
      return value === null || Array.isArray(value) ? null : 'value: an array, or null';
    case 'text that stays':
      return typeof value === 'string' ? null : 'value: a text';
    default:
      return value === null || typeof value === 'string' ? null : 'value: a text, or null';
  }
}

/** Applies an edit to all reads. Returns the field's type, and its old and new value in English. */
export function applyEdit(
  product: SandboxProduct,
  { field, value }: Edit,
  shown: { product: Record<string, unknown>; checkout_information: Record<string, unknown> },
): { type: string; old_value: unknown; new_value: unknown } {
  const type = Array.isArray(value) || kindOf(field).startsWith('array') ? 'array' : 'string';
  switch (field) {
    case 'tags': {
      const tag_ids = value as number[];
      const old_value = (shown.product.tag_ids as unknown[]).map(Number);
      product.tag_ids = tag_ids;
      record(product, { tag_ids: tag_ids.map(String) });
      return { type, old_value, new_value: tag_ids };
    }
    case 'variants': {
      const old_value = product.variants.map(named);
      product.variants = (value as EditedVariant[]).map(({ id, label, type: kind = 'adult', factor = 1 }) => ({
        id,
        label,
        type: kind,
        factor,
      }));
      return { type, old_value, new_value: product.variants.map(named) };
    }
    case 'description':
      product.description = value as string;
      record(product, { description: value });
      return { type, old_value: shown.product.description ?? null, new_value: value };
    default: {
      const old_value = shown[members[field][0]][field] ?? null;
      if (members[field][0] === 'product' && product.recorded !== null) record(product, { [field]: value });
      else product.edits = { ...product.edits, [field]: value };
      return { type, old_value, new_value: value };
    }
  }
}

/** Changes a recorded answer, which is served unchanged otherwise. */
export function record(product: SandboxProduct, changed: Readonly<Record<string, unknown>>): void {
  if (product.recorded !== null) product.recorded = { ...product.recorded, ...changed };
}

/** All other members belong to the product itself, and are the same in every language. */
const otherMember = ['product', 'word'] as const;

/** Returns the edited members of one read, in a language. */
export function editedMembers({ edits }: SandboxProduct, shown: Shown, language: string): Record<string, unknown> {
  if (edits === null) return {};
  const edited = Object.entries(edits).map(([field, value]) => {
    const [where, kind] = field in members ? members[field as EditableMember] : otherMember;
    return { field, where, value: typeof value === 'string' && kind === 'text' ? translate(value, language) : value };
  });
  return Object.fromEntries(edited.filter(({ where }) => where === shown).map(({ field, value }) => [field, value]));
}

function kindOf(field: EditableField) {
  if (field === 'tags') return 'array of numbers';
  if (field === 'variants') return 'array of variants';
  return field === 'description' || field === 'title' ? 'text that stays' : members[field][1];
}

function named({ id, label }: SandboxVariant) {
  return { id, label };
}

function isVariant(value: unknown): boolean {
  const { id, label, factor = 1 } = (value ?? {}) as Partial<SandboxVariant>;
  return Number.isSafeInteger(id) && typeof label === 'string' && typeof factor === 'number' && factor >= 0;
}
