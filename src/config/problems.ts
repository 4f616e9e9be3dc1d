import type { z } from 'zod';
import type { ConfigDocument, Problem } from './document.ts';
import { knownNames } from './keys.ts';

/**
 * Returns what a schema refused, one problem each: which key, what was found, what was expected. `source` names the
 * variable that set a key, for those that one did.
 */
export function problemsOf(
  issues: readonly z.core.$ZodIssue[],
  values: unknown,
  document: ConfigDocument,
  source: (key: string) => string | null,
): Problem[] {
  const at = (path: readonly PropertyKey[], text: string): Problem => {
    const variable = source(path.join('.'));
    return variable === null
      ? { line: document.lineOf(path), text: `${written(path)}: ${text}` }
      : { line: null, text: `${variable}: ${text}` };
  };
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => at([...issue.path, key], unknownKey([...issue.path, key])))
      : [at(issue.path, `${described(issue.path, values, issue.message)}`)],
  );
}

/** Sections that others have replaced. */
const replaced: Readonly<Record<string, string>> = { removals: 'held' };

/** Returns the known name that somebody who wrote `name` most likely meant, or null. */
export function didYouMean(name: string): string | null {
  // The third subscription has the same keys as the first.
  const asked = name.replaceAll(/\.\d+(?=\.)/g, '.0');
  const [section = ''] = asked.split('.');
  if (Object.hasOwn(replaced, section)) return replaced[section] ?? null;
  const known = knownNames();
  const near = known
    .map((each) => ({ each, apart: distance(each, asked) }))
    .filter(({ each, apart }) => apart <= Math.max(1, Math.min(3, lastOf(each).length / 3)))
    .sort((a, b) => a.apart - b.apart)[0]?.each;
  if (near !== undefined) return near;
  const elsewhere = known.filter((each) => lastOf(each) === lastOf(asked));
  return elsewhere.length === 1 ? (elsewhere[0] ?? null) : null;
}

function unknownKey(path: readonly PropertyKey[]): string {
  const name = path.join('.');
  if (/(^|[._])(api_key|key|secret|token|password)$/.test(name)) {
    const advice = didYouMean(`${name}_file`);
    const variable = name.endsWith('api_key') ? ' or CATALOGUED_API_KEY' : '';
    return `a secret is never a value in this file; expected the name of its file in ${advice ?? `${name}_file`}${variable}`;
  }
  const near = didYouMean(name);
  return near === null
    ? 'unknown key; expected no such key here'
    : `unknown key; did you mean ${near.replace('.0.', '[].')}?`;
}

function described(path: readonly PropertyKey[], values: unknown, message: string): string {
  const value = valueAt(values, path);
  const found = print(value);
  if (!message.startsWith('expected')) return isScalar(value) ? `${found} ${message}` : message;
  return value === undefined ? `is required; ${message}` : `found ${found}; ${message}`;
}

/** `subscriptions[0].type` */
function written(path: readonly PropertyKey[]): string {
  const name = path.map((each) => (typeof each === 'number' ? `[${each}]` : `.${String(each)}`)).join('');
  return name.replace(/^\./, '') || 'the file';
}

function valueAt(values: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (node, name) =>
      typeof node === 'object' && node !== null ? (node as Record<PropertyKey, unknown>)[name] : undefined,
    values,
  );
}

function isScalar(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value !== 'object';
}

const longest = 60;

function print(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'keys and values';
  if (typeof value !== 'string') return String(value);
  // An address may carry a password, and a problem ends up in logs.
  const shown = value.replace(/\/\/[^/\s]*@/, '//…@');
  return JSON.stringify(shown.length > longest ? `${shown.slice(0, longest)}…` : shown);
}

function lastOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Levenshtein's distance, for short names. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substituted);
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
