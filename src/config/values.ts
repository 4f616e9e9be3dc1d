import { isIP } from 'node:net';
import { z } from 'zod';
import { isZone, patternProblem } from '../kernel/time/wall-clock.ts';

/*
 * The kinds of value a key can have. A message starts with "expected", or says first what is wrong: "is longer than …;
 * expected …". What was found is put in front of it (problems.ts).
 */

/** Text without control characters: it ends up in a header, a path or a log line. */
export function text(fallback: string) {
  return plainText().default(fallback);
}

/** Text without a default. */
export function plainText() {
  return (
    z
      .string({ error: 'expected text' })
      .min(1, { error: 'expected text' })
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      .regex(/^[^\u0000-\u001f\u007f]*$/, { error: 'has control characters; expected one line of text' })
  );
}

/** Text that matches a pattern. */
export function matching(pattern: RegExp, error: string) {
  return z.string({ error }).regex(pattern, { error });
}

/** Text that passes a test. */
function passing(fits: (value: string) => boolean, error: string) {
  return z.string({ error }).refine(fits, { error });
}

/** Text that is allowed in an HTTP header. */
export function headerText() {
  const error = 'expected letters, digits, spaces and punctuation of ASCII';
  return matching(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, error);
}

/** The name of an HTTP header or query parameter, without a default. */
export function token() {
  return matching(/^[\w.[\]-]+$/, 'expected a name of letters, digits, - and _');
}

/** The name of a schema of PostgreSQL; its own begin with `pg_`. */
export function schemaName(fallback: string) {
  const error = 'expected a name of lower case letters, digits and _';
  return matching(/^(?!pg_)[a-z_][a-z0-9_]{0,47}$/, error).default(fallback);
}

export function flag(fallback: boolean) {
  return z.boolean({ error: 'expected true or false' }).default(fallback);
}

/** A whole number in a range. */
export function whole(fallback: number, min: number, max: number) {
  return wholeIn(min, max).default(fallback);
}

export function wholeIn(min: number, max: number, what = 'a whole number') {
  const error = `expected ${what} from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** From 0 to 1: `0.1` is ten percent. */
export function share(fallback: number) {
  const error = 'expected a share from 0 to 1';
  return z.number({ error }).min(0, { error }).max(1, { error }).default(fallback);
}

/** A media type, perhaps with parameters, as a header has it. */
export function mediaType(fallback: string) {
  const error = `expected a media type like ${fallback}`;
  return matching(/^[\w.+-]+\/[\w.+-]+( *; *[\w.+-]+=[\w.+-]+)*$/, error).default(fallback);
}

export function oneOf<const Names extends readonly [string, ...string[]]>(names: Names) {
  const error = `expected ${names.length === 1 ? '' : 'one of '}${names.join(', ')}`;
  return z.enum(names, { error });
}

/** Identifiers of the service: positive whole numbers, each once. */
export function ids() {
  const error = 'expected an id, a positive whole number';
  return z.array(z.int({ error }).positive({ error }), { error: 'expected a list of ids' }).refine(areDistinct, {
    error: 'expected each id once',
  });
}

/** A list of texts, empty by default; `what` names them. */
function listOf(item: z.ZodType<string>, what: string) {
  return z.array(item, { error: `expected a list of ${what}` }).default([]);
}

/** Names of hosts; none, unless some are named. */
export function hostNames() {
  return listOf(z.string().regex(/^[A-Za-z0-9.-]+$/, { error: 'expected the name of a host' }), 'hosts');
}

/** A key that is no secret. */
export function publicKey() {
  const error = 'expected 16 characters or more, without spaces, or null';
  return matching(/^[\x21-\x7e]{16,}$/, error)
    .nullable()
    .default(null);
}

/** Origins of pages, as a browser sends them. */
export function origins() {
  const error = 'expected an origin without a path, like https://shop.example';
  return listOf(
    passing((value) => URL.parse(value)?.origin === value, error),
    'origins',
  );
}

/** The address of a web server; null: none. */
export function webAddress(error: string) {
  return z
    .url({ protocol: /^https?$/, hostname: /./, error })
    .refine((value) => !/^\w+:\/\/[^/]*@|[?#]/.test(value), { error: `has credentials or a query; ${error}` })
    .nullable()
    .default(null);
}

/** Five fields of cron. */
export function cronPattern(fallback: string) {
  const error = 'expected a cron pattern of five fields, like "0 4 * * *"';
  return passing((value) => patternProblem(value) !== 'bad', error)
    .refine((value) => patternProblem(value) !== 'never', { error: `never matches a date; ${error}` })
    .default(fallback);
}

/** A cron pattern that null switches off. */
export function optionalCronPattern(fallback: string) {
  return cronPattern(fallback).unwrap().nullable().default(fallback);
}

export function zone(fallback: string) {
  return passing(isZone, 'expected a time zone like Europe/Amsterdam, or UTC').default(fallback);
}

/** A file that may be left out. */
export function optionalFile() {
  const error = 'expected the path of a file, or null';
  return z.string({ error }).min(1, { error }).nullable().default(null);
}

const addressPattern = /^(unix:.+|([\w.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5}))$/;

/** `unix:PATH` or `HOST:PORT`. */
export function address(fallback: string) {
  return anyAddress().default(fallback);
}

/** The same, or nothing listens. */
export function optionalAddress() {
  return anyAddress().nullable().default(null);
}

function anyAddress() {
  const error = 'expected unix:PATH or HOST:PORT';
  return matching(addressPattern, error).refine((value) => Number(addressPattern.exec(value)?.[3] ?? 0) <= 65_535, {
    error: `has a port above 65535; ${error}`,
  });
}

/** Addresses (`192.0.2.1`) and networks (`192.0.2.0/24`, `2001:db8::/32`). */
export function networks() {
  return listOf(passing(isNetwork, 'expected an IP address, or a network like 192.0.2.0/24'), 'addresses');
}

/** Keys and values; other keys are refused. */
export function structure<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, { error: 'expected keys and values' });
}

/** All keys have defaults: the section may be left out as a whole. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return structure(shape).prefault({} as never);
}

/** Notes a problem of a rule over several keys: `path` leads to the value that is shown. */
export function refuse(context: z.RefinementCtx, path: readonly (string | number)[], message: string): void {
  context.addIssue({ code: 'custom', path: [...path], message });
}

/** For a rule over several keys: it is looked at although something else in the section is wrong, so that all problems show at once. */
export const always = {
  when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** The same for a rule over the entries of a list. */
export const alwaysOfList = { when: ({ value }: { value: unknown }) => Array.isArray(value) };

/** Refuses each entry of a list that repeats the name of an earlier one, for `superRefine`. */
export function eachOnce<Key extends string>(key: Key) {
  return (list: readonly Partial<Record<Key, unknown>>[], context: z.RefinementCtx): void => {
    const names: unknown[] = list.map((entry) => (entry as Partial<Record<Key, unknown>> | null)?.[key]);
    for (const [index, name] of names.entries()) {
      const first = names.indexOf(name);
      if (typeof name === 'string' && first < index)
        refuse(context, [index, key], `is also the ${key} of entry ${first + 1}; expected each ${key} once`);
    }
  };
}

export function areDistinct(list: readonly unknown[]): boolean {
  return new Set(list).size === list.length;
}

function isNetwork(value: string): boolean {
  const [ip = '', bits, ...rest] = value.split('/');
  const version = isIP(ip);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}
