/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** So many names describe an answer; names that are ids or sentences are data. */
const mostNames = 8;
const longestName = 32;

/**
 * Describes an answer by the names of its members and nothing else, for people: `data, meta`. What is no object is
 * described by its kind.
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

/** Tells whether a value is a JSON object, and no list or number kept as it was printed. */
export function isMembers(value: unknown): value is Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  // Only what has no prototype can be a number kept as it was printed: the cheaper question first.
  return Object.getPrototypeOf(value) !== null || !JSON.isRawJSON(value);
}
