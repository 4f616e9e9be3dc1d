import type { Database } from 'better-sqlite3';
import type { Shown } from './shown.ts';

/** Returns a date, written as `2026-11-24`, so many days after another one. */
export function dateAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/**
 * Returns what a product is compared with where dates from `beyond` on have entered the horizon since it was read: such a date
 * is read with its cadence, and until then it need not be there.
 */
export function asFarAsKnown(db: Database, shown: Shown, beyond: string): Shown {
  const dates = db
    .prepare<[number, string], string>('SELECT date FROM availability_days WHERE product_id = ? AND date >= ?')
    .pluck()
    .all(shown.product_id, beyond);
  const known = new Set(dates);
  const days = shown.days.filter(({ date }) => date < beyond || known.has(date));
  // Nor are the variants known that only such a date sells.
  const sells = days.some(({ sold_out }) => !sold_out);
  return { ...shown, days, availability_variants: sells ? shown.availability_variants : [] };
}
