import { isList, type Resource } from '../schedule/resources.ts';

/*
 * Decides whether the service answers in a way that cannot be used at all: rows under another name, ids called
 * otherwise, pages that are not numbered. A single record may be broken; a list, or many records, show the service.
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

/** So many records of a resource, and such a share of them, are no longer single ones. */
const fewest = 5;
const leastShare = 0.1;

/** Answers that could not be used. */
export interface UnusableAnswers {
  readonly resource: Resource;
  /** The code and the message of the failure, with an example of the answer. */
  readonly failure: string;
  readonly records: number;
}

/** Tells whether a stored failure is an answer that could not be used. */
export function isUnusable(failure: string): boolean {
  return codes.includes(failure.slice(0, Math.max(0, failure.indexOf(':'))));
}

/**
 * Returns the unusable answers to name first: those about a list (the product list before others), else those about most
 * records. `all` counts the records of each resource. Null: only single records are concerned.
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

/** Messages differ by what they quote: all those of a resource count together. */
function isMany(
  { resource }: UnusableAnswers,
  unusable: readonly UnusableAnswers[],
  all: ReadonlyMap<string, number>,
): boolean {
  const records = unusable.filter((each) => each.resource === resource).reduce((sum, each) => sum + each.records, 0);
  return records >= fewest && records >= leastShare * (all.get(resource) ?? 0);
}
