import { type Instant, instant } from '../../clock.ts';
import { zoneOffsets } from '../../domain/time/venue.ts';
import type { Bound, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

const yearsAheadMs = 3 * 366 * 86_400_000;

/** What the views know the hour by. */
export interface ZoneTable {
  /** Makes sure that they know today in every zone that a product is in, three years ahead: also while the daemon is dead. */
  write(now: Instant): void;
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
  return {
    write: (now) => {
      clear.run();
      for (const zone of new Set([...zones.all(), null])) store(zone, now);
    },
    add: (zone, now) => {
      if (known.get({ timezone: zone ?? '' }) === undefined) store(zone, now);
    },
  };
}
