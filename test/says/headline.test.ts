import { describe, expect, it } from 'vitest';
import { headlineOf, statusLine, withConditions } from '../../src/says/status/verdict.ts';
import { heldDates, hour, known, now } from '../admin/known-status.ts';

type Status = typeof known;

const [near] = known.freshness;
const late: Status = { ...known, freshness: [{ ...near, fresh: 9, stale: 3, met: 0 }] as Status['freshness'] };
const away = (status: Status, ms: number): Status => ({
  ...status,
  daemon: { ...known.daemon, unreachable_since: now - ms, away: { how: 'unreachable', says: 'refused' } },
});
const filling = { ...known, filled_at: null, records: { ...known.records, all: 80, never_fetched: 20 } };
const vanished = {
  operation: 'image-list',
  last_ok_at: null,
  failed_at: now - 2 * hour,
  noticed_at: now,
  affected: 7,
  detail: null,
};

describe('the headline', () => {
  const cases: [string, Status, string][] = [
    ['of a mirror without problems', known, 'Up to date'],
    ['of a warning', away(known, 4 * 60_000), 'Up to date. The service has been away for 4 minutes'],
    ['of a warning whose data may be outdated', { ...known, held: [heldDates] }, 'Changes have been held back for 3 hours'],
    ['of missed freshness targets', late, '3 of 12 records are outdated'],
    ['of missed freshness targets and their cause', away(late, 9 * hour), '3 of 12 records are outdated. The service has been away for 9 hours'],
    ['of an error, which claims nothing of the data', { ...known, outcomes: [vanished] }, 'Images have been missing from the product list for 2 hours'],
    ['of an error beside a warning', { ...away(known, 60_000), outcomes: [vanished] }, 'Images have been missing from the product list for 2 hours'],
    ['of a first fill', filling, 'First fill: 75 % read'],
    ['of a first fill without its service', away(filling, 20_000), 'First fill: 75 % read. The service has been away for 20 seconds'],
    ['of a start', { ...filling, records: { ...filling.records, all: 0, never_fetched: 0 } }, 'Not filled yet'],
  ]; // biome-ignore format: a table
  it.each(cases)('%s', (_, status, expected) => {
    expect(headlineOf(withConditions(status, now), now)).toBe(expected);
  });
});

it('the line for systemd tells warnings from errors', () => {
  const line = (status: Status) => statusLine(withConditions(status, now), now);
  expect(line(known)).toBe('up to date: 12 products, every freshness target met');
  expect(line(filling)).toMatch(/^filling: 20 of 80/);
  expect(line(away(known, hour))).toMatch(/^warning: Service: it cannot be reached/);
  expect(line(late)).toMatch(/^error: Freshness: Availability/);
});
