/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** Tells whether a value is a JSON object, and no list or number kept as it was printed. */
export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}
