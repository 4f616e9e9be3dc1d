import { isMembers } from '../values/members.ts';

/** Members of the service's answers about a product, and about its checkout, that a shop shows or needs. */
const watched: ReadonlySet<string> = new Set([
  'title', 'tagline', 'summary', 'description', 'price', 'city_id', 'geolocation', 'timezone',
  'whats_included', 'whats_excluded', 'must_know', 'good_to_know', 'pre_purchase', 'usage', 'included', 'excluded', 'post_purchase',
  'cancellation_policy', 'languages',
]); // biome-ignore format: a list of members

/** Returns the watched members of a document that are not empty, at any depth, each as text by its name. */
export function textsIn(document: string | null): ReadonlyMap<string, string> {
  return new Map(document === null ? [] : held(JSON.parse(document)));
}

function held(value: unknown): [name: string, text: string][] {
  if (!isMembers(value)) return [];
  return Object.entries(value).flatMap(([name, member]): [string, string][] => {
    if (!watched.has(name)) return held(member);
    return isSome(member) ? [[name, typeof member === 'string' ? member : JSON.stringify(member)]] : [];
  });
}

function isSome(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
