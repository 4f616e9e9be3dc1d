import { InvalidArgumentError } from 'commander';
import { isSlotTime } from '../desk/check-question.rules.ts';
import { isDate } from '../kernel/time/venue.ts';

/* Parsers of options and arguments that more than one command takes. Each throws what commander prints as a usage error. */

/** Parses the id of a product. */
export function productId(value: string): number {
  if (!/^[1-9]\d{0,15}$/.test(value)) throw new InvalidArgumentError('expected a product id, a whole number.');
  return Number(value);
}

/** Parses one of the product ids of an option that may be repeated. */
export function productIds(value: string, previous: readonly number[]): number[] {
  return [...previous, productId(value)];
}

/** Parses a calendar date. */
export function calendarDate(value: string): string {
  if (!isDate(value)) throw new InvalidArgumentError('expected a calendar date, YYYY-MM-DD.');
  return value;
}

/** Parses the time of a slot. */
export function slotTime(value: string): string {
  if (!isSlotTime(value)) throw new InvalidArgumentError('expected HH:MM or whole_day.');
  return value;
}
