import { expect, it } from 'vitest';
import { withoutGaps } from '../../src/storefront/calendar.ts';

type Known = Parameters<typeof withoutGaps>[0];

const day = (ahead: number) => new Date(Date.UTC(2026, 10, 28 + ahead)).toISOString().slice(0, 10);
const [product_id, currency] = [7, 'EUR'];
const columns = ['date', 'state'];

it('a calendar has each date asked for once and in order, whichever of them are known', () => {
  const dates = Array.from({ length: 6 }, (_, ahead) => day(ahead));
  for (let some = 0; some < 2 ** dates.length; some += 1) {
    const known = dates.filter((_, nth) => some & (1 << nth));
    const rows = known.map((date) => ({ date, state: 'available' })) as Known;
    const asked = { from: dates[0], to: dates.at(-1), columns };
    expect(withoutGaps(rows, asked, { product_id, currency })).toEqual(
      dates.map((date) => ({ date, state: known.includes(date) ? 'available' : 'unknown' })),
    );
    const found = withoutGaps(rows, { columns }, { product_id, currency }).map(({ date }) => date);
    expect(found).toEqual(dates.filter((date) => date >= (known[0] ?? '~') && date <= (known.at(-1) ?? '')));
  }
});
