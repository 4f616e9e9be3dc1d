import { zoneOffsets } from '../../domain/time/venue.ts';
import type { Database } from '../../sqlite/database-file.ts';

const yearsAheadMs = 3 * 366 * 86_400_000;

/**
 * Makes sure that the views know today in every zone that a product is in, three years ahead: also while the daemon
 * is dead. Inside the caller's transaction.
 */
export function writeZones(db: Database, now: number): void {
  const zones = db.prepare<[], string | null>('SELECT DISTINCT timezone FROM product UNION SELECT NULL').pluck().all();
  const put = db.prepare<[string, number, number]>(
    'INSERT OR REPLACE INTO zone_offset (timezone, valid_from, offset_minutes) VALUES (?, ?, ?)',
  );
  db.exec('DELETE FROM zone_offset');
  for (const zone of zones) {
    for (const { valid_from, offset_minutes } of zoneOffsets(zone, now, now + yearsAheadMs))
      put.run(zone ?? '', valid_from, offset_minutes);
  }
}
