/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** Tells whether a value is a JSON object, and no list or number kept as it was printed. */
export function isMembers(value: unknown): value is Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  // Only what has no prototype can be a number kept as it was printed: the cheaper question first.
  return Object.getPrototypeOf(value) !== null || !JSON.isRawJSON(value);
}
