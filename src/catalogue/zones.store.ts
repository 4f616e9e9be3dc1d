import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { knownZone, zoneOffsets } from '../kernel/time/venue.ts';
import { firstDifference } from '../kernel/time/zone-rules.ts';
import { query } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';

const yearsAheadMs = 3 * 366 * 86_400_000;
/** Stored dates lie within this time. */
const datesAheadMs = 400 * 86_400_000;

/** Time zone offsets from which the views compute the local hour. */
export class ZoneTable extends Store<Writes> {
  readonly #zones = this.db.values(() => query.selectFrom('_product').select('timezone').distinct());
  readonly #known = this.db.value(({ timezone }: Bound<{ timezone: string }>) =>
    query.selectFrom('_zone_offset').select('timezone').where('timezone', '=', timezone).limit(1),
  );
  readonly #clear = this.db.change(() => query.deleteFrom('_zone_offset'));
  readonly #put = this.db.change(({ timezone, valid_from, offset_minutes }: Bound<Tables['_zone_offset']>) =>
    query.replaceInto('_zone_offset').values({ timezone, valid_from, offset_minutes }),
  );
  readonly #ofProducts = this.db.change(offsets);
  readonly #passed = this.db.value(({ now }: Bound<{ now: Instant }>) =>
    query
      .selectFrom('_zone_offset')
      .select('timezone')
      .where('valid_from', '>', instant(0))
      .where('valid_from', '<=', now)
      .limit(1),
  );
  readonly #stored = this.db.rows(() =>
    query.selectFrom('_zone_offset').selectAll().orderBy('timezone').orderBy('valid_from'),
  );
  readonly #unprice = this.db.change(({ timezone }: Bound<{ timezone: string }>) =>
    query
      .insertInto('_unpriced')
      .columns(['product_id'])
      .expression((of) => of.selectFrom('_product').select('product_id').where('timezone', '=', timezone))
      .onConflict((known) => known.doNothing()),
  );
  /** Returns the zones of visible products, with their number. */
  readonly inUse = this.db.rows(() =>
    query
      .selectFrom('_product')
      .select('timezone')
      .select(({ fn }) => fn.countAll<number>().as('products'))
      .where('withdrawn_at', 'is', null)
      .where('timezone', 'is not', null)
      .groupBy('timezone')
      .orderBy('timezone')
      .$narrowType<{ timezone: string }>(),
  );
  readonly #ofSlots = this.db.value(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('slot_day')
      .select(sql<string | null>`json_extract(rest, '$[1]')`.as('timezone'))
      .where('product_id', '=', product_id)
      .limit(1),
  );
  readonly #own = this.db.value(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_product_text')
      .select(sql<string | null>`json_extract(coalesce(list_document, detail_document), '$.timezone')`.as('timezone'))
      .where('product_id', '=', product_id)
      .limit(1),
  );
  /** Returns the zone of most products of a city; null: none is known. */
  readonly ofCity = this.db.value(({ city_id }: Bound<{ city_id: number }>) =>
    query
      .selectFrom('_product')
      .select('timezone')
      .where('city_id', '=', city_id)
      .where('withdrawn_at', 'is', null)
      .where('timezone', 'is not', null)
      .groupBy('timezone')
      .orderBy(({ fn }) => fn.countAll(), 'desc')
      .orderBy('timezone')
      .limit(1),
  );
  readonly #move = this.db.change(({ product_id, timezone }: Bound<{ product_id: number; timezone: string }>) =>
    query
      .updateTable('_product')
      .set({ timezone })
      .where('product_id', '=', product_id)
      .where('timezone', 'is not', timezone),
  );

  /**
   * Makes sure that they know today in every zone that a product is in, three years ahead: also while the daemon is dead.
   * If the rules of a zone have changed, it marks the dates of the zone's products, which are then divided again.
   */
  write(now: Instant): void {
    for (const timezone of this.#moved(now)) this.#unprice({ timezone });
    this.#clear();
    for (const zone of new Set([...this.#zones(), null])) this.#store(zone, now);
    this.#ofProducts();
  }

  /**
   * Does so again where the clocks or the rules of a zone were changed since: products know their offset until the change
   * after the next one.
   */
  renew(now: Instant): void {
    if (this.#passed({ now }) !== null || this.#moved(now).length > 0) this.write(now);
  }

  /** A product has come into this zone. */
  add(zone: string | null, now: Instant): void {
    if (this.#known({ timezone: zone ?? '' }) === null) this.#store(zone, now);
  }

  /** Returns the zone that the timeslots of a product name; null: they name none. */
  ofSlots(product_id: number): string | null {
    return knownZone(this.#ofSlots({ product_id }));
  }

  /** Returns the zone that a product itself names; null: it names none. */
  own(product_id: number): string | null {
    return knownZone(this.#own({ product_id }));
  }

  /** Moves a product into the zone that its timeslots name. Returns whether it was in another one. */
  move(product_id: number, timezone: string, now: Instant): boolean {
    this.add(timezone, now);
    return this.#move({ product_id, timezone }) > 0;
  }

  #store(zone: string | null, now: Instant): void {
    for (const { valid_from, offset_minutes } of zoneOffsets(zone, now, now + yearsAheadMs))
      this.#put({ timezone: zone ?? '', valid_from: instant(valid_from), offset_minutes });
  }

  /** Returns the zones whose stored offsets differ from their rules. */
  #moved(now: Instant): string[] {
    const range = { now, until: now + datesAheadMs };
    const before = Map.groupBy(this.#stored(), ({ timezone }) => timezone);
    return [...before.keys()].filter((zone) => {
      const offsets = zoneOffsets(zone === '' ? null : zone, range.now, range.until);
      return firstDifference(before.get(zone) ?? [], offsets, range) !== null;
    });
  }
}

/** Columns of `product` for its time zone: the offset, the instant of the next change, and the offset from then on. */
export const offsetColumns = {
  utc_offset: ofZone('offset_minutes', 0),
  offset_until_at: ofZone('valid_from', 1),
  next_utc_offset: ofZone('offset_minutes', 1),
};

function ofZone(column: 'offset_minutes' | 'valid_from', row: 0 | 1) {
  return query
    .selectFrom('_zone_offset as z')
    .select(column)
    .where('z.timezone', '=', sql.ref<string>('p.timezone'))
    .orderBy('z.valid_from')
    .limit(1)
    .offset(row);
}

/** Writes what products have of their zones, where it is another than before. */
function offsets() {
  const columns = Object.entries(offsetColumns);
  return query
    .updateTable('product as p')
    .set(offsetColumns as never)
    .where((of) => of.or(columns.map(([name, value]) => sql<boolean>`${sql.ref(`p.${name}`)} is not ${value}`)));
}
