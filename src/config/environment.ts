import type { Problem } from './document.ts';
import { configKeys, type Key } from './json-schema.ts';
import { didYouMean, whyLeft } from './problems.ts';
import { secretSources } from './secrets.ts';

/** Variables, as a process gets them. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A value that a variable sets, as it would stand in the file. */
export interface Setting {
  readonly key: string;
  readonly variable: string;
  readonly value: unknown;
}

const prefix = 'CATALOGUED_';
const notSettings = new Set<string>([
  ...Object.values(secretSources).map(({ variable }) => variable),
  'CATALOGUED_CONFIG',
]);

/**
 * `CATALOGUED_SERVICE__BASE_URL` sets `service.base_url`: two underscores are a dot. Lists take commas, `null` is
 * null. A variable that names no key is a problem; its value is not repeated.
 */
export function readVariables(env: Env): { settings: Setting[]; problems: Problem[] } {
  const variables = Object.keys(env).filter(
    // The tests of this project have variables of their own, and child processes inherit them.
    (name) => name.startsWith(prefix) && !notSettings.has(name) && !name.startsWith('CATALOGUED_TEST_'),
  );
  if (variables.length === 0) return { settings: [], problems: [] };
  const keys = new Map(configKeys().map((key) => [variableOf(key.name), key]));
  const settings: Setting[] = [];
  const problems: Problem[] = [];
  for (const variable of variables.sort()) {
    const key = keys.get(variable) ?? filterOf(variable);
    if (key === null) problems.push({ line: null, text: `${variable}: ${unknownVariable(variable)}` });
    else if (key.kind === 'structure')
      problems.push({
        line: null,
        text: `${variable}: ${key.name} cannot be set by a variable; expected it in the file`,
      });
    else settings.push({ key: key.name, variable, value: typed(env[variable] ?? '', key) });
  }
  return { settings, problems };
}

function variableOf(key: string): string {
  return `${prefix}${key.toUpperCase().replaceAll('.', '__')}`;
}

function keyOf(variable: string): string {
  return variable.slice(prefix.length).toLowerCase().replaceAll('__', '.');
}

/** The filters of the product list have the service's names: the schema does not know them. */
function filterOf(variable: string): Key | null {
  const name = keyOf(variable);
  return /^service\.select\.\w+$/.test(name) ? { name, kind: 'list', nullable: false } : null;
}

function unknownVariable(variable: string): string {
  const name = keyOf(variable);
  const left = whyLeft(name);
  if (left !== null) return left;
  const near = didYouMean(name);
  return near === null || near.includes('.0.')
    ? 'unknown variable; expected CATALOGUED_ and a key in upper case, with __ for each dot'
    : `unknown variable; did you mean ${variableOf(near)}?`;
}

/** Converts a variable to the key's kind. Text that does not fit stays text, so that the schema reports the problem. */
function typed(text: string, { kind, nullable }: Key): unknown {
  if (nullable && (text === '' || text === 'null')) return null;
  if (kind === 'list') return text === '' ? [] : text.split(',').map((each) => number(each.trim()));
  if (kind === 'number') return number(text);
  if (kind === 'flag' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function number(text: string): unknown {
  return /^-?\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : text;
}
