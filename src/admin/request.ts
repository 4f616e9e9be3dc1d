import type { z } from 'zod';
import type { Asked, Operation, OperationName } from './api.ts';

/** A request that is not as its operation describes it: everything that is wrong with it, in one line. */
class BadRequest extends Error {
  override readonly name = 'BadRequest';
  readonly statusCode = 400;
}

/** More would say nothing new. */
const problemsAtMost = 20;
const longestFound = 60;

/** Reads the parts of a request by its operation; throws a 400 that names all problems of a part. */
export function readRequest<Name extends OperationName>(
  { path, query, body }: Operation,
  given: { readonly params: unknown; readonly query: unknown; readonly body: unknown },
): Asked<Name> {
  // The types say of each operation what its schemas do.
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
  // What is not known first: it is what the others are misspelt as.
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
  // What a rule of ours says of several members together needs no "found".
  if (issue.code === 'custom' && issue.params?.said === true) return [`${at}: ${issue.message}`];
  return [`${at}: found ${found(issue.path, given)}; expected ${issue.message}`];
}

/** `variants[0].count` */
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
