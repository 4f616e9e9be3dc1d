import { nearestNumber } from './exact-json.ts';

/**
 * Returns an identifier as the mirror stores it: a positive integer, in any form that the service sends (digits in a
 * string or a number, also 12.0). Null for anything else, and beyond 2^53, where numbers no longer distinguish two
 * identifiers.
 */
export function identifier(value: unknown): number | null {
  const id = typeof value === 'string' && /^[0-9]{1,16}$/.test(value) ? Number(value) : nearestNumber(value);
  return typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? id : null;
}
