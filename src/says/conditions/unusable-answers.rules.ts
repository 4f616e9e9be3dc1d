import { isList, type Resource } from '../../schedule/resources.rules.ts';

/*
 * Decides whether the answers of the service cannot be used at all: rows or ids under another name, pages that are not
 * numbered. A single record may be broken. A list, or many records, prove that it is the service.
 */

/** Codes of failures in which an answer came and nothing in it could be used, or nothing can be asked. */
const codes = [
  'wrong-shape',
  'same-page',
  'not-json',
  'not-json-type',
  'redirect',
  'invalid-utf8',
  'bad-encoding',
  'too-deep',
  'adapter',
];

/** Number and share of a resource's records from which they are no longer single failures. */
const fewest = 5;
const leastShare = 0.1;

/** Answers that could not be used. */
export interface UnusableAnswers {
  readonly resource: Resource;
  /** Code and message of the failure, with an example of the answer. */
  readonly failure: string;
  readonly records: number;
}

/** Returns whether a stored failure is an answer that could not be used. */
export function isUnusable(failure: string): boolean {
  return codes.includes(failure.slice(0, Math.max(0, failure.indexOf(':'))));
}

/**
 * Returns the unusable answers to name first: those about a list (the product list before others), else those about the
 * most records. `all` counts the records of each resource. Null if only single records are concerned.
 */
export function mostUnusable(
  failing: readonly UnusableAnswers[],
  all: ReadonlyMap<string, number>,
): UnusableAnswers | null {
  const unusable = failing.filter(({ failure }) => isUnusable(failure));
  const lists = unusable.filter(({ resource }) => isList(resource));
  const [list = null] = [...lists.filter(({ resource }) => resource === 'products'), ...lists];
  return list ?? unusable.find((each) => isMany(each, unusable, all)) ?? null;
}

/**
 * Returns whether many records of a resource fail. Messages differ by what they quote, so all those of a resource count
 * together.
 */
function isMany(
  { resource }: UnusableAnswers,
  unusable: readonly UnusableAnswers[],
  all: ReadonlyMap<string, number>,
): boolean {
  const records = unusable.filter((each) => each.resource === resource).reduce((sum, each) => sum + each.records, 0);
  return records >= fewest && records >= leastShare * (all.get(resource) ?? 0);
}
