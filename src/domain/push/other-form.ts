import { isMembers } from '../values/members.ts';

/*
 * Deliveries of a form that nobody has described: wrapped, in an array, in lines, or in a field of a web form. Only the
 * products that they name are used, to read them: a delivery is not signed, and its form says nothing about closures.
 */

/** The most products that a delivery of another form has read. */
const mostFound = 100;
const mostLines = 1000;

/** Returns the JSON documents of a text: itself, its fields as of a web form, or its lines. Empty: it has none. */
export function documentsIn(text: string): unknown[] {
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
export function productIdsIn(documents: readonly unknown[]): {
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
export function idOf(value: unknown): number | null {
  const id = typeof value === 'string' && /^[1-9]\d{0,15}$/.test(value.trim()) ? Number(value) : value;
  return Number.isSafeInteger(id) && (id as number) > 0 ? (id as number) : null;
}
