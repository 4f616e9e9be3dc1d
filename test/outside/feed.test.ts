import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventSource } from '../fakes/event-source.ts';
import { happens, Stage } from './stage.ts';

interface Change {
  readonly seq: number;
  readonly product_id: number;
  readonly kind: string;
  readonly date: string | null;
  readonly detail: string;
}

type Row = Readonly<Record<string, string | number | null>>;

/** Views that the values of changes are compared with. */
const compared = ['product_prices', 'availability_days', 'images'] as const;
type Views = Readonly<Record<(typeof compared)[number], readonly Row[]>>;

const stack = new AsyncDisposableStack();
let stage: Stage;
let ids: readonly number[];
beforeAll(async () => {
  stage = stack.use(await Stage.open({ service: ['--products', '6'] }));
  await stage.filled();
  ids = await stage.service.get<number[]>('/sandbox/products');
});
afterAll(() => stack.disposeAsync());

const allChanges = () => stage.rows<Change>('SELECT * FROM changes ORDER BY seq');
const changesAfter = (seq: number) => allChanges().filter((each) => each.seq > seq);
const newest = () => allChanges().at(-1)?.seq ?? 0;
const feedId = () => stage.rows<{ feed_id: string }>('SELECT feed_id FROM mirror_info')[0]?.feed_id;

/** Returns the changes behind which none stands that should. */
const gaps = (changes: readonly Pick<Change, 'seq'>[], first: number) =>
  changes.filter(({ seq }, index) => seq !== first + index);

/** Waits until kinds of a product were announced, and the pass that found them has ended. */
async function announced(after: number, wanted: readonly (readonly [product_id: number, kind: string])[]) {
  const isThere = (changes: readonly Change[]) =>
    wanted.every(([id, kind]) => changes.some((each) => each.product_id === id && each.kind === kind)) &&
    changes.at(-1)?.kind === 'pass_completed';
  return await happens(() => changesAfter(after), isThere);
}

const edit = (product_id: number, field: string, value: unknown) =>
  stage.service.post(`/sandbox/products/${product_id}/edit`, { field, value });

describe('the change feed', () => {
  it('has no gaps, and a first fill announces products that were added, each once, and nothing else', () => {
    const changes = allChanges();
    expect(gaps(changes, 1)).toEqual([]);
    const kinds = changes.filter(({ kind }) => kind !== 'pass_completed');
    expect(kinds.map(({ kind, product_id }) => [kind, product_id]).sort()).toEqual(
      ids.map((id) => ['product_added', id]).sort(),
    );
    // A change that is missing, and one that is there twice, are seen (control).
    expect(gaps(changes.toSpliced(1, 1), 1)).not.toEqual([]);
    expect(gaps(changes.toSpliced(1, 0, changes[0] as Change), 1)).not.toEqual([]);
  });

  it('says of prices, dates and images what the views showed right before and right after', async () => {
    const [priced, thinned, pictured] = ids as [number, number, number];
    const shown = (): Views => {
      const rows = compared.map((view) => [view, stage.rows<Row>(`SELECT * FROM ${view}`)]);
      return Object.fromEntries(rows) as Views;
    };
    const { today } = await stage.service.shown(priced);
    for (const turn of [1, 2]) {
      const [before, seq] = [shown(), newest()];
      const faults = [
        { kind: 'prices', factor: 1.1, path: `/${priced}` },
        { kind: 'no-weekends', path: `/${thinned}` },
        { kind: 'one-image', path: `/${pictured}` },
      ];
      await stage.service.quirks({ faults: turn === 1 ? faults : [] });
      await stage.reread(priced, thinned, pictured);
      const changes = await announced(seq, [
        [priced, 'price_changed'],
        [thinned, turn === 1 ? 'date_sold_out' : 'date_back'],
        [pictured, 'image_added'],
        [pictured, 'image_withdrawn'],
      ]);
      const after = shown();
      expect(untrue(changes, before, after, today)).toEqual([]);
      // Another old price, another new state and a picture that still stands there are seen (control).
      expect(untrue(changes.map(forged), before, after, today).length).toBeGreaterThan(2);
    }
  });
});

/** Returns a change with other values. */
function forged(change: Change): Change {
  const detail = JSON.parse(change.detail) as Record<string, unknown>;
  const other = { ...detail, old: 7, new: { state: 'available', lowest_price: 7 }, image_key: 'none' };
  return { ...change, detail: JSON.stringify(other) };
}

interface Claim {
  readonly of: string;
  readonly said: readonly [old: unknown, now: unknown];
  readonly shown: (views: Views) => unknown;
}

/** Returns the values that changes say, and that the views did not show before the first of them or after the last. */
function untrue(changes: readonly Change[], before: Views, after: Views, today: string): string[] {
  const claims = changes.flatMap((change) => claimOf(change, today));
  return [...Map.groupBy(claims, ({ of }) => of).values()].flatMap((chain) => {
    const [first, last] = [chain[0] as Claim, chain.at(-1) as Claim];
    const isTold =
      JSON.stringify(first.said[0]) === JSON.stringify(first.shown(before)) &&
      JSON.stringify(last.said[1]) === JSON.stringify(last.shown(after));
    return isTold ? [] : [`${first.of}: ${JSON.stringify([first.said[0], last.said[1]])}`];
  });
}

function claimOf({ kind, product_id, date, detail: text }: Change, today: string): Claim[] {
  const detail = JSON.parse(text) as Record<string, unknown>;
  const { currency, old, new: now } = detail;
  // Times of today begin while the test looks.
  if (date !== null && date <= today) return [];
  switch (kind) {
    case 'price_changed': {
      const isIt = (row: Row) => row.product_id === product_id && row.currency === currency;
      const shown = (views: Views) =>
        date === null
          ? views.product_prices.find(isIt)?.from_price
          : views.availability_days.find((row) => isIt(row) && row.date === date)?.lowest_price;
      return [{ of: `price ${product_id} ${date}`, said: [old, now], shown }];
    }
    case 'date_sold_out':
    case 'date_back': {
      const shown = (views: Views) => {
        const row = views.availability_days.find(
          (each) => each.product_id === product_id && each.currency === currency && each.date === date,
        );
        return row === undefined ? null : [row.state, row.lowest_price];
      };
      const values = (of: unknown) => (of === null ? null : Object.values(of as object));
      return [{ of: `date ${product_id} ${date}`, said: [values(old), values(now)], shown }];
    }
    case 'image_added':
    case 'image_withdrawn': {
      const shown = (views: Views) =>
        views.images.some((row) => row.product_id === product_id && row.image_key === detail.image_key);
      const is = kind === 'image_added';
      return [{ of: `image ${product_id} ${String(detail.image_key)}`, said: [!is, is], shown }];
    }
    default:
      return [];
  }
}

describe('a follower of the feed', () => {
  it('gets each change once, in order, when views show it, over HTTP and from the command', async () => {
    const after = newest();
    const printing = stage.start('changes', '--follow', '--json', '--after', String(after));
    const source = await eventSource(stage.storefront, `/v1/changes?after=${after}`);
    const seqs = () => source.events.map(({ data }) => (data as Change).seq);
    const titled = (product_id: number) => edit(product_id, 'title', `A title of ${product_id} since ${after}`);
    const [one, two, three] = ids as [number, number, number];
    await Promise.all([one, two].map(titled));
    await stage.reread(one, two);
    const first = await announced(after, [
      [one, 'product_changed'],
      [two, 'product_changed'],
    ]);
    await source.reached(first.length);
    // One that comes back says how far it has read.
    source.close();
    const next = await eventSource(stage.storefront, '/v1/changes', {
      headers: { 'last-event-id': String(seqs().at(-1)) },
    });
    await titled(three);
    await stage.reread(three);
    const changes = await announced(seqs().at(-1) ?? 0, [[three, 'product_changed']]);
    await next.reached(changes.length);
    next.close();
    const all = [...source.events, ...next.events].map(({ data }) => data as Change);
    const told = changesAfter(after);
    expect(all).toEqual(told.map((each) => ({ ...each, detail: JSON.parse(each.detail) as unknown })));
    expect(gaps(told, after + 1)).toEqual([]);
    expect(gaps(all.slice(1), after + 1)).not.toEqual([]);
    await printing.said(`"seq":${told.at(-1)?.seq}`);
    const { stdout } = await printing.end();
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as Change).seq)).toEqual(told.map(({ seq }) => seq));
  });
});

describe('a number of the feed stands for one change under one feed id', () => {
  const used = new Map<string, string>();
  /** Adds what the feed says now. Returns the changes whose numbers it has used for something else before. */
  const twice = (changes = allChanges()) =>
    changes.filter((each) => {
      const [key, change] = [`${feedId()} ${each.seq}`, JSON.stringify(each)];
      const is = used.get(key) ?? change;
      used.set(key, is);
      return is !== change;
    });
  const retitled = async (title: string) => {
    const [id] = ids as [number];
    const after = newest();
    await edit(id, 'title', title);
    await stage.reread(id);
    await announced(after, [[id, 'product_changed']]);
    return newest();
  };
  const lose = () => {
    for (const ending of ['', '-wal', '-shm']) rmSync(`${stage.mirror}${ending}`, { force: true });
  };

  it('after a kill and in an older copy', async () => {
    expect(twice()).toEqual([]);
    const feed = feedId();
    const older = join(stage.directory, 'older.db');
    const db = new Database(stage.mirror, { readonly: true });
    db.prepare('VACUUM INTO ?').run(older);
    db.close();
    const last = await retitled('Right before the kill');
    expect(twice()).toEqual([]);
    await stage.ended('SIGKILL');
    await stage.live();
    expect(feedId()).toBe(feed);
    const highest = await retitled('After the kill');
    expect(highest).toBeGreaterThan(last);
    expect(twice()).toEqual([]);

    await stage.ended();
    lose();
    cpSync(older, stage.mirror);
    await stage.live();
    expect(feedId()).not.toBe(feed);
    expect(await retitled('In the older copy')).toBeGreaterThan(highest);
    expect(twice()).toEqual([]);
    // A follower with the cursor of the other feed is told to start over.
    expect((await stage.run('changes', '--after', String(last), '--feed', String(feed))).code).toBe(65);
  });

  it('in a mirror that takes the place of a lost one', async () => {
    expect(twice()).toEqual([]);
    const [feed, highest] = [feedId(), newest()];
    await stage.ended();
    lose();
    expect((await stage.run('repair')).code).toBe(0);
    await stage.filled();
    expect(feedId()).not.toBe(feed);
    expect(newest()).toBeGreaterThan(highest);
    expect(twice()).toEqual([]);
    // The same number for another change is seen (control).
    expect(twice(allChanges().map((each) => ({ ...each, product_id: 7 })))).not.toEqual([]);
  });
});
