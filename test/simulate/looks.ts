import type { Database } from 'better-sqlite3';
import type { Tier } from '../../src/domain/catalogue/availability.ts';
import type { World } from '../../src/sandbox/world/world.ts';

/*
 * How much of what shoppers see is untrue, looked up in the world itself: what the truth meter should say. Shares no code
 * with it.
 */

/** How many looks at the dates of a tier there were, and in how many of them something was untrue. */
export interface Looked {
  readonly tier: Tier;
  readonly looks: number;
  readonly untrue: number;
}

export interface Looks {
  /** Looks at a product's dates, as the mirror shows them and as the service has them now. */
  at(product_id: number): void;
  found(): readonly Looked[];
}

const dayMs = 86_400_000;
/** The tiers of the default, in dates from the venue's today; of the far ones a window of 31. */
const tiers: readonly { readonly tier: Tier; readonly from: number; readonly to: number }[] = [
  { tier: 'near', from: 0, to: 13 },
  { tier: 'middle', from: 14, to: 30 },
  { tier: 'far', from: 31, to: 61 },
];
/** What one may order: beyond it nobody notices how many tickets are left. */
const most = 20;

export function looksAt(db: Database, world: World): Looks {
  const isShown = db.prepare<[number], number>('SELECT 1 FROM products WHERE product_id = ? AND sellable = 1').pluck();
  const isWithheld = db
    .prepare<[number], number>("SELECT 1 FROM availability_days WHERE product_id = ? AND state = 'not_on_sale' LIMIT 1")
    .pluck();
  const shown = db
    .prepare<[number, string, string], string>(
      `SELECT date || ' ' || time || ' ' || variant_id || ' ' || retail_price || ' ' || min(availability, ${most}) || ' ' || min(max_tickets, ${most})
       FROM availability_slots WHERE product_id = ? AND currency = 'EUR' AND date BETWEEN ? AND ?`,
    )
    .pluck();
  const counts = tiers.map(({ tier }) => ({ tier, looks: 0, untrue: 0 }));

  function isUntrue(product_id: number, from: number, to: number): boolean {
    const product = world.find(product_id);
    if (product === null || product.withdrawn || product.status !== 'available') return true;
    const { today } = world.dates(product);
    const now = timeAt(product.place.zone, world.clock.now());
    const [first, last] = [from, to].map((ahead) => dateAfter(today, ahead)) as [string, string];
    const said = world
      .days(product, first, last, 'EUR')
      .flatMap(({ date, slots }) =>
        slots
          .filter(({ time }) => date !== today || !/^\d/.test(time) || time > now)
          .flatMap(({ time, availability, offers }) =>
            offers.map(({ variant_id, retail_price, max_tickets }) =>
              [date, time, variant_id, retail_price, Math.min(availability, most), Math.min(max_tickets, most)].join(
                ' ',
              ),
            ),
          ),
      );
    return said.sort().join() !== shown.all(product_id, first, last).sort().join();
  }

  return {
    at: (product_id) => {
      if (isShown.get(product_id) === undefined || isWithheld.get(product_id) !== undefined) return;
      for (const [index, { from, to }] of tiers.entries()) {
        const count = counts[index];
        if (count === undefined) continue;
        count.looks += 1;
        if (isUntrue(product_id, from, to)) count.untrue += 1;
      }
    },
    found: () => counts,
  };
}

const dateAfter = (date: string, days: number) => new Date(Date.parse(date) + days * dayMs).toISOString().slice(0, 10);

/** `HH:MM` at the venue. */
function timeAt(zone: string | null, at: number): string {
  return Temporal.Instant.fromEpochMilliseconds(at)
    .toZonedDateTimeISO(zone ?? 'UTC')
    .toPlainTime()
    .toString({ smallestUnit: 'minute' });
}
