import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { openForWriting } from '../../src/kernel/sqlite/database-file.ts';
import { contractVersion } from '../../src/mirror/contract/contract.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { change, keptFiles, keptWorld, livedOn, putFiles } from '../fakes/kept-files.ts';
import { openMirrorAt, shownAt } from '../fakes/mirror-at.ts';
import { openReader } from '../fakes/reader.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { filledHarness, noon, type VirtualHarness } from '../fakes/virtual-harness.ts';
import { tables } from './contract/tables.ts';

const kept_at = noon + livedOn;
const minute = 60_000;
const day = 1440 * minute;

/** Two runs of one world differ in milliseconds: instants are compared by the minute. */
const isInstant = (value: unknown): value is number => typeof value === 'number' && value > Date.parse('2026-01-01');

type Shown = Readonly<Record<string, readonly unknown[]>>;
type Columns = Readonly<Record<string, readonly string[]>>;

/** Returns the rows of each view at an instant, in the columns that are named; the connection is closed. */
function rowsOf(db: Database.Database, columns: Columns): Shown {
  const rows = Object.entries(columns).map(([view, of]) => [
    view,
    db
      .prepare(`SELECT ${of.map((column) => `"${column}"`).join()} FROM ${view}`)
      .all()
      .map((row) => JSON.stringify(row, (_, value) => (isInstant(value) ? Math.round(value / minute) : value)))
      .sort(),
  ]);
  db.close();
  return Object.fromEntries(rows);
}

/** Returns the contract that a mirror names. */
function contractOf(path: string): number {
  const db = new Database(path, { readonly: true });
  const found = db.prepare<[], number>('SELECT contract_version FROM mirror_info').pluck().get();
  db.close();
  return found ?? 0;
}

/** The columns of the contract that a version had when it was released. */
function columnsOfContract(version: number): Columns {
  const text = readFileSync(new URL(`../fixtures/contracts/${version}.json`, import.meta.url), 'utf8');
  const { views } = JSON.parse(text) as { views: Record<string, { columns: object }> };
  return Object.fromEntries(Object.entries(views).map(([view, of]) => [view, Object.keys(of.columns)]));
}

/** A column that the service sends, by its view and its path in the view's document. */
interface Sent {
  readonly view: string;
  readonly column: string;
  readonly from: string;
  /** A value of the column's type. */
  readonly planted: string | number;
}

/** Returns the columns from a document that are in today's contract and not in an older one. */
function sentSince(columns: Columns): Sent[] {
  return Object.values(tables).flatMap(({ name: view, columns: of }) =>
    'document' in of
      ? Object.entries(of).flatMap(([column, { from, type }]) =>
          from === undefined || columns[view]?.includes(column)
            ? []
            : [{ view, column, from, planted: type === 'text' ? 'planted' : 1 }],
        )
      : [],
  );
}

/** Has the service have sent a member all along: it stands in every stored document. */
function plant(path: string, sent: readonly Sent[]): void {
  const db = new Database(path);
  const stored = db.prepare<[], string>(
    `SELECT t.name FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
     WHERE t.schema = 'main' AND t.type = 'table' AND c.name = 'document' AND c.type = 'TEXT'`,
  );
  for (const table of stored.pluck().all())
    for (const { from, planted } of sent)
      db.prepare(`UPDATE ${table} SET document = json_set(document, ?, ?) WHERE json_valid(document)`).run(
        from,
        planted,
      );
  db.close();
}

/** Returns the columns that are NULL although the document of their row has a value. */
function unfilled(path: string, sent: readonly Sent[]): string[] {
  const db = openMirrorAt(path, kept_at);
  const found = sent.filter(({ view, column, from }) =>
    db.prepare(`SELECT 1 FROM ${view} WHERE "${column}" IS NULL AND json_type(document, ?) <> 'null'`).get(from),
  );
  db.close();
  return found.map(({ view, column }) => `${view}.${column}`);
}

/** Whether a column tells when something was read or changed, and not what. */
const isHistory = (column: string, { byClock }: { readonly byClock?: true } = {}) =>
  byClock === true || column === 'changed_at';

/** What each start writes of itself. */
const own = ['contract_version', 'schema_version', 'written_by'];
const withoutOwn = (columns: Columns): Columns =>
  Object.fromEntries(Object.entries(columns).map(([view, of]) => [view, of.filter((name) => !own.includes(name))]));

async function readEverything(harness: VirtualHarness): Promise<void> {
  const everything = { resources: [...resyncResources], product_ids: [], from: null, to: null };
  const { job_id } = requestResync(harness.daemon.sync, everything);
  await harness.runUntil(() => harness.daemon.mirror.schedule.jobs.find({ job_id })?.finished_at !== null);
}

const startOn = (version: string) =>
  filledHarness(...keptWorld, { at: kept_at, changed: (mirror) => putFiles(version, mirror) });

describe.each(readdirSync(keptFiles))('the mirror and the inbox of %s', (version) => {
  it('show the same rows in each view of their contract once they are brought up to date, now and three days on', async () => {
    using place = temporaryDirectory();
    const old = join(place.path, 'mirror/mirror.db');
    putFiles(version, old);
    const columns = withoutOwn(columnsOfContract(contractOf(old)));
    const stood = [0, 3 * day].map((ms) =>
      rowsOf(shownAt(new Database(old, { readonly: true }), kept_at + ms), columns),
    );
    expect(Object.values(stood[0] ?? {}).filter((rows) => rows.length > 0).length).toBeGreaterThan(15);
    await using harness = await startOn(version);
    const { path } = harness.daemon.mirror;
    expect([0, 3 * day].map((ms) => rowsOf(openMirrorAt(path, kept_at + ms), columns))).toEqual(stood);
    using reader = openReader(path);
    expect(reader.info()).toMatchObject({ contract_version: contractVersion });
    const bodies = harness.daemon.inbox.deliveries.after(0, 9).map(({ body }) => Buffer.from(body).toString());
    expect(bodies).toEqual(Array(3).fill('{"products":[]}'));
    // Control: a row that the upgrade changes is seen.
    const db = new Database(path);
    db.exec("UPDATE product SET title = title || ' ' WHERE title = 'Another Name'");
    db.close();
    expect(rowsOf(openMirrorAt(path, kept_at), columns).products).not.toEqual(stood[0]?.products);
  });

  it('have each column that the service sends filled from the documents that were stored before it', () => {
    using place = temporaryDirectory();
    const path = join(place.path, 'mirror/mirror.db');
    putFiles(version, path);
    const added = sentSince(columnsOfContract(contractOf(path)));
    // Control: no step fills a column that stood before.
    const before: Sent = { view: 'products', column: 'promo_label', from: '$.promo_label', planted: 'planted' };
    plant(path, [...added, before]);
    openForWriting(path, mirrorFile).close();
    expect(unfilled(path, [...added, before])).toEqual(['products.promo_label']);
  });

  it('are what a mirror is that this program has filled, once it has read everything', async () => {
    await using upgraded = await startOn(version);
    change(upgraded.sandbox.world);
    expect(upgraded.daemon.mirror.feed).toEqual({ feed: 'goes-on' });
    await readEverything(upgraded);
    expect(await upgraded.compare()).toMatchObject({ differences: 0, first: [], products: 3 });
    await using filled = await filledHarness(...keptWorld);
    change(filled.sandbox.world);
    await filled.live(livedOn);
    await readEverything(filled);
    const columns = Object.fromEntries(
      Object.values(tables)
        // The sandbox of today may send more than that of the release: then each document has changed once more.
        .filter(({ name }) => name !== 'changes')
        .map(
          ({ name, columns: of }) =>
            [name, Object.keys(of).filter((column) => !isHistory(column, of[column]))] as const,
        )
        .filter(([, of]) => of.length > 0),
    );
    const at = (harness: VirtualHarness) => rowsOf(openMirrorAt(harness.daemon.mirror.path, kept_at + day), columns);
    expect(at(upgraded)).toEqual(at(filled));
  });
});
