import { describe, expect, it } from 'vitest';
import { configFromObject } from '../../src/config/load.ts';
import { type Resource, resourceNames, resources } from '../../src/domain/schedule/resources.ts';
import { declarationOf } from '../../src/sync/reports/declaration.ts';

const line = (what: string, calls_per_day: number) => ({ lane: 'weekly' as const, what, records: 1, calls_per_day });

function declared(subscriptions: number, offers: (resource: Resource) => boolean = () => true) {
  const { service, cadence } = configFromObject({ service: { base_url: 'https://api.example.com' } });
  const settings = { paths: service.profile.paths, cadence, subscriptions, public_url: 'https://hooks.example.com/c' };
  const lines = [
    line('near and middle dates', 100),
    line('far dates, where a change is likely', 10.4),
    line('dates of products off sale', 1),
    line('looks at products off sale', 2),
    line('prices in further currencies', 3),
    ...resourceNames.map((resource, index) => line(resources[resource].label, 1000 + index)),
  ];
  return { lines, endpoints: declarationOf(settings, { lines }, offers) };
}

describe('the declaration', () => {
  it('names each endpoint, ingested or live, how often, and all of the plan’s calls', () => {
    const { lines, endpoints } = declared(1);
    expect(endpoints).toContainEqual({
      endpoint: 'GET /v2/products/{product_id}/availability',
      use: 'ingested',
      how_often: 'the next 14 days every 6 hours, up to 31 days every 12 hours, up to 92 days every day',
      calls_per_day: expect.any(Number),
    });
    expect(endpoints).toContainEqual(
      expect.objectContaining({
        endpoint: 'GET /v2/products/{product_id}/checkout_information',
        how_often: 'every 7 days; with dynamic pricing every day; at once when announced, and then every 28 days',
      }),
    );
    expect(endpoints).toContainEqual(
      expect.objectContaining({
        endpoint: 'GET /v2/products/{product_id}',
        how_often: 'every 28 days; with dynamic pricing every day',
      }),
    );
    expect(endpoints.filter(({ use }) => use === 'live')).toHaveLength(1);
    expect(endpoints.filter(({ use }) => use === 'received')).toMatchObject([
      { endpoint: 'POST https://hooks.example.com/c/…' },
    ]);
    const all = lines.reduce((sum, { calls_per_day }) => sum + calls_per_day, 0);
    expect(endpoints.reduce((sum, { calls_per_day }) => sum + (calls_per_day ?? 0), 0)).toBeCloseTo(all, -1);
  });

  it('leaves out what is not subscribed to, and what the service does not have', () => {
    const { endpoints } = declared(0, (resource) => resource !== 'experiences');
    expect(endpoints.map(({ use }) => use)).not.toContain('received');
    expect(endpoints.filter(({ endpoint }) => /experiences|notification/.test(endpoint))).toEqual([]);
    expect(endpoints.some(({ how_often }) => how_often.includes('announced'))).toBe(false);
  });
});
