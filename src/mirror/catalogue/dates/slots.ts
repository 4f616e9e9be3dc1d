import { type DayForm, slotTime, timeOfSlot } from '../../../domain/catalogue/availability.ts';
import { endOf } from '../../../domain/catalogue/passed-times.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { OfProduct } from './answer-meta.ts';
import type { DateKey } from './stretches.ts';

/** A date with tickets as it is stored: the slots that a view shows, and the rest of what was answered of it. */
export type StoredSlots = Pick<Tables['slot_day'], 'slots' | 'rest'>;

/** The slots of dates. A date without tickets has no row. */
export interface SlotTable {
  ofProduct(product_id: number): Tables['slot_day'][];
  /** Null: the date has no tickets any more. */
  put(key: DateKey, slots: StoredSlots | null): void;
  /** Forgets dates before one. */
  prune(of: OfProduct, date: string): void;
}

export function slotTable(db: Writes): SlotTable {
  const ofProduct = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('slot_day').selectAll().where('product_id', '=', product_id),
  );
  const put = db.change(upsert('slot_day', ['product_id', 'currency', 'date'], ['rest', 'slots']));
  const drop = db.change(({ product_id, currency, date }: Bound<DateKey>) =>
    query
      .deleteFrom('slot_day')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '=', date),
  );
  const dropBefore = db.change(({ product_id, currency, date }: Bound<DateKey>) =>
    query
      .deleteFrom('slot_day')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '<', date),
  );
  return {
    ofProduct: (product_id) => ofProduct.all({ product_id }),
    put: (key, slots) => {
      if (slots === null) drop.run(key);
      else put.run({ ...key, ...slots });
    },
    prune: ({ product_id, currency }, date) => {
      dropBefore.run({ product_id, currency, date });
    },
  };
}

/** Returns a date as it is stored. Each slot gets the instant at which it is not sold any more. */
export function slotsOf([availability, zone, slots, extra]: DayForm, begins: (minute: number) => number): StoredSlots {
  return {
    slots: JSON.stringify(slots.map(([time, ...slot]) => [slotTime(time), begins(endOf(time)), ...slot])),
    rest: JSON.stringify(extra === undefined ? [availability, zone] : [availability, zone, extra]),
  };
}

type StoredSlot = [time: string, ends_at: number, ...rest: unknown[]];

/** The inverse of `slotsOf`. */
export function formOf({ slots, rest }: StoredSlots): DayForm {
  const [availability, zone, ...extra] = JSON.parse(rest) as [number | null, string | null, ...unknown[]];
  const times = (JSON.parse(slots) as StoredSlot[]).map(([time, , ...slot]) => [timeOfSlot(time), ...slot]);
  return [availability, zone, times, ...extra] as readonly unknown[] as DayForm;
}

/** Returns the instants from which the slots of a date are not sold any more. */
export function endsOf(slots: string): number[] {
  return (JSON.parse(slots) as StoredSlot[]).map(([, ends_at]) => ends_at);
}
