import { expect, it } from 'vitest';
import { record } from '../../../src/says/probe/anonymise.rules.ts';
import type { Exchange } from '../../../src/says/probe/assumption.rules.ts';

/** What is recorded of an answer that says this. */
function recorded(json: object): unknown {
  const question = { kind: 'variants', product_id: 7, language: 'en' } as unknown as Exchange['question'];
  const exchange = { name: 'variants', question, status: 200, headers: {}, json, read: null, failure: null };
  return record([{ ...exchange, sent_at: 0, took_ms: 1 }], 0)[0]?.body;
}

it('text that is an amount keeps its form where it is a price, and any other text is replaced', () => {
  const body = recorded({ retail_price: '12.50', price_note: 'as Mr. Smith said', room: '12.50' }) as Record<
    string,
    string
  >;
  expect(body.retail_price).toMatch(/^\d+\.\d\d$/);
  expect(body.retail_price).not.toBe('12.50');
  expect(body.price_note).not.toContain('Smith');
  expect(body.room).not.toMatch(/\d+\.\d\d/);
});
