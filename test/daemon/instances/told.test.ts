import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PublishedRows } from '../../../src/copies/follow/published-rows.ts';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { Publication } from '../../../src/copies/postgres/publication.ts';
import { PublishedMirror } from '../../../src/daemon/instances/published.ts';
import { ChangeFeed, type FeedPage } from '../../../src/feed/changes.store.ts';
import { instant, systemClock } from '../../../src/kernel/clock.ts';
import { readsOf } from '../../../src/kernel/sqlite/statements.ts';
import { type Mirror, openMirror } from '../../../src/mirror/mirror.ts';
import { openMirrorForReading } from '../../../src/mirror/sql/files.ts';
import { openInbox } from '../../../src/receiver/inbox.ts';
import { sequence } from '../../../src/sandbox/random.ts';
import { needs } from '../../fakes/needs.ts';
import { type StartedPostgres, startPostgres } from '../../fakes/start-postgres.ts';
import { testLog } from '../../fakes/test-log.ts';
import { temporaryDirectory, testMirrorOptions } from '../../fakes/test-mirror.ts';
import { differing } from './found.ts';

/** An instance that leads: its mirror, and what publishes it. */
interface Leading extends Disposable {
  readonly mirror: Mirror;
  readonly publication: Publication;
  /** Adds a change that only this instance knows. */
  change(fields: string): void;
  publish(): Promise<{ origin: string; state: number; rows: number }>;
}

/** Twenty in the long form: `npm run faults -- --long --only S10`. */
const seeds = Array.from({ length: process.env.CATALOGUED_LONG === '1' ? 20 : 1 }, (_, seed) => seed + 1);

describe('what several instances tell', needs('postgres', 'time'), () => {
  const stack = new AsyncDisposableStack();
  let server: StartedPostgres;
  let database: Postgres;
  let directory = '';
  let schema = '';
  let schemas = 0;
  let origins = 0;
  beforeAll(() => {
    server = stack.use(startPostgres());
    directory = stack.use(temporaryDirectory()).path;
  });
  beforeEach(async () => {
    schema = `s${++schemas}`;
    origins = 0;
    for (const name of ['a', 'b']) mkdirSync(dirname(optionsOf(name).path), { recursive: true });
    database = stack.use(await connectPostgres({ url: server.url, schema, connections: 2 }));
  });
  afterAll(() => stack.disposeAsync());

  const optionsOf = (name: string) => testMirrorOptions(join(directory, schema, name));

  /** Leads with what is published, as an instance does that has just won. */
  async function lead(name: string): Promise<Leading> {
    const { path } = optionsOf(name);
    const begun = await follower(name).goOn(new AbortController().signal);
    const inbox = openInbox(join(directory, schema, `${name}.inbox.db`), {
      master: null,
      now: instant(0),
      pair_id: 'pair',
    });
    if (begun !== null) inbox.feed.takeOver(path, begun.change);
    inbox[Symbol.dispose]();
    const again = openInbox(inbox.path, { master: null, now: instant(0) });
    const mirror = openMirror({ ...optionsOf(name), feed: again.feed, publish_rows: 'all' });
    again.feed.opened(path);
    const publication = new Publication({
      postgres: database,
      schema,
      mirror_path: path,
      now: () => 1,
      newOrigin: () => `${name} ${++origins}`,
      begun,
    });
    return {
      mirror,
      publication,
      change: (fields) => {
        const change = { product_id: 1, kind: 'product_changed', detail: { fields: [fields] } } as const;
        mirror.transaction(() => mirror.changes.add(change, { sent_at: instant(1), reason: 'notified' }));
      },
      publish: async () => {
        const done = await publication.publish();
        mirror.transaction(() => mirror.changes.tell(done.change));
        return done;
      },
      [Symbol.dispose]: () => {
        publication[Symbol.dispose]();
        mirror[Symbol.dispose]();
        again[Symbol.dispose]();
      },
    };
  }

  const follower = (name: string) =>
    new PublishedMirror({
      path: optionsOf(name).path,
      source: new PublishedRows(database, schema, 'all'),
      clock: systemClock,
      log: testLog('silent').log,
    });

  /** Stands by until the mirror is equal to what is published. */
  async function standBy(name: string): Promise<void> {
    const equal = new AbortController();
    await follower(name).follow(equal.signal, () => equal.abort());
  }

  function read(name: string, after = 0, feed: string | null = null): FeedPage {
    const db = openMirrorForReading(optionsOf(name).path);
    try {
      return new ChangeFeed(readsOf(db)).after(after, 100, feed);
    } finally {
      db.close();
    }
  }
  const told = ({ changes }: FeedPage) => changes.map(({ seq, detail }) => `${seq} ${JSON.parse(detail).fields[0]}`);

  /** A leader dies with a change that it has not published; another one goes on, and it comes back. */
  async function takenOver(died: (mirror_path: string) => void) {
    {
      using a = await lead('a');
      a.change('one');
      await a.publish();
      await standBy('b');
      a.change('two');
      await a.publish();
      died(a.mirror.path);
      a.change('never published');
    }
    const before = read('a');
    {
      using b = await lead('b');
      expect(await b.publish()).toMatchObject({ origin: 'b 2', state: 2, rows: 0 });
      b.change('three');
      expect(await b.publish()).toMatchObject({ origin: 'b 2', state: 3 });
      b.change('four');
      await b.publish();
    }
    const gone_on = read('b', before.next, before.feed);
    await standBy('a');
    expect(told(read('a'))).toEqual(told(read('b')));
    return { before: told(before), gone_on: told(gone_on) };
  }

  it('goes on under the same feed and numbers when another one takes over: no gap, and nothing that is taken back', async () => {
    const seen = await takenOver(() => undefined);
    expect(seen).toEqual({ before: ['1 one', '2 two'], gone_on: ['3 three', '4 four'] });
  });

  it('would be taken back, and the next change missed, were it told before it is published (control)', async () => {
    const seen = await takenOver((path) => {
      const db = new Database(path);
      db.exec('UPDATE _row_feed SET last_seq = 1000');
      db.close();
    });
    expect(seen).toEqual({ before: ['1 one', '2 two', '3 never published'], gone_on: ['4 four'] });
  });

  it('is what the last leader goes on with after a restart, whatever it had not published', async () => {
    {
      using a = await lead('a');
      a.change('one');
      await a.publish();
      a.change('two');
    }
    await standBy('a');
    using a = await lead('a');
    expect(told(read('a'))).toEqual(['1 one']);
    expect(await a.publish()).toMatchObject({ origin: 'a 2', state: 2 });
    expect(told(read('a'))).toEqual(['1 one', '2 two']);
  });

  // One that timed out would go on beside the next.
  it.each(seeds)('is the same everywhere at the end of any drawn course (seed %i)', async (seed) => {
    const draw = sequence(seed);
    const names = ['a', 'b'] as const;
    let at: 0 | 1 = 0;
    let leading = await lead(names[at]);
    let cursor = { next: 0, feed: null as string | null };
    const seen: string[] = [];
    let takeovers = 0;
    await leading.publish();
    for (let step = 0; step < 30; step += 1) {
      leading.change(`change ${step}`);
      if (draw() < 0.5) await leading.publish();
      if (draw() < 0.3) await standBy(names[1 - at] as string);
      if (draw() < 0.3) {
        // The one that leads dies; another leads, or itself again.
        leading[Symbol.dispose]();
        if (draw() < 0.8) at = at === 0 ? 1 : 0;
        leading = await lead(names[at]);
        takeovers += 1;
      }
      const page = read(names[at], cursor.next, cursor.feed);
      seen.push(...told(page));
      cursor = { next: page.changes.at(-1)?.seq ?? cursor.next, feed: page.feed };
    }
    await leading.publish();
    await standBy(names[1 - at] as string);
    leading[Symbol.dispose]();
    expect(takeovers).toBeGreaterThan(2);
    const all = told(read(names[at]));
    expect(seen).toEqual(all.slice(0, seen.length));
    const [one, other] = names.map((name) => optionsOf(name).path) as [string, string];
    expect(differing(one, other)).toEqual([]);
  });

  it('is read by followers without the rows that only a daemon needs, and by instances with them', async () => {
    using a = await lead('a');
    await a.publish();
    await database.query(`INSERT INTO _offer (path) VALUES ('product');
      INSERT INTO _row (state, source, keys, n) VALUES (2, '_offer', '[["product"]]', 1), (2, '_mirror', '[[1]]', 1);
      UPDATE _published SET state = 2`);
    const tables = async (rows: 'shown' | 'all') => {
      const page = await new PublishedRows(database, schema, rows).after({ origin: 'a 1', after: 1, limit: 1 });
      return page === 'begun-anew' ? page : page.tables.map(({ table }) => table);
    };
    expect(await tables('shown')).toEqual(['_mirror']);
    expect(await tables('all')).toEqual(['_mirror', '_offer']);
  });

  it('is no copy where the database names a table of its own, or other columns', async () => {
    using a = await lead('a');
    await a.publish();
    await database.query('ALTER TABLE _product ADD COLUMN "title); DROP TABLE _mirror; --" text');
    const source = new PublishedRows(database, schema);
    const copy = source.copy(join(directory, 'copy.db'));
    await expect(copy).rejects.toMatchObject({ code: 'another-version', exitCode: 78 });
    await database.query('ALTER TABLE _product DROP COLUMN "title); DROP TABLE _mirror; --"');
    await database.query('CREATE TABLE "x""; DROP TABLE _mirror; --" (id int PRIMARY KEY)');
    await source.copy(join(directory, 'other.db'));
    expect(await source.published()).not.toBeNull();
  });
});
