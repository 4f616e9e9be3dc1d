import { describe, expect, it } from 'vitest';
import type { Exchange, ProbeEvidence } from '../../../src/says/probe/assumption.rules.ts';
import { behaviourAssumptions, listAssumptions } from '../../../src/says/probe/assumption.rules.ts';
import { readAssumptions } from '../../../src/says/probe/read-assumptions.rules.ts';
import type { ListQuestion } from '../../../src/service/adapter.rules.ts';

const list = (page: number): ListQuestion => ({
  kind: 'products', page, after: null, page_size: 100, language: 'en', currency: 'USD', ordered: false,
}); // biome-ignore format: one question

const exchange = (name: string, given: Partial<Exchange>): Exchange => ({
  name, question: list(1), read: null, status: 200, headers: {}, json: undefined, failure: null, sent_at: 0, took_ms: 1,
  ...given,
}); // biome-ignore format: one call

function seen(assumption: string, exchanges: readonly Exchange[]): string {
  const evidence: ProbeEvidence = {
    exchanges, attempts: exchanges, page_size: 100, days_per_request: 31, throttle_statuses: [429], language: 'en', currency: 'EUR',
    languages: ['en'], first_page: 1, calls_a_second: 1,
  }; // biome-ignore format: what a probe has seen
  return (
    [...listAssumptions, ...readAssumptions, ...behaviourAssumptions]
      .find(({ name }) => name === assumption)
      ?.judge(evidence).seen ?? ''
  );
}

it.each([
  ['is answered', {}],
  ['is refused with 400', { status: 400, failure: { code: 'bad_request', message: '' } }],
  ['has no answer: 200 not-json', { failure: { code: 'not-json', message: '' } }],
  ['has no answer: connection reset', { status: null, failure: { code: 'reset', message: 'connection reset' } }],
])('a made-up currency %s', (says, invented) => {
  const listed = (currency: string) => ({ rows: [{ currency }] });
  const exchanges = [
    exchange('list', { read: listed('EUR') }),
    exchange('currency', { read: listed('USD') }),
    exchange('made-up currency', invented),
  ];
  expect(seen('currency', exchanges)).toBe(`EUR: EUR; USD: USD; a made-up one ${says}`);
});

it.each([401, 403])('a resource that is refused with %i while the list is answered is not for this key', (status) => {
  const refused = exchange('variants', { status, failure: { code: 'unauthorized', message: '' } });
  const variants = readAssumptions.find(({ name }) => name === 'GET product-variants');
  const judged = variants?.judge({ exchanges: [exchange('list', {}), refused] } as unknown as ProbeEvidence);
  expect(judged).toMatchObject({
    seen: `${status} unauthorized: not for this key`,
    profile: { paths: { variants: null } },
  });
});

it.each([
  ['200, an answer', {}],
  ['404 not_found', { status: 404, failure: { code: 'not_found', message: '' } }],
  ['400 bad_request', { status: 400, failure: { code: 'bad_request', message: '' } }],
])('a product that nobody has: %s', (says, asked) => {
  expect(seen('unknown product', [exchange('unknown product', asked)])).toBe(says);
});

it.each([
  ['page 1001 is empty', { read: { rows: [] } }],
  ['page 1001 has 1 row', { read: { rows: [{}] } }],
  ['page 1001 is refused: 400 bad_request', { status: 400, failure: { code: 'bad_request', message: '' } }],
  ['page 1001 is refused: 499 closed', { status: 499, failure: { code: 'closed', message: '' } }],
  ['500 internal', { status: 500, failure: { code: 'internal', message: '' } }],
])('a page beyond the last: %s', (says, asked) => {
  const readable = exchange('list', { question: list(1), read: { rows: [{ id: 1 }] } });
  expect(seen('end of the list', [readable, exchange('beyond the end', { question: list(1001), ...asked })])).toBe(
    says,
  );
});

it('tells the middle of the times of all answers, and the longest', () => {
  const answers = [900, 20, 10, 40, 30].map((took_ms, call) => exchange(`call ${call}`, { took_ms }));
  expect(seen('time of an answer', answers)).toBe('30 ms in the middle, 900 ms at most');
});

it('says nothing about empty pages where no row of the list can be read', () => {
  const empty = (name: string, page: number) => exchange(name, { question: list(page), read: { rows: [] } });
  const evidence = [empty('list', 1), empty('page 0', 0), empty('beyond the end', 1001)];
  for (const name of ['first page', 'end of the list'])
    expect(seen(name, evidence), name).toBe('the list has no row that can be read');
});

describe('a list of three pages that counts 250 products', () => {
  const page = (name: string, page: number, rows: number) => {
    const ids = Array.from({ length: rows }, (_, row) => ({ id: 100 * page + row }));
    return exchange(name, { question: list(page), read: { rows: ids, total: 250 } });
  };
  const first = [page('list', 1, 100), page('page 2', 2, 100)];

  it.each([
    ['is complete if the last page is', '250 rows', [page('last page', 3, 50)]],
    ['lacks what the last page lacks', '49 of 50 rows on page 3, the last of 250 rows', [page('last page', 3, 49)]],
    ['says nothing about its total without the last page', '200 of 250 rows on two pages', []],
  ])('%s', (_, says, last) => {
    expect(seen('list total', [...first, ...last])).toBe(says);
  });
});
