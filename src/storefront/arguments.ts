import { badArgument } from './problems.ts';

/** A route's parameter is a text: quoted, so that the mistake can be seen. */
function printed(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
}

/** Returns a question that is an object with only these members. A mistyped one would otherwise be ignored. */
export function members<Asked extends object>(
  name: string,
  asked: Asked,
  known: readonly (keyof Asked & string)[],
): Asked {
  if (typeof asked !== 'object' || asked === null || Array.isArray(asked))
    throw badArgument(`${name}: found ${printed(asked)}`, `give an object with ${known.join(', ')}`);
  for (const [member, value] of Object.entries(asked))
    if (value !== undefined && !(known as readonly string[]).includes(member))
      throw badArgument(`${name}: "${member.slice(0, 60)}" is not known`, `known are ${known.join(', ')}`);
  return asked;
}

/** A whole number of a range, or the one that stands for none given. */
export function wholeNumber(
  name: string,
  value: number | undefined,
  { least = 0, most = 1000, absent = 0 } = {},
): number {
  if (value === undefined) return absent;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw badArgument(`${name}: found ${printed(value)}`, `give a whole number from ${least} to ${most}`);
}

/** Returns an identifier of the service, as a number. */
export function identifier(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw badArgument(`${name}: found ${printed(value)}`, 'give its id in the mirror, an integer');
}

/** Returns a number of a range. */
export function inRange(name: string, value: number, least: number, most: number): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw badArgument(`${name}: found ${printed(value)}`, `give a number from ${least} to ${most}`);
}

/** Refuses what is neither true nor false. */
export function truth(name: string, value: boolean): void {
  if (typeof value !== 'boolean') throw badArgument(`${name}: found ${printed(value)}`, 'give true or false');
}

const dayMs = 86_400_000;

/** Returns a date of the calendar, as the mirror writes it: days since 1970 tell that there is such a date. */
export function dayNumber(name: string, date: string): number {
  if (typeof date === 'string' && /^\d{4}-\d\d-\d\d$/.test(date)) {
    const at = Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)) - 1, Number(date.slice(8)));
    if (new Date(at).toISOString().slice(0, 10) === date) return at / dayMs;
  }
  throw badArgument(`${name}: there is no date "${String(date)}"`, 'give a date of the calendar as YYYY-MM-DD');
}

/** Returns the date that so many days after 1970-01-01 is. */
export function dateOf(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}
