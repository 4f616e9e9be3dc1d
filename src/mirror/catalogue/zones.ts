import { type Instant, instant } from '../../clock.ts';
import { zoneOffsets } from '../../domain/time/venue.ts';
import { type Bound, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

const yearsAheadMs = 3 * 366 * 86_400_000;

/** Time zone offsets from which the views compute the local hour. */
export interface ZoneTable {
  /** Makes sure that they know today in every zone that a product is in, three years ahead: also while the daemon is dead. */
  write(now: Instant): void;
  /** Does so again where the clocks of a zone were changed since: products know their offset until the change after the next one. */
  renew(now: Instant): void;
  /** A product has come into this zone. */
  add(timezone: string | null, now: Instant): void;
}

export function zoneTable(db: Writes): ZoneTable {
  const zones = db.values(() => query.selectFrom('_product').select('timezone').distinct());
  const known = db.values(({ timezone }: Bound<Pick<Tables['_zone_offset'], 'timezone'>>) =>
    query.selectFrom('_zone_offset').select('timezone').where('timezone', '=', timezone).limit(1),
  );
  const clear = db.change(() => query.deleteFrom('_zone_offset'));
  const put = db.change(({ timezone, valid_from, offset_minutes }: Bound<Tables['_zone_offset']>) =>
    query.replaceInto('_zone_offset').values({ timezone, valid_from, offset_minutes }),
  );
  const store = (zone: string | null, now: Instant) => {
    for (const offset of zoneOffsets(zone, now, now + yearsAheadMs))
      put.run({ timezone: zone ?? '', valid_from: instant(offset.valid_from), offset_minutes: offset.offset_minutes });
  };
  const ofProducts = db.change(offsets);
  const passed = db.values(({ now }: Bound<{ now: Instant }>) =>
    query
      .selectFrom('_zone_offset')
      .select('timezone')
      .where('valid_from', '>', instant(0))
      .where('valid_from', '<=', now)
      .limit(1),
  );
  const write = (now: Instant) => {
    clear.run();
    for (const zone of new Set([...zones.all(), null])) store(zone, now);
    ofProducts.run();
  };
  return {
    write,
    renew: (now) => {
      if (passed.get({ now }) !== undefined) write(now);
    },
    add: (zone, now) => {
      if (known.get({ timezone: zone ?? '' }) === undefined) store(zone, now);
    },
  };
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
