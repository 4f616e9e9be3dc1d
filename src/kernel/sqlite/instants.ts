import type { Database } from './database-file.ts';

/** Repair of a stored instant that a wrong clock has written: one in the future, or older than this program. */
export type InstantRule =
  /** It happened, but at an unknown time: set to now at the latest. */
  | 'now'
  /** Treated as if the event had never happened. */
  | 'absent'
  /** The whole row is deleted. */
  | 'row'
  /** May lie up to 100 days ahead, and any time in the past; otherwise set to now. */
  | 'ahead'
  /** The same, counted from another column of the row; set to now if that column is wrong. */
  | { readonly after: string }
  /** Whole days since 1970 instead of milliseconds. */
  | 'day'
  /** Left as it is, for this reason. */
  | { readonly leave: string };

/** By table and column. Every instant of the schema stands here: a test compares the two. */
export type InstantRules = Readonly<Record<string, Readonly<Record<string, InstantRule>>>>;

/** No cadence, pause or grace is longer. */
export const longestAheadMs = 100 * 86_400_000;
/** Stored instants are allowed to be ahead by this much. */
const toleranceMs = 5 * 60_000;
/** Nothing was mirrored before 2020. */
export const earliestMs = Date.UTC(2020);

const dayMs = 86_400_000;

/**
 * Repairs every instant that a wrong clock has written, in one transaction. Returns how many rows it changed, by table:
 * none where all instants may be true, which writes nothing.
 */
export function healInstants(db: Database, rules: InstantRules, now: number): Record<string, number> {
  const bounds = {
    now,
    late: now + toleranceMs,
    ahead: now + longestAheadMs,
    earliest: earliestMs,
    today: Math.floor(now / dayMs),
    first_day: earliestMs / dayMs,
  };
  const healed: Record<string, number> = {};
  for (const [table, columns] of Object.entries(rules)) {
    const entries = Object.entries(columns);
    let rows = 0;
    for (const sql of statementsFor(table, entries)) rows += db.prepare(sql).run(bounds).changes;
    if (rows > 0) healed[table] = rows;
  }
  return healed;
}

function statementsFor(table: string, entries: readonly (readonly [string, InstantRule])[]): string[] {
  const gone = entries.filter(([, rule]) => rule === 'row').map(([column]) => wrong(column, 'now'));
  const changed = entries.filter(([, rule]) => rule !== 'row' && !(typeof rule === 'object' && 'leave' in rule));
  const sets = changed.map(
    ([column, rule]) => `${column} = CASE WHEN ${wrong(column, rule)} THEN ${healedTo(rule)} ELSE ${column} END`,
  );
  const any = changed.map(([column, rule]) => wrong(column, rule)).join(' OR ');
  return [
    ...(gone.length === 0 ? [] : [`DELETE FROM ${table} WHERE ${gone.join(' OR ')}`]),
    // If the instant is part of the key, two rows written while the clock was wrong may become one.
    ...(sets.length === 0 ? [] : [`UPDATE OR REPLACE ${table} SET ${sets.join(', ')} WHERE ${any}`]),
  ];
}

function wrong(column: string, rule: InstantRule): string {
  if (rule === 'ahead') return `${column} > @ahead`;
  if (rule === 'day') return `(${column} > @today OR ${column} < @first_day)`;
  if (typeof rule === 'object' && 'after' in rule)
    return `(${wrong(column, 'ahead')} OR (${column} IS NOT NULL AND ${wrong(rule.after, 'now')}))`;
  return `(${column} > @late OR ${column} < @earliest)`;
}

function healedTo(rule: InstantRule): string {
  if (rule === 'absent') return 'NULL';
  return rule === 'day' ? '@today' : '@now';
}
