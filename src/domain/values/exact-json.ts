/*
 * JSON whose numbers survive a round trip as the service wrote them: 17.0 stays 17.0, and an id beyond 2^53 keeps its
 * digits, which JSON.parse alone would silently round.
 */

declare global {
  interface JSON {
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  }
}

/** A number that a JavaScript number cannot print back. `JSON.stringify` prints its text. */
export interface RawNumber {
  readonly rawJSON: string;
}

/**
 * Parses JSON. A number that would be printed differently becomes a `RawNumber`. Throws a SyntaxError like JSON.parse.
 */
export function parseExact(text: string): unknown {
  return JSON.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value,
  );
}

/** Returns the decimal text of a number from `parseExact` or `JSON.parse`, or a string as it is; else null. */
export function decimalText(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return value;
  return JSON.isRawJSON(value) ? value.rawJSON : null;
}

/** Returns the number nearest to one that `parseExact` kept as text; any other value unchanged. */
export function nearestNumber(value: unknown): unknown {
  return typeof value === 'object' && JSON.isRawJSON(value) ? Number(value.rawJSON) : value;
}

/** Merges two JSON objects given as text: members of `above` override those of `below`. Numbers keep their text. */
export function mergeDocuments(below: string, above: string): string {
  return JSON.stringify({ ...members(below), ...members(above) });
}

/** Returns whether `below` has a member that `above` lacks, so that `above` alone would lose something. */
export function lacksMembers(above: string, below: string): boolean {
  const has = members(above);
  return Object.keys(members(below)).some((name) => !Object.hasOwn(has, name));
}

function members(document: string): Record<string, unknown> {
  return parseExact(document) as Record<string, unknown>;
}
