import { expect, it } from 'vitest';
import { takesAway } from '../../src/domain/evidence/claims.ts';
import { textsSaid } from '../../src/sync/evidence/answers.ts';

const of = (document: object) => JSON.stringify(document);

it.each([
  ['the only text goes', { summary: 'Old' }, {}, true],
  ['one of several goes', { title: 'Old', geolocation: { latitude: 1 } }, { title: 'Old', geolocation: {} }, true],
  ['one goes and another comes', { title: 'Old', tagline: 'New' }, { title: 'Old', summary: 'New' }, true],
  ['one deep in the answer goes', { product: { usage: 'Print it.' } }, { product: { usage: '' } }, true],
  ['a text comes', { title: 'Old' }, { title: 'Old', summary: 'New' }, false],
  ['a text is another', { title: 'Old' }, { title: 'New' }, false],
  ['a member goes that no shop shows', { title: 'Old', weight: 3 }, { title: 'Old' }, false],
])('an answer in which %s', (_, before, after, takes) => {
  expect(takesAway(textsSaid(of(before), of(after)))).toBe(takes);
});

it('the first answer about a product takes nothing away', () => {
  expect(takesAway(textsSaid(null, of({ title: 'Old' })))).toBe(false);
});
