/** Members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * Most names with which an answer is described, and the longest name that is printed: longer ones are ids or sentences,
 * thus data.
 */
const mostNames = 8;
const longestName = 32;

/**
 * Describes an answer to people by the names of its members and nothing else: `data, meta`. A value that is not an
 * object is described by its type.
 */
export function memberNames(value: unknown): string {
  if (Array.isArray(value)) return 'none, it is an array';
  if (!isMembers(value))
    return `none, it is ${value === null || value === undefined ? 'nothing' : `a ${typeof value}`}`;
  const names = Object.keys(value).map((name) =>
    /^[A-Za-z_$@][\w$@.:-]*$/.test(name) && name.length <= longestName ? name : '…',
  );
  const shown = [...new Set(names)].slice(0, mostNames);
  return [...shown, ...(new Set(names).size > mostNames ? ['…'] : [])].join(', ') || 'none';
}

/** Returns whether a value is a JSON object, and not an array or a number kept as printed. */
export function isMembers(value: unknown): value is Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  // Only a value without prototype can be a number kept as printed. This test is cheaper, so it comes first.
  return Object.getPrototypeOf(value) !== null || !JSON.isRawJSON(value);
}
