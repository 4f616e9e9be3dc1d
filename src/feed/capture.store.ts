import type { Database } from '../kernel/sqlite/database-file.ts';

/*
 * Triggers that record which rows change, in the same transaction. They belong to the daemon's connection: in the file
 * every reader would have to parse them. Without `rows.publish` there are none, and nothing is recorded.
 */

/** Tables that are the contract themselves: no view stands over them. */
export const contractTables = [
  'alternatives',
  'currencies',
  'languages',
  'policies',
  'product_experiences',
  'product_tags',
] as const;

/** Tables under a thin view of the contract, which adds what the clock decides. */
export const clockTables = ['checkout', 'date_window', 'day', 'image', 'price', 'product', 'slot_day'] as const;

/** Tables that the statements of a search name, and no view stands over. */
export const searchedTables = [
  'search_deletes',
  'search_entries',
  'search_generic_words',
  'search_letters',
  'search_words',
] as const;

/** Tables under the views, and the words that searches read: all that a followed copy holds. */
export const publishedTables = [
  '_change',
  '_check_count',
  '_experience',
  '_mirror',
  '_product',
  '_price_read',
  '_product_read',
  '_product_text',
  '_target',
  '_record',
  '_search_text',
  '_subscription',
  '_subscription_product',
  '_tag',
  '_text_read',
  '_variant',
  '_variant_group',
  '_zone_offset',
  ...clockTables,
  ...contractTables,
  ...searchedTables,
] as const;

/** The rest, which only a daemon reads: what another instance needs in order to take over. */
export const ownTables = [
  '_absence',
  '_audit',
  '_budget',
  '_claim',
  '_closure',
  '_expected_notice',
  '_gap',
  '_held',
  '_image_credit',
  '_image_file',
  '_image_takedown',
  '_interest',
  '_job',
  '_notice',
  '_offer',
  '_on_sale',
  '_outcome',
  '_product_experience',
  '_search_rules',
  '_short_list',
  '_signal',
  '_unpriced',
  '_unreadable',
  '_walk',
  '_walk_page',
  '_wave',
] as const;

/** A virtual table has no triggers: a product's row is noted with the product. */
const placeTable = 'product_places';

type CapturedTable = (typeof publishedTables)[number] | (typeof ownTables)[number];

export type PublishedTable = CapturedTable | typeof placeTable;

/** Returns whether a name, from any source, is that of a table whose rows are published. */
export function isPublished(table: string): table is PublishedTable {
  return isShown(table) || ownTables.some((name) => name === table);
}

/** Returns whether a name is that of a table that readers need. */
export function isShown(table: string): table is PublishedTable {
  return table === placeTable || publishedTables.some((name) => name === table);
}

export interface TableColumns {
  readonly all: readonly string[];
  /** Those of the primary key, in its order. */
  readonly key: readonly string[];
}

export function columnsOf(db: Database, table: PublishedTable): TableColumns {
  const columns = db.pragma(`table_info(${table})`) as { name: string; pk: number }[];
  const all = columns.map(({ name }) => name);
  if (table === placeTable) return { all, key: all.slice(0, 1) };
  const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  return { all, key: key.map(({ name }) => name) };
}

/** Selects the rows whose changes are recorded: none, those that views and searches read, or all (for standby instances). */
export type Publish = 'none' | 'shown' | 'all';

export interface CaptureOptions {
  readonly publish: Publish;
  /** The file is another one than the last time, such as one restored: the same numbers may mean other rows. */
  readonly another: boolean;
  readonly newOrigin: () => string;
}

/**
 * Has a connection that was just opened note the rows that it changes: each that writes a mirror does, but for copies. Where other rows were noted
 * before, or by another schema, rows may have changed unseen: the numbers get another origin, and followers start again.
 */
export function captureRows(db: Database, { publish, another, newOrigin }: CaptureOptions): void {
  for (const table of capturedTables[publish]) for (const sql of triggersOf(table, columnsOf(db, table))) db.exec(sql);
  const schema_version = Number(db.pragma('user_version', { simple: true }));
  const known = db
    .prepare<[], { publish: Publish; schema_version: number }>('SELECT publish, schema_version FROM _row_feed')
    .get();
  if (
    publish === 'none'
      ? known === undefined
      : !another && known?.publish === publish && known.schema_version === schema_version
  )
    return;
  const replace = db.transaction(() => {
    const told =
      publish === 'all' ? db.prepare(`SELECT coalesce((SELECT last_seq FROM _row_feed), ${newestChange})`) : null;
    const seen = told?.pluck().get() ?? null;
    db.exec('DELETE FROM _row; DELETE FROM _row_mark; DELETE FROM _row_feed');
    if (publish !== 'none')
      db.prepare(
        `INSERT INTO _row_feed (row_feed_id, origin, floor, publish, schema_version, last_seq) VALUES (1, ?, ${newestNumber}, ?, ?, ?)`,
      ).run(newOrigin(), publish, schema_version, seen);
  });
  replace.immediate();
}

/** Gives the rows of a copy the numbers of another source: whoever begins to follow with it goes on there. */
export function renumberRows(copy: Database, origin: string, number: number): void {
  copy
    .prepare(
      `INSERT OR REPLACE INTO _row_feed (row_feed_id, origin, floor, publish, schema_version)
       SELECT 1, ?, 0, 'shown', user_version FROM pragma_user_version`,
    )
    .run(origin);
  copy.exec("DELETE FROM sqlite_sequence WHERE name = '_row'");
  copy.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('_row', ?)").run(number);
}

/** The last number given out, also after all are forgotten. */
export const newestNumber = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = '_row'), 0)";

/** The last number that the change feed has given out. */
export const newestChange = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = '_change'), 0)";

/** Returns the tables whose rows are published: those that only daemons read where other instances stand by. */
export function publishedOf(db: Database): PublishedTable[] {
  const publish = db.prepare<[], Publish>('SELECT publish FROM _row_feed').pluck().get();
  return [...capturedTables[publish === 'all' ? 'all' : 'shown'], placeTable];
}

const capturedTables: Readonly<Record<Publish, readonly CapturedTable[]>> = {
  none: [],
  shown: publishedTables,
  all: [...publishedTables, ...ownTables],
};

const prefix = 'row_of_';

function triggersOf(table: CapturedTable, { key }: TableColumns): string[] {
  const sources = table === '_product' ? [table, placeTable] : [table];
  const note = (row: 'old' | 'new') => {
    const values = `json_array(${key.map((column) => `${row}.${column}`).join(', ')})`;
    // Two statements instead of OR REPLACE: the conflict clause of what fires a trigger overrides the trigger's own.
    return sources
      .map(
        (source) =>
          `DELETE FROM _row WHERE source = '${source}' AND key = ${values}; INSERT INTO _row (source, key) VALUES ('${source}', ${values});`,
      )
      .join(' ');
  };
  const moved = key.map((column) => `old.${column} IS NOT new.${column}`).join(' OR ');
  const events = {
    added: ['INSERT', note('new')],
    changed: ['UPDATE', note('new')],
    moved: [`UPDATE OF ${key.join(', ')}`, note('old'), `WHEN ${moved} `],
    dropped: ['DELETE', note('old')],
  } as const;
  return Object.entries(events).map(
    ([name, [event, body, when = '']]) =>
      `CREATE TEMP TRIGGER ${prefix}${table}_${name} AFTER ${event} ON ${table} ${when}BEGIN ${body} END`,
  );
}
