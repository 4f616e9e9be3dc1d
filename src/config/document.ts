import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';

/** A configuration file as it was written, so that a problem can name its line. */
export interface ConfigDocument {
  /** The values, or null where the text is no YAML. */
  readonly values: unknown;
  /** What is wrong with the text itself, each with its line. */
  readonly problems: readonly string[];
  lineOf(path: readonly PropertyKey[]): number | null;
}

/** Reads YAML. Aliases are not expanded beyond a few, so that a small file cannot become a large one. */
export function readDocument(text: string): ConfigDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false, stringKeys: true });
  const problems = document.errors.map(
    (error) => `line ${lines.linePos(error.pos[0]).line}: ${error.message.split('\n')[0]}`,
  );
  if (problems.length > 0) return { values: null, problems, lineOf: () => null };
  return {
    values: document.toJS({ maxAliasCount: 20 }) ?? {},
    problems: [],
    lineOf: (path) => {
      const offset = offsetOf(document, path);
      return offset === null ? null : lines.linePos(offset).line;
    },
  };
}

/** Where a key, or the nearest thing above it that is written down, stands in the text. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number | null {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const name = path[length - 1];
    if (isMap(parent)) {
      const pair = parent.items.find(({ key }) => isScalar(key) && key.value === name);
      if (pair !== undefined && isNode(pair.key)) return pair.key.range?.[0] ?? null;
    }
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node)) return node.range?.[0] ?? null;
  }
  return null;
}

/** One line a problem: where, which key, what was found, what was expected. */
export function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  document: ConfigDocument,
  known: readonly string[],
): string[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => unknownKey([...issue.path, key], document, known));
    const where = place(issue.path, document);
    const message =
      issue.code === 'invalid_union'
        ? issue.message === 'Invalid input'
          ? 'expected something else'
          : issue.message
        : issue.message;
    return [`${where}${issue.path.join('.') || 'the file'}${found(issue.path, document)}: ${message}`];
  });
}

function unknownKey(path: readonly PropertyKey[], document: ConfigDocument, known: readonly string[]): string {
  const name = path.join('.');
  const secret = /(^|\.)(api_key|key|secret|token|password)$/.test(name);
  const near = known
    .filter((each) => distance(each, name) <= 3)
    .sort((a, b) => distance(a, name) - distance(b, name))[0];
  const advice = secret
    ? `a secret is never a value here: name its file in ${name}_file`
    : near === undefined
      ? 'expected no such key'
      : `did you mean ${near}?`;
  return `${place(path, document)}${name}: unknown key; ${advice}`;
}

function place(path: readonly PropertyKey[], document: ConfigDocument): string {
  const line = document.lineOf(path);
  return line === null ? '' : `line ${line}: `;
}

/** The value as it was written, where it is short and not there by default. */
function found(path: readonly PropertyKey[], { values }: ConfigDocument): string {
  let value: unknown = values;
  for (const name of path)
    value = typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[name] : undefined;
  if (value === undefined || path.length === 0 || (typeof value === 'object' && value !== null)) return '';
  return ` is ${JSON.stringify(String(value)).slice(0, 60)}`;
}

/** Levenshtein's distance, for short names. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
