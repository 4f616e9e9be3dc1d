import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { openForReading, openForWriting, schemaVersion } from '../../src/kernel/sqlite/database-file.ts';
import { compareVersions, migrationsOf, oldestSafeOf } from '../../src/kernel/sqlite/file-kind.ts';
import { openMirror } from '../../src/mirror/mirror.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { inboxFile, openInbox } from '../../src/receiver/inbox.ts';
import { type NextVersion, nextVersion } from '../fakes/next-version.ts';
import { openReader } from '../fakes/reader.ts';
import { emptyMirror, temporaryDirectory, testMirror, testMirrorOptions } from '../fakes/test-mirror.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const stack = new DisposableStack();
let next: NextVersion;
let directory = '';
beforeAll(() => {
  next = stack.use(nextVersion());
  directory = stack.use(temporaryDirectory()).path;
});
afterAll(() => stack.dispose());

/** Every row of every table, in the columns that both versions have. */
function contents(path: string, columns = columnsIn(path)): Record<string, unknown[]> {
  const db = new Database(path, { readonly: true });
  const rows = Object.entries(columns).map(([name, of]) => [
    name,
    db
      .prepare(`SELECT ${of.join()} FROM ${name}`)
      .all()
      .map((row) => JSON.stringify(row))
      .sort(),
  ]);
  db.close();
  return Object.fromEntries(rows);
}

function columnsIn(path: string): Record<string, string[]> {
  const db = new Database(path, { readonly: true });
  const names = db
    .prepare<[], string>("SELECT name FROM pragma_table_list WHERE type = 'table' AND name <> 'sqlite_schema'")
    .pluck()
    .all();
  const columnsOf = db.prepare<[string], string>('SELECT name FROM pragma_table_xinfo(?)').pluck();
  const found = names.map((name) => [
    name,
    columnsOf.all(name).filter((column) => `${name}.${column}` !== 'slot_day.rest'),
  ]);
  db.close();
  return Object.fromEntries(found);
}

const asked = <Answer>(path: string, sql: string) => {
  const db = new Database(path, { readonly: true });
  const answer = db.prepare<[], Answer>(sql).pluck().get();
  db.close();
  return answer;
};

describe('a filled mirror and its inbox', () => {
  const at = (name: string) => join(directory, name);
  const copy = (name: string) => {
    copyFileSync(at('filled.db'), at(name));
    return at(name);
  };
  const pair_id = () => asked<string>(at('filled.db'), 'SELECT pair_id FROM _mirror') ?? '';
  beforeAll(async () => {
    await using harness = await filledHarness({ products: 4 }, { cadence: { products: '1h' } });
    const [edited, withdrawn] = harness.sandbox.world.visible();
    if (edited === undefined || withdrawn === undefined) throw new Error('too few products');
    edited.title = 'Another Name';
    withdrawn.withdrawn = true;
    await harness.live(4 * 3_600_000);
    const db = new Database(harness.daemon.mirror.path);
    db.exec(`VACUUM INTO '${at('filled.db')}'`);
    db.close();
  });

  it('keep every row when the next version changes them, and what is new is computed from it', () => {
    const path = copy('rows.db');
    const [columns, stood] = [columnsIn(path), contents(path)];
    expect(Object.values(stood).filter((rows) => rows.length > 0).length).toBeGreaterThan(25);
    openForWriting(path, next.mirror).close();
    const index = /^(product_search|sqlite_)/;
    const kept = (rows: object) => Object.fromEntries(Object.entries(rows).filter(([name]) => !index.test(name)));
    expect(kept(contents(path, columns))).toEqual(kept(stood));
    expect(asked(path, "SELECT next_version_line FROM products WHERE title = 'Another Name'")).toBe(
      'All of Another Name',
    );
    const db = new Database(path);
    for (const name of ['product_search', 'search_terms'])
      db.exec(`INSERT INTO ${name} (${name}, rank) VALUES ('integrity-check', 1)`);
    expect(db.pragma('foreign_key_check')).toEqual([]);
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    using reader = openReader(path);
    expect(reader.exact({ text: 'another name' })).toHaveLength(1);
    expect(reader.search({ text: 'anoter name' }).hits[0]?.title).toBe('Another Name');
    // Control: an index that is not filled again differs from what it is about.
    db.exec("INSERT INTO product_search (product_search) VALUES ('delete-all')");
    expect(() => db.exec("INSERT INTO product_search (product_search, rank) VALUES ('integrity-check', 1)")).toThrow();
    db.close();
  });

  it.each([
    ['as it stands', ''],
    ['also where every line of it was old enough to go', 'DELETE FROM _change'],
  ])('have a feed that goes on without a gap from the cursor of before, %s', (_, sql) => {
    const path = copy('feed.db');
    const old = new Database(path);
    const cursor = old.prepare<[], number>('SELECT max(seq) FROM _change').pluck().get() ?? 0;
    const feed = old.prepare<[], string>('SELECT feed_id FROM _mirror').pluck().get() ?? '';
    old.exec(sql);
    old.close();
    {
      using _ = next.install();
      using mirror = openMirror({ ...testMirrorOptions(''), path, pair_id: pair_id() });
      expect(mirror.feed).toEqual({ feed: 'goes-on' });
      const change = { product_id: 1, kind: 'sale_enabled', detail: {} } as const;
      mirror.transaction(() => mirror.changes.add(change, { sent_at: instant(1000), reason: 'requested' }));
    }
    using reader = openReader(path);
    expect(cursor).toBeGreaterThan(4);
    const { changes } = reader.changes(cursor, { feed });
    expect(changes.map(({ seq, kind }) => [seq, kind])).toEqual([[cursor + 1, 'sale_enabled']]);
  });

  it('are upgraded also where somebody has a view of his own over ours, and refused by the version of before', () => {
    const path = copy('refused.db');
    const old = new Database(path);
    old.exec('CREATE VIEW "my shop" AS SELECT title FROM products JOIN _product_text USING (product_id)');
    old.close();
    openForWriting(path, next.mirror).close();
    const known = schemaVersion(mirrorFile);
    for (const open of [openForWriting, openForReading])
      expect(() => open(path, mirrorFile)).toThrow(
        `it was written by a newer catalogued (schema ${known + 1}, this one knows ${known})`,
      );
  });

  it('keep the deliveries that wait, the pair and the sums', () => {
    const path = at('inbox.db');
    const body = Buffer.from('{"products":[]}');
    const received = { subscription_id: 'a', epoch: 1, received_at: instant(7), peer: '::1', content_type: null };
    {
      using inbox = openInbox(path, { master: null, now: instant(0), pair_id: 'kept' });
      inbox.deliveries.store([{ ...received, body, length: body.length, truncated: false }]);
    }
    {
      using _ = next.install();
      using inbox = openInbox(path, { master: null, now: instant(0) });
      expect(inbox.pair_id).toBe('kept');
      expect(inbox.deliveries.after(0, 9).map((each) => Buffer.from(each.body).toString())).toEqual([body.toString()]);
      expect(inbox.deliveries.bytes()).toEqual({ stored_bytes: body.length + 512, bodies_gone: 0 });
      expect(asked(path, 'SELECT weighed FROM inbox')).toBe(body.length);
    }
    expect(() => openForWriting(path, inboxFile)).toThrow(expect.objectContaining({ code: 'newer-file' }));
  });
});

it('an empty mirror that a test begins with is the one that is made where there is none', () => {
  using place = temporaryDirectory();
  const [copied, made] = ['copied', 'made'].map((name) => {
    const options = testMirrorOptions(join(place.path, name));
    if (name === 'copied') emptyMirror.write(options.path);
    using mirror = openMirror({ ...options, newFeedId: () => 'feed' });
    return { feed: mirror.feed, rows: contents(mirror.path) };
  });
  expect(copied).toEqual(made);
});

it('a file has no comments in its schema, which every reader would parse', () => {
  using test = testMirror();
  expect(test.all("SELECT name FROM sqlite_schema WHERE sql LIKE '%--%'")).toEqual([]);
});

it.each([mirrorFile, inboxFile])(
  'each step of the $name says its oldest safe version, none older than a step before it',
  (kind) => {
    const said = migrationsOf(kind).map(oldestSafeOf);
    expect(said.toSorted(compareVersions)).toEqual(said);
  },
);

it('versions are compared number by number, and a release candidate comes before its release', () => {
  const inOrder = ['0.9.0', '1.0.0-rc', '1.0.0', '1.2.0', '1.10.0-rc', '1.10.0'];
  expect(inOrder.toReversed().sort(compareVersions)).toEqual(inOrder);
});

it('a step that does not say its oldest safe version is none', () => {
  expect(() => oldestSafeOf('ALTER TABLE _product ADD COLUMN a')).toThrow(
    /does not begin with its oldest safe version/,
  );
});

it('a newer mirror is refused untouched, with the name of the version that opens it', () => {
  using test = testMirror();
  const { path } = test.mirror;
  const db = new Database(path);
  db.exec("UPDATE _mirror SET written_by = 'catalogued 7.1.0'; PRAGMA user_version = 99");
  db.close();
  const before = readFileSync(path);
  for (const open of [openForWriting, openForReading])
    expect(() => open(path, mirrorFile)).toThrow(
      expect.objectContaining({
        code: 'newer-file',
        hint: expect.stringMatching(/^install catalogued 7\.1\.0 or newer; /),
      }),
    );
  expect(readFileSync(path)).toEqual(before);
});
