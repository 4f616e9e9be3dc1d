import { readdirSync, readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { healInstants, type InstantRules } from '../../src/kernel/sqlite/instants.ts';
import { contract } from '../../src/mirror/contract/contract.ts';
import { type Column, instant as instantColumn } from '../../src/mirror/contract/table.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { mirrorInstants } from '../../src/mirror/sql/instants.ts';
import { inboxFile } from '../../src/receiver/inbox.ts';
import { inboxInstants } from '../../src/receiver/tables.ts';

/** Whole numbers that are no instants, beside those of the contract: counts, flags, durations. A new one is named here, or has a rule. */
const otherNumbers = new Set([
  ...Object.values(contract).flatMap(({ columns }) =>
    Object.entries<Column>(columns).flatMap(([name, { unit }]) => (unit === instantColumn.unit ? [] : [name])),
  ),
  ...`offset_minutes closure_unconfirmed covered shut part failures lane next_page page attempt repeated counted
   unusable id failed target_ms first_part last_part missing_walks shows shown said lists audited outdated
   searches epoch read_failures trusted healed_to width height bytes applied superseded quarantined
   skipped_numbers list_place documents length truncated replay_of confirmed coding utc_offset next_utc_offset
   detail_target_ms stored_bytes total_bytes bodies_gone feed_ceiling feed_newest order_number last_order_number
   number floor last_seq awaited replanned_to affected sellable days weighed_rating kept not_understood`.split(/\s+/),
]);

const schemas = [
  { name: 'mirror', file: mirrorFile, rules: mirrorInstants },
  { name: 'inbox', file: inboxFile, rules: inboxInstants },
];

function made(migrations: URL): Database.Database {
  const db = new Database(':memory:');
  const numbered = readdirSync(migrations).filter((name) => /^\d/.test(name));
  for (const name of numbered.sort()) db.exec(readFileSync(new URL(name, migrations), 'utf8'));
  return db;
}

/** Columns of whole numbers, by table, that are neither ids nor known to be something else. */
function instantsIn(db: Database.Database): string[] {
  const tables = db
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'product_search%' AND name NOT LIKE 'product_places%' AND name NOT LIKE 'search_terms%'`,
    )
    .pluck()
    .all();
  return tables.flatMap((table) =>
    db
      .prepare<[string], { name: string; type: string }>('SELECT name, type FROM pragma_table_xinfo(?)')
      .all(table)
      .filter(({ name, type }) => type === 'INTEGER' && !name.endsWith('_id') && !otherNumbers.has(name))
      .map(({ name }) => `${table}.${name}`),
  );
}

const named = (rules: InstantRules) =>
  Object.entries(rules).flatMap(([table, columns]) => Object.keys(columns).map((column) => `${table}.${column}`));

describe.each(schemas)('the instants of the $name', ({ file, rules }) => {
  it('have each a rule for what becomes of them after a clock was wrong', () => {
    using db = closing(made(file.migrations));
    expect(instantsIn(db.db).sort()).toEqual(named(rules).sort());
  });

  it('are found in a new column too (control)', () => {
    using db = closing(made(file.migrations));
    db.db.exec('CREATE TABLE planted (planted_id INTEGER PRIMARY KEY, seen_on INTEGER, lasts_until INTEGER) STRICT');
    expect(instantsIn(db.db).filter((each) => !named(rules).includes(each))).toEqual([
      'planted.seen_on',
      'planted.lasts_until',
    ]);
  });

  it('are of columns that exist: healing runs, and changes nothing where nothing is wrong', () => {
    using db = closing(made(file.migrations));
    expect(healInstants(db.db, rules, Date.UTC(2026, 10, 21))).toEqual({});
  });
});

describe('healing', () => {
  const now = Date.UTC(2026, 10, 21);
  const hour = 3_600_000;
  const day = 24 * hour;
  const rules: InstantRules = {
    thing: {
      at: 'now',
      read_at: 'absent',
      due_at: 'ahead',
      stale_at: { after: 'read_at' },
      day: 'day',
      kept_at: { leave: 'it is told of' },
    },
    rumour: { at: 'row' },
  };
  const healed = (
    values: Partial<Record<'at' | 'read_at' | 'due_at' | 'stale_at' | 'day' | 'kept_at', number | null>>,
  ) => {
    using db = closing(new Database(':memory:'));
    db.db.exec(
      'CREATE TABLE thing (at INTEGER, read_at INTEGER, due_at INTEGER, stale_at INTEGER, day INTEGER, kept_at INTEGER); CREATE TABLE rumour (at INTEGER)',
    );
    const row = { at: null, read_at: null, due_at: null, stale_at: null, day: null, kept_at: null, ...values };
    db.db.prepare('INSERT INTO thing VALUES (@at, @read_at, @due_at, @stale_at, @day, @kept_at)').run(row);
    healInstants(db.db, rules, now);
    const after = db.db.prepare('SELECT * FROM thing').get() as typeof row;
    return Object.fromEntries(Object.keys(values).map((name) => [name, after[name as keyof typeof row]]));
  };

  it.each([
    ['what was in 2038 is now', { at: Date.UTC(2038) }, { at: now }],
    ['and so is what was in 1970', { at: 12 }, { at: now }],
    ['what is five minutes ahead may be true', { at: now + 5 * 60_000 }, { at: now + 5 * 60_000 }],
    ['what lies an hour back stays', { at: now - hour }, { at: now - hour }],
    ['nothing stays nothing', { at: null, read_at: null, due_at: null }, { at: null, read_at: null, due_at: null }],
    [
      'a read of 2038 never was, and what followed from it is now',
      { read_at: Date.UTC(2038), stale_at: Date.UTC(2038) + day },
      { read_at: null, stale_at: now },
    ],
    [
      'a read of two hours ahead takes with it what followed',
      { read_at: now + 2 * hour, stale_at: now + 8 * hour },
      { read_at: null, stale_at: now },
    ],
    [
      'what is planned stays planned',
      { due_at: now + 28 * day, stale_at: now + 28 * day },
      { due_at: now + 28 * day, stale_at: now + 28 * day },
    ],
    ['a first fill is ordered by instants of 1970', { due_at: 3 }, { due_at: 3 }],
    ['what nobody plans is due now', { due_at: now + 101 * day }, { due_at: now }],
    ['a day of 2038 is today', { day: 24_900 }, { day: Math.floor(now / day) }],
    ['what is left is left', { kept_at: Date.UTC(2038) }, { kept_at: Date.UTC(2038) }],
  ] as const)('%s', (_, before, after) => {
    expect(healed(before)).toEqual(after);
  });

  it('forgets rows that say nothing without their instant', () => {
    using db = closing(new Database(':memory:'));
    db.db.exec(`CREATE TABLE rumour (at INTEGER); INSERT INTO rumour VALUES (${Date.UTC(2038)}), (${now - 1})`);
    expect(healInstants(db.db, { rumour: { at: 'row' } }, now)).toEqual({ rumour: 1 });
    expect(db.db.prepare('SELECT at FROM rumour').pluck().all()).toEqual([now - 1]);
  });
});

function closing(db: Database.Database): Disposable & { readonly db: Database.Database } {
  return { db, [Symbol.dispose]: () => db.close() };
}
