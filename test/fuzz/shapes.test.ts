import { expect, it } from 'vitest';
import { thorough } from '../fakes/thorough.ts';
import { casesOf, drawn, type NamedCase } from './shapes/cases.ts';
import { judge } from './shapes/judge.ts';
import { type AnswerName, rightReading } from './shapes/members.ts';
import { type Case, liveThrough, membersOfWorld, type Trial } from './shapes/trial.ts';
import { wrongValues } from './shapes/wrong-values.ts';

/** `CATALOGUED_TEST_FUZZ=10` lives through all cases, which takes an hour; 1 through a tenth of them. */
const tenths = Number(process.env.CATALOGUED_TEST_FUZZ ?? 0);
const seed = Number(process.env.CATALOGUED_TEST_SEED ?? 1);
const hours = 4 * 3_600_000;

/** Outcomes of what values mean, by member and meaning. */
const meanings = new Map<string, Promise<Trial>>();

/** Returns what is wrong with the outcome of a case. */
async function wrongWith({ name: _, ...asked }: NamedCase): Promise<string[]> {
  const reading = rightReading(asked, asked.value);
  const trial = await liveThrough(asked);
  const meant = 'as' in reading ? await outcomeOf({ ...asked, value: reading.as }) : null;
  return trial.replaced === 0 ? ['was not replaced'] : judge(asked, trial, meant);
}

function outcomeOf(asked: Case): Promise<Trial> {
  const key = JSON.stringify([asked.answer, asked.path, asked.scope, asked.value]);
  const known = meanings.get(key) ?? liveThrough(asked);
  meanings.set(key, known);
  return known;
}

it(
  'no wrong value of any member of any answer sells, lets buy, cheapens or licenses more, passes a check, or is taken in silence',
  async () => {
    const cases = casesOf(await membersOfWorld());
    const count = tenths > 0 ? (cases.length * tenths) / 10 : thorough ? 40 : 8;
    const wrong: string[] = [];
    for (const each of drawn(cases, seed, count)) {
      const found = await wrongWith(each);
      if (found.length > 0) wrong.push(`${each.name}: ${found.join('; ')}`);
    }
    expect(wrong).toEqual([]);
  },
  hours,
);

const plantable: readonly (readonly [path: string, found: string, answer: AnswerName])[] = [
  ['dates[].availability', 'a check says holds', 'availability'],
  ['dates[].timeslots[].availability', 'became unknown', 'availability'],
  ['dates[].timeslots[].variants[].max_tickets', 'became unknown', 'availability'],
  ['dates[].timeslots[].variants[].price_mediation.total_retail_price_incl_vat', 'silent', 'availability'],
  ['product.images[].credit', 'credit', 'product'],
  ['additional_information.must_know', 'is lost', 'checkout_information'],
];

it.each(plantable)(
  '%s that a decoder takes for absent where it cannot read it is found (control)',
  async (path, found, answer) => {
    const asked: Case = { answer, path, value: wrongValues.maybe, scope: 'one' };
    const planted = await liveThrough({ ...asked, value: undefined });
    const unreadable = { ...asked, value: wrongValues['an id within an object'] };
    expect(judge(unreadable, planted, null).join('; ')).toContain(found);
  },
);

it('a decoder that takes a word for a number of places is found (control)', async () => {
  const asked: Case = { answer: 'availability', path: 'dates[].availability', value: wrongValues.maybe, scope: 'all' };
  const planted = await liveThrough({ ...asked, value: 999 });
  expect(judge(asked, planted, null).join('; ')).toMatch(/availability \d+ became 999/);
});

it('an answer as the service gives it has nothing wrong', async () => {
  const asked: Case = { answer: 'availability', path: 'sales_enabled', value: true, scope: 'all' };
  const trial = await liveThrough(asked);
  expect(trial).toMatchObject({ verdict: 'holds', said: [] });
  expect(judge(asked, trial, trial)).toEqual([]);
});
