import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';

/** `CATALOGUED_TEST_FUZZ=10` tries ten times as many. */
const times = Number(process.env.CATALOGUED_TEST_FUZZ ?? 1);

/**
 * Holds a property over what fast-check makes up, and over every counterexample that was ever found: `corpus/NAME.json` has
 * them, and a new one is added to it where it fails. Keep the file with the change that mends it.
 */
export async function holds<Input>(
  name: string,
  inputs: fc.Arbitrary<Input>,
  holdsFor: (input: Input) => Promise<void> | void,
  runs: number,
  directory = join(import.meta.dirname, 'corpus'),
): Promise<void> {
  const path = join(directory, `${name}.json`);
  const kept = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Input[]) : [];
  for (const input of kept) await holdsFor(input);
  const found = await fc.check(
    fc.asyncProperty(inputs, async (input) => holdsFor(input)),
    { numRuns: times * runs },
  );
  if (!found.failed) return;
  const [input] = found.counterexample ?? [];
  mkdirSync(directory, { recursive: true });
  if (input !== undefined) writeFileSync(path, `${JSON.stringify([...kept, input], null, 2)}\n`);
  throw new Error(`${fc.defaultReportMessage(found)}\nkept in test/fuzz/corpus/${name}.json`);
}

/** One change of a JSON document: at the n-th of its values, counted in order. */
export interface Change {
  readonly at: number;
  readonly how: 'replace' | 'leave out' | 'double' | 'empty';
  readonly by: unknown;
}

/** What no service should send, and some will. */
const odd = fc.constantFrom<unknown>(
  null, true, false, 0, -1, 0.1, 1e21, 2 ** 53 + 1, '', ' ', '0', 'null', 'NaN', '\ud800', '\u0000', '2026-02-30', '25:61',
  [], {}, [[]], [null], { __proto__: null, constructor: 1 }, 'x'.repeat(10_000), [1, [2, [3]]], '<b>\u001b[2J</b>',
); // biome-ignore format: a list of values

export const changes: fc.Arbitrary<Change[]> = fc.array(
  fc.record({
    at: fc.nat(2000),
    how: fc.constantFrom('replace', 'leave out', 'double', 'empty'),
    by: fc.oneof(odd, fc.jsonValue({ maxDepth: 2 })),
  }),
  { minLength: 1, maxLength: 4 },
);

/** The document with these changes. */
export function changed(document: unknown, all: readonly Change[]): unknown {
  const root = { document: structuredClone(document) };
  for (const { at, how, by } of all) {
    const places = [...placesIn(root)];
    const place = places[at % places.length];
    if (place === undefined) continue;
    const [holder, key] = place;
    if (how === 'replace') holder[key as never] = structuredClone(by) as never;
    else if (how === 'empty') holder[key as never] = (Array.isArray(holder[key as never]) ? [] : {}) as never;
    else if (how === 'double' && Array.isArray(holder)) holder.push(structuredClone(holder[key as never]) as never);
    else if (how === 'leave out' && Array.isArray(holder)) holder.splice(Number(key), 1);
    else if (how === 'leave out' && key !== 'document') delete holder[key as never];
  }
  return root.document;
}

function* placesIn(holder: object): Generator<[holder: Record<string, unknown>, key: string]> {
  for (const [key, value] of Object.entries(holder)) {
    yield [holder as Record<string, unknown>, key];
    if (typeof value === 'object' && value !== null) yield* placesIn(value);
  }
}
