import { isMembers, type Members } from '../kernel/values/exact-json.ts';
import type { UpdatedField } from './awaited.rules.ts';
import { deliveryText, type NoText } from './delivery-text.rules.ts';

/*
 * Decodes deliveries (specification §2 and §6, and an older form). A payload has no id,
 * time or signature. So everything in it is a hint, taken member by member, and never becomes catalogue data.
 * Unknown values are data, not errors.
 */

/** Reason why a product went off sale, in the service's words. Texts have at most 500 characters. Null: not stated. */
export interface Closure {
  readonly reason: string | null;
  readonly expected_reopening: string | null;
  readonly alternative_product_id: number | null;
}

/** The part of a delivery about one product. */
export interface ProductNotice {
  readonly product_id: number;
  /** Set if it went off sale; null: not stated. */
  readonly closure: Closure | null;
  readonly enabled: boolean;
  readonly updated: boolean;
  /** Fields named by an update. They are used only for ordering and explaining. */
  readonly fields: readonly UpdatedField[];
}

/** Reason why a delivery is quarantined for a person to inspect. */
export type Quarantine =
  | NoText
  | 'truncated'
  | 'not-json'
  | 'wrong-shape'
  | 'too-many-products'
  | 'unknown-subscription'
  | 'unknown-change-type'
  /** A fault of this program. */
  | 'not-applied';

/** The usable part of a delivery, and the problem with the rest; `quarantine` is null if there is none. */
export interface Notification {
  readonly form: 'current' | 'legacy' | 'other';
  readonly notices: readonly ProductNotice[];
  readonly quarantine: Quarantine | null;
  /** False: products that it may name are not known, so it is worth no more than a delivery that was lost. */
  readonly understood: boolean;
}

/** So many deliveries within this time that nobody understood, and no good one since, are a gap of their subscription. */
export const notUnderstood = { deliveries: 3, within_ms: 60 * 60 * 1000 } as const;

const mostProducts = 10_000;
const mostChanges = 100;
const longestText = 500;

/**
 * Decodes the bytes of a delivery to `subscription_id`. Never throws. Unusable parts are quarantined, and the usable
 * parts still count.
 */
export function decodeNotification(
  body: Uint8Array,
  { subscription_id, truncated }: { readonly subscription_id: string; readonly truncated: boolean },
): Notification {
  if (truncated) return unusable('truncated');
  const read = deliveryText(body);
  if ('none' in read) return unusable(read.none);
  const documents = documentsIn(read.text);
  const [payload] = documents;
  if (payload === undefined) return unusable('not-json');
  const usual = documents.length === 1 ? decodeUsual(payload, subscription_id) : unusable('wrong-shape');
  return isWhole(usual) ? usual : withFound(usual, documents);
}

/** Returns whether nothing else of a delivery can be used. */
function isWhole({ quarantine, notices }: Notification): boolean {
  return quarantine === null || (quarantine === 'unknown-change-type' && notices.length > 0);
}

/** Adds the products that a delivery names in another form than the usual one. They are read, and nothing more. */
function withFound(usual: Notification, documents: readonly unknown[]): Notification {
  const { ids, more } = productIdsIn(documents);
  const known = new Set(usual.notices.map(({ product_id }) => product_id));
  const found = ids
    .filter((product_id) => !known.has(product_id))
    .map((product_id) => ({ product_id, closure: null, enabled: false, updated: true, fields: [] }));
  const notices = [...usual.notices, ...found];
  const understood = notices.length > 0 && !more;
  // What is partly of the usual form stays for a person to inspect.
  const isOther = understood && usual.notices.length === 0 && usual.quarantine === 'wrong-shape';
  return isOther
    ? { form: 'other', notices, quarantine: null, understood }
    : { form: usual.form, notices, quarantine: usual.quarantine, understood };
}

function decodeUsual(payload: unknown, subscription_id: string): Notification {
  if (!isMembers(payload)) return unusable('wrong-shape');
  if (payload.products === undefined && payload.product_id !== undefined) return decodeLegacy(payload);
  if (!Array.isArray(payload.products)) return unusable('wrong-shape');
  if (payload.products.length > mostProducts) return unusable('too-many-products');
  const { subscription_id: named } = payload;
  if (named != null && (typeof named === 'number' ? String(named) : named) !== subscription_id)
    return unusable('unknown-subscription');
  const decoded = payload.products.map(decodeProduct);
  const notices = decoded.flatMap(({ notice }) => (notice === null ? [] : [notice]));
  const quarantine = decoded.find((each) => each.quarantine !== null)?.quarantine ?? null;
  return { form: 'current', notices: merged(notices), quarantine, understood: true };
}

function decodeProduct(entry: unknown): { notice: ProductNotice | null; quarantine: Quarantine | null } {
  const product_id = isMembers(entry) ? idOf(entry.product_id) : null;
  if (!isMembers(entry) || product_id === null || !Array.isArray(entry.changes))
    return { notice: null, quarantine: 'wrong-shape' };
  const { length } = entry.changes;
  let quarantine: Quarantine | null = length === 0 || length > mostChanges ? 'wrong-shape' : null;
  let notice: ProductNotice = { product_id, closure: null, enabled: false, updated: false, fields: [] };
  for (const change of entry.changes.slice(0, mostChanges)) {
    const next = withChange(notice, change);
    // The product is known all the same, so it is read.
    if (next === null) quarantine ??= isMembers(change) ? 'unknown-change-type' : 'wrong-shape';
    notice = next ?? { ...notice, updated: true };
  }
  return { notice, quarantine };
}

function withChange(notice: ProductNotice, change: unknown): ProductNotice | null {
  if (!isMembers(change)) return null;
  switch (wordOf(change.change_type)) {
    case 'checkout_disabled':
      return {
        ...notice,
        closure: {
          // The guidance text of the specification calls it `reason` (§2).
          reason: textOf(change.reason_code) ?? textOf(change.reason),
          expected_reopening: textOf(change.expected_reopening),
          alternative_product_id: idOf(change.recommended_alternative_product_id),
        },
      };
    case 'checkout_enabled':
      return { ...notice, enabled: true };
    case 'product_details_update': {
      const field = textOf(change.field_name);
      const { old_value, new_value } = change;
      const fields = field === null ? notice.fields : [...notice.fields, { field, old_value, new_value }];
      return { ...notice, updated: true, fields };
    }
    default:
      return null;
  }
}

/**
 * Decodes a delivery of the older system: it is about one product, and the direction of a `checkout` change follows
 * only from the accompanying fields.
 */
function decodeLegacy(payload: Members): Notification {
  const product_id = idOf(payload.product_id);
  const types = payload.change_types;
  if (product_id === null || !Array.isArray(types) || types.length === 0) return unusable('wrong-shape');
  const known = types
    .slice(0, mostChanges)
    .map(wordOf)
    .filter((type) => ['checkout', 'closure', 'content'].includes(type));
  const closure = {
    reason: textOf(payload.reason),
    expected_reopening: textOf(payload.reopening_date),
    alternative_product_id: idOf(payload.alternative_product_id),
  };
  const checkout = known.includes('checkout');
  const closes = checkout && Object.values(closure).some((value) => value !== null);
  const notice = {
    product_id,
    closure: closes ? closure : null,
    enabled: checkout && !closes,
    updated: known.length < types.length || known.some((type) => type !== 'checkout'),
    fields: [],
  };
  return {
    form: 'legacy',
    notices: [notice],
    quarantine: known.length === types.length ? null : 'unknown-change-type',
    understood: true,
  };
}

/** Merges the notices of a product named several times; the last closure counts. */
function merged(notices: readonly ProductNotice[]): ProductNotice[] {
  const byProduct = new Map<number, ProductNotice>();
  for (const notice of notices) {
    const before = byProduct.get(notice.product_id);
    byProduct.set(
      notice.product_id,
      before === undefined
        ? notice
        : {
            product_id: notice.product_id,
            closure: notice.closure ?? before.closure,
            enabled: before.enabled || notice.enabled,
            updated: before.updated || notice.updated,
            fields: [...before.fields, ...notice.fields].slice(0, mostChanges),
          },
    );
  }
  return [...byProduct.values()];
}

function unusable(quarantine: Quarantine): Notification {
  return { form: 'current', notices: [], quarantine, understood: false };
}

/** Returns a word of the service in its usual spelling: `CHECKOUT_DISABLED` and `checkoutDisabled` are `checkout_disabled`. */
function wordOf(value: unknown): string {
  if (typeof value !== 'string') return '';
  return value
    .slice(0, longestText)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .trim()
    .replace(/[\s-]+/g, '_');
}

function textOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.slice(0, longestText).toWellFormed().trim();
  return text === '' ? null : text;
}

/*
 * Deliveries of a form that nobody has described: wrapped, in an array, in lines, or in a field of a web form. Only the
 * products that they name are used, to read them: a delivery is not signed, and its form says nothing about closures.
 */

/** The most products that a delivery of another form has read. */
const mostFound = 100;
const mostLines = 1000;

/** Returns the JSON documents of a text: itself, its fields as of a web form, or its lines. Empty: it has none. */
function documentsIn(text: string): unknown[] {
  const whole = parsed(text);
  if (whole !== undefined) return [whole];
  if (/^[\w.[\]-]+=/.test(text)) return [fieldsIn(text)];
  const lines = text.split('\n', mostLines).map((line) => line.trim());
  return lines.filter((line) => /^[[{]/.test(line)).flatMap((line) => parsed(line) ?? []);
}

function fieldsIn(text: string): Record<string, unknown> {
  const fields = [...new URLSearchParams(text)];
  return Object.fromEntries(fields.map(([name, value]) => [name.replace(/\[\]$/, ''), parsed(value) ?? value]));
}

/** A value of a document. */
interface Met {
  readonly value: unknown;
  /** Name of the member among `names` that it is the value of, or an element of; null: none. */
  readonly within: string | null;
  /** True: it stood in a text. JSON in a text of such a document is not searched. */
  readonly inText: boolean;
}

const names: ReadonlySet<string> = new Set(['product_id', 'product_ids', 'products']);
/** Values of a field before and after a change. They are texts of the product, and may name others. */
const values: ReadonlySet<string> = new Set(['old_value', 'new_value']);

/**
 * Returns the ids of products that documents name under `product_id`, `product_ids` and `products`, at any depth and in
 * JSON within a text. `more`: they name more than `mostFound`.
 */
function productIdsIn(documents: readonly unknown[]): {
  readonly ids: readonly number[];
  readonly more: boolean;
} {
  const ids = new Set<number>();
  const add = (value: unknown) => {
    const id = idOf(value);
    if (id !== null) ids.add(id);
  };
  // A loop, because a delivery may be nested deeper than the stack.
  const queue: Met[] = documents.map((value) => ({ value, within: null, inText: false }));
  for (let at = 0; at < queue.length && ids.size <= mostFound; at += 1) {
    const { value, within, inText } = queue[at] as Met;
    if (Array.isArray(value)) {
      for (const element of value) queue.push({ value: element, within, inText });
    } else if (isMembers(value)) {
      if (within === 'products') add(value.id);
      for (const [name, inner] of Object.entries(value))
        if (!values.has(name)) queue.push({ value: inner, within: names.has(name) ? name : null, inText });
    } else if (within !== null) {
      for (const each of typeof value === 'string' ? value.split(',') : [value]) add(each);
    } else if (typeof value === 'string' && !inText && /^\s*[[{]/.test(value)) {
      queue.push({ value: parsed(value), within: null, inText: true });
    }
  }
  return { ids: [...ids].slice(0, mostFound), more: ids.size > mostFound };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses an id: an integer in deliveries, digits elsewhere in the service. Null if it is neither. */
function idOf(value: unknown): number | null {
  const id = typeof value === 'string' && /^[1-9]\d{0,15}$/.test(value.trim()) ? Number(value) : value;
  return Number.isSafeInteger(id) && (id as number) > 0 ? (id as number) : null;
}
