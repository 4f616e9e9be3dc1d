import type { FaultRule } from '../../../src/sandbox/rough/faults.ts';
import type { Quirks } from '../../../src/sandbox/rough/quirks.ts';

/** A day on which the service lies, or refuses some of what it is asked for. */
export interface LieDay {
  readonly name: string;
  /** Seconds that it lasts. */
  readonly lasts: number;
  /** Only where its whole name is asked for: it takes longer than all others. */
  readonly named?: true;
  faults?(ids: readonly number[]): readonly FaultRule[];
  readonly quirks?: Partial<Quirks>;
  readonly config?: Record<string, unknown>;
  /** The condition that must hold. */
  readonly condition?: string;
  /** The daemon believes everything, and must be found wrong. */
  readonly control?: true;
  /** It refuses, and what is looked at is how far that reaches. */
  readonly refuses?: Refusal;
}

interface Refusal {
  /** The records that are refused, in SQL; :first is a product. All others must be read while it lasts. */
  readonly about: string;
  /** It is there when the daemon is first started. */
  readonly first?: true;
  /** From its beginning on only another key is accepted, which the daemon is given at its end. */
  readonly key?: true;
  /** At most so many calls may be made. */
  readonly calls?: number;
}

const lie = (name: string, ...faults: readonly FaultRule[]): LieDay => ({
  name,
  lasts: 180,
  condition: 'held',
  faults: () => faults,
});
const refusal = (status: number, path: string, headers: Record<string, string> = {}): FaultRule => ({
  kind: 'status',
  status,
  path,
  headers,
});
const ofFirst = ([id]: readonly number[], path: string) => `^/v2/products/${id}${path}`;
const experiences = (status: number): Omit<LieDay, 'name'> => ({
  lasts: 150,
  quirks: { endpoints: 'all' },
  faults: () => [refusal(status, '^/v2/experiences')],
  refuses: { about: "resource = 'experiences'", first: true },
});
const key = { condition: 'key-refused', refuses: { about: '1', key: true, calls: 20 } } as const;
const cent = { kind: 'prices', amount: 0.01 } as const;
const hour = { 'retry-after': '3600' };

// biome-ignore format: a row a day
export const lieDays: readonly LieDay[] = [
  lie('no dates', { kind: 'no-dates' }),
  lie('every product off sale', { kind: 'off-sale' }),
  { ...lie('every product off sale for 25 s', { kind: 'off-sale' }), lasts: 25 },
  lie('every price 0.01', cent),
  lie('every price × 100', { kind: 'prices', factor: 100 }),
  // An answer in another currency claims nothing: the read has failed.
  { name: 'prices in USD', lasts: 180, faults: () => [{ kind: 'currency', currency: 'USD' }] },
  lie('no variants, no texts', { kind: 'no-variants' }, { kind: 'no-texts' }),
  { name: 'every price 0.01, held: off', lasts: 120, control: true, faults: () => [cent], config: { held: { less: 'off', price: 'off' } } },
  { name: '401 for one product’s checkout information', lasts: 150, faults: (ids) => [refusal(401, ofFirst(ids, '/checkout'))], refuses: { about: "product_id = :first AND resource = 'checkout_information'", first: true } },
  { name: '401 for GET /experiences', ...experiences(401) },
  { name: '403 for GET /experiences', ...experiences(403) },
  { name: '429 for one product, Retry-After: 3600', lasts: 240, faults: (ids) => [refusal(429, ofFirst(ids, '[/?]'), hour)], refuses: { about: 'product_id = :first' } },
  { name: '429 for one product', lasts: 180, faults: (ids) => [refusal(429, ofFirst(ids, '[/?]'))], refuses: { about: 'product_id = :first' } },
  { name: 'a wrong key at the first start', lasts: 90, ...key, refuses: { ...key.refuses, first: true } },
  { name: 'a wrong key later', lasts: 120, ...key },
  { name: '10 calls a second, of 30 configured', lasts: 180, quirks: { limit: 10 }, config: { budget: { requests_per_second: 30 } }, refuses: { about: '0' } },
  { name: '503 for everything, Retry-After: 180', lasts: 180, condition: 'service-pause', faults: () => [refusal(503, '', { 'retry-after': '180' })], refuses: { about: '1', calls: 8 } },
  { name: 'an hour of 503, Retry-After: 3600', lasts: 3600, named: true, condition: 'service-pause', faults: () => [refusal(503, '', { 'retry-after': '3600' })], refuses: { about: '1', calls: 8 } },
];
