import { expect, it } from 'vitest';
import { takesAway } from '../../src/domain/evidence/claims.ts';
import { textsSaid } from '../../src/sync/evidence/answers.ts';

const of = (document: object) => JSON.stringify(document);

/** Returns whether an answer takes a text away by itself. */
const taken = (before: string | null, after: object) => {
  const [first] = textsSaid(before, of(after), { titled: true });
  return first !== undefined && takesAway(first);
};

it.each([
  ['the only text goes', { summary: 'Old' }, {}, true],
  ['one of several goes', { title: 'Old', geolocation: { latitude: 1 } }, { title: 'Old', geolocation: {} }, true],
  ['one goes and another comes', { title: 'Old', tagline: 'New' }, { title: 'Old', summary: 'New' }, true],
  ['one deep in the answer goes', { product: { usage: 'Print it.' } }, { product: { usage: '' } }, true],
  ['a text comes', { title: 'Old' }, { title: 'Old', summary: 'New' }, false],
  ['a text is another', { title: 'Old' }, { title: 'New' }, false],
  ['a member goes that no shop shows', { title: 'Old', weight: 3 }, { title: 'Old' }, false],
])('an answer in which %s', (_, before, after, takes) => {
  expect(taken(of(before), after)).toBe(takes);
});

it('the first answer about a product takes nothing away', () => {
  expect(taken(null, { title: 'Old' })).toBe(false);
});
