import { expect, it } from 'vitest';
import { policyOf } from '../../src/daemon/policy.ts';
import { absenceReads, decidesAbsence } from '../../src/sync/records/deciding-reads.ts';
import { testConfig } from '../fakes/test-config.ts';

const { config } = testConfig('/nowhere', 'http://127.0.0.1:1', { service: { languages: ['en', 'de'] } });

/** With or without a read of a product itself. */
const policy = (own: boolean) => policyOf(config, (resource) => own || resource !== 'product_detail');

it.each([
  [true, 'product_detail', 'checkout_information'],
  [false, 'checkout_information', 'variants'],
] as const)(
  'with own reads %j, the %s in the first language decides whether a product is gone',
  (own, resource, other) => {
    const decides = (each: typeof resource | typeof other, edition: string) =>
      decidesAbsence(policy(own), { resource: each, product_id: 7, edition, part: 0 });
    expect([decides(resource, 'en'), decides(resource, 'de'), decides(other, 'en')]).toEqual([true, false, false]);
    expect(absenceReads(policy(own)).map(({ edition }) => edition)).toEqual(['en']);
  },
);
