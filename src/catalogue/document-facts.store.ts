import { isMembers, type Members } from '../kernel/values/exact-json.ts';
import { identifier } from '../kernel/values/identifier.ts';
import { pageAddress } from '../kernel/values/page-address.ts';
import {
  type Column,
  type Columns,
  flag,
  id,
  integers,
  json,
  minutes,
  pageUrl,
  texts,
  type ValueOf,
} from '../mirror/contract/table.ts';

/** Returns the members of a document; none where there is none. */
export function membersOf(document: string | null): Members {
  const found: unknown = document === null ? null : JSON.parse(document);
  return isMembers(found) ? found : {};
}

/** Returns what a document says of columns, each at the path of its declaration. What has another type there is null. */
export function factsOf<Declared extends Columns>(
  document: Members,
  columns: Declared,
): { readonly [Name in keyof Declared]: ValueOf<Declared[Name]> } {
  const facts = Object.entries(columns).map(([name, column]) => [name, factOf(column, at(column, document))]);
  return Object.fromEntries(facts) as { [Name in keyof Declared]: ValueOf<Declared[Name]> };
}

/** Returns the value at the path of a column: `$.venue.name`. */
function at({ from = '$' }: Column, document: Members): unknown {
  const inside = (value: unknown, name: string) => (isMembers(value) ? value[name] : undefined);
  return from.split('.').slice(1).reduce(inside, document);
}

function factOf({ type, unit }: Column, value: unknown): string | number | null {
  // The service writes some lists of one text as that text.
  if (unit === texts.unit) return listIn(isText(value) ? [value] : value, (each) => typeof each === 'string');
  if (unit === integers.unit) return listIn(value, Number.isInteger);
  if (unit === pageUrl.unit) return pageAddress(value);
  if (unit === json.unit) return value == null || value === '' ? null : JSON.stringify(value);
  if (unit === minutes.unit) return minutesIn(value);
  if (unit === id.unit) return identifier(value);
  if (type === 'real') return typeof value === 'number' ? value : null;
  if (type === 'text') return isText(value) ? value : null;
  if (unit === flag.unit) return typeof value === 'boolean' ? Number(value) : null;
  // A hundred years and more are no hours before a visit.
  const isNumber = Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1_000_000;
  return isNumber ? Number(value) : null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Returns a list without the elements of another type. */
function listIn(value: unknown, fits: (each: unknown) => boolean): string | null {
  return Array.isArray(value) ? JSON.stringify(value.filter(fits)) : null;
}

/** Returns the whole minutes of `01:15` (hours and minutes) or `0:15:00` (with seconds). */
function minutesIn(value: unknown): number | null {
  const parts = typeof value === 'string' ? /^(\d{1,3}):([0-5]\d)(?::[0-5]\d)?$/.exec(value) : null;
  return parts === null ? null : Number(parts[1]) * 60 + Number(parts[2]);
}
