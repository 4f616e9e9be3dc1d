import { decimalText, nearestNumber } from '../domain/values/exact-json.ts';
import { isMembers, type Members, memberNames } from '../domain/values/members.ts';
import { minorUnits, minorUnitsIn } from '../domain/values/money.ts';

/** An answer that is JSON, but not what the endpoint specifies: a failed read, and the old copy stays. */
export class WrongShape extends Error {
  override readonly name = 'WrongShape';
}

/** Returns the members of a JSON object; anything else is a wrong shape. */
export function members(value: unknown, what: string): Members {
  if (isMembers(value)) return value;
  throw new WrongShape(`${what} is ${kindOf(value)}, expected an object`);
}

/** Returns the elements of a JSON array; anything else, also a missing one, is a wrong shape. */
export function elements(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new WrongShape(`${what} is ${kindOf(value)}, expected an array`);
}

/**
 * Returns the elements of a member of an answer that the endpoint promises. Where it is missing, the error shows which
 * members there are: the service may call it otherwise.
 */
export function elementsIn(answer: Members, name: string): readonly unknown[] {
  if (answer[name] === undefined) throw missing(answer, name);
  return elements(answer[name], name);
}

/** The same for a member that is an object. */
export function membersIn(answer: Members, name: string): Members {
  if (answer[name] === undefined) throw missing(answer, name);
  return members(answer[name], name);
}

/** Returns the error of an object without a member that it needs, with the names of those it has as an example. */
export function missing(value: unknown, expected: string): WrongShape {
  return new WrongShape(`members: ${memberNames(value)}; expected: ${expected}`);
}

/** Text, or null for null, a missing member and what is no text. */
export function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function flag(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

/** Returns a finite number for what is measured, never for money. */
export function measure(value: unknown): number | null {
  const decimal = nearestNumber(value);
  return typeof decimal === 'number' && Number.isFinite(decimal) ? decimal : null;
}

/** A whole number, or null. */
export function integer(value: unknown): number | null {
  const number = measure(value);
  return Number.isSafeInteger(number) ? number : null;
}

/** Returns an amount in minor units of a currency: exact, or null. */
export function money(value: unknown, currency: string): number | null {
  return moneyIn(currency)(value);
}

/** The same for many amounts of one currency. */
export function moneyIn(currency: string): (value: unknown) => number | null {
  const ofNumber = minorUnitsIn(currency);
  return (value) => {
    if (typeof value === 'number') return ofNumber(value);
    const decimal = decimalText(value);
    return decimal === null ? null : minorUnits(decimal, currency);
  };
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
