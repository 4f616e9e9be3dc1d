import type { z } from 'zod';
import { leaseTimes } from '../copies/postgres/lease.rules.ts';
import { laneShares } from '../schedule/lanes.rules.ts';
import { mostTimes } from '../service/extra-calls.rules.ts';
import type { ConfigDocument, Problem } from './document.ts';
import { knownNames } from './json-schema.ts';

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

/** Keys and sections that were in the file before 1.0, and what they are now. */
export const left: Readonly<Record<string, string>> = {
  'backup.every': 'is backup.at since 1.0, a pattern like "0 3 * * *"',
  'budget.extra_calls': 'is budget.share since 1.0',
  'budget.lanes': constant(sharesText()),
  'budget.times': constant(`${mostTimes} times what the cadences need`),
  'cadence.availability.floor': constant('5 minutes, and 15 below 1,000 products'),
  'database.publish_every': constant('250 ms'),
  'images.max_bytes': constant('20 MiB'),
  leadership: constant(`a lease of ${seconds(leaseTimes.lease)}, renewed every ${seconds(leaseTimes.renew)}`),
  'mirror.inbox_path': 'is inbox.db in mirror.state_dir since 1.0',
  removals: 'is held since 1.0',
  'service.profile.burst_statuses': constant('403'),
  'service.profile.max_bytes': constant('32 MiB for a page of the list, 4 MiB for any other answer'),
  'service.profile.timeouts': 'is service.profile.timeout since 1.0, the total time of a call',
  'signing.algorithm': constant('RS256'),
};

function constant(value: string): string {
  return `is a constant since 1.0: ${value}`;
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}

function sharesText(): string {
  const reserved = Object.entries(laneShares).filter(([, share]) => share > 0);
  return reserved.map(([lane, share]) => `${lane} ${share * 100} %`).join(', ');
}

/** Returns what became of a key that has left the file, or of the section that it was in; null: it was never there. */
export function whyLeft(name: string): string | null {
  return Object.entries(left).find(([each]) => name === each || name.startsWith(`${each}.`))?.[1] ?? null;
}

/** Returns the known name that somebody who wrote `name` most likely meant, or null. */
export function didYouMean(name: string): string | null {
  // The third subscription has the same keys as the first.
  const asked = name.replaceAll(/\.\d+(?=\.)/g, '.0');
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
  const left = whyLeft(name);
  if (left !== null) return left;
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
  // A file without any key is often another one, and may be that of a secret.
  const found = path.length === 0 && isScalar(value) ? 'text' : print(value);
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
