import type { z } from 'zod';
import type { Operation } from './api/operation.ts';
import type { Asked, OperationName } from './api.ts';

/** Thrown for a request that does not match its operation: the message names every problem in one line. */
class BadRequest extends Error {
  override readonly name = 'BadRequest';
  readonly statusCode = 400;
}

/** Returns the body of the answer to an invalid request. */
export function badRequest(message: string): {
  readonly error: string;
  readonly message: string;
  readonly hint: string;
} {
  const hint = 'correct what is named: /openapi.json describes every request';
  return { error: 'bad-request', message, hint };
}

/** The most problems named in one error; more would not help. */
const problemsAtMost = 20;
const longestFound = 60;

/** Parses the parts of a request by the schemas of its operation. Throws a 400 that names every problem of a part. */
export function readRequest<Name extends OperationName>(
  { path, query, body }: Operation,
  given: { readonly params: unknown; readonly query: unknown; readonly body: unknown },
): Asked<Name> {
  // Safe casts: the types of each operation follow from its schemas.
  return {
    path: read(path, given.params),
    query: read(query, given.query),
    body: read(body, given.body),
  } as Asked<Name>;
}

function read(schema: z.ZodObject | undefined, given: unknown): unknown {
  if (schema === undefined) return undefined;
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  // Unknown members come first: they are often misspellings of the missing ones.
  const last = ({ code }: z.core.$ZodIssue) => Number(code !== 'unrecognized_keys');
  const issues = error.issues.toSorted((a, b) => last(a) - last(b));
  const problems = [...new Set(issues.flatMap((issue) => problemsOf(issue, given)))];
  const more = problems.length - problemsAtMost;
  throw new BadRequest(problems.slice(0, problemsAtMost).join('; ') + (more > 0 ? `; and ${more} more` : ''));
}

function problemsOf(issue: z.core.$ZodIssue, given: unknown): string[] {
  const at = written(issue.path);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${at}${at === '' ? '' : '.'}${key.slice(0, longestFound)}: ${issue.message}`);
  if (at === '') return [issue.message];
  // A rule about several members together has no single invalid value to name.
  if (issue.code === 'custom' && issue.params?.said === true) return [`${at}: ${issue.message}`];
  return [`${at}: found ${found(issue.path, given)}; expected ${issue.message}`];
}

/** Writes a path like `variants[0].count`. */
function written(path: readonly PropertyKey[]): string {
  const name = path.map((each) => (typeof each === 'number' ? `[${each}]` : `.${String(each)}`)).join('');
  return name.replace(/^\./, '');
}

function found(path: readonly PropertyKey[], given: unknown): string {
  const value = path.reduce<unknown>(
    (node, name) =>
      typeof node === 'object' && node !== null ? (node as Record<PropertyKey, unknown>)[name] : undefined,
    given,
  );
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, longestFound);
}
