import { addDays } from '../../../src/kernel/time/venue.ts';
import { openReader } from '../../fakes/reader.ts';
import { readHard } from './read-hard.ts';

/* A storefront in Node with `catalogued/reader`, which tries again by itself and has transactions of its own. */

const currency = 'EUR';

readHard(({ path, begin }) => {
  const reader = openReader(path);
  const cents = (amount: number | null, less: number) => (amount === null ? null : amount - less);
  return {
    product: (product_id) => {
      const found = reader.product(product_id, { language: 'en' });
      return found === null ? undefined : [found.title, cents(found.from_price, 100_000)];
    },
    slots: (product_id, from, to) => {
      const rows = [];
      for (let date = from; date <= to; date = addDays(date, 1))
        for (const slot of reader.slots(product_id, date, { currency }))
          rows.push([slot.availability, slot.max_tickets, cents(slot.retail_price, 1000)]);
      return rows;
    },
    calendar: (product_id, from, to) =>
      reader
        .calendar(product_id, { from, to, currency })
        .flatMap((day) =>
          day.state === 'unknown'
            ? []
            : [
                [
                  Date.parse(day.date) / 86_400_000,
                  day.state,
                  cents(day.lowest_price, 1000),
                  day.max_tickets,
                  day.availability,
                ],
              ],
        ),
    together: (read) => (begin === 'BEGIN' ? reader.transaction(read) : read()),
    recover: () => undefined,
  };
});
