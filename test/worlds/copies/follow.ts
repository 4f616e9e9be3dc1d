import { join } from 'node:path';
import { instant } from '../../../src/clock.ts';
import { roll } from '../../../src/sandbox/random.ts';
import { openReader } from '../../../src/storefront/reader.ts';
import { openMirrorWithClock } from '../../fakes/mirror-at.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { virtualHarness } from '../../fakes/virtual-harness.ts';
import { happenings } from './happenings.ts';
import { announced, announcedViews, columnsSeen, differences, type Importer, importer } from './importer.ts';
import { copyScript, type Read, type Row } from './script.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const everyHour = { near: { days: 3, every: '1h' }, middle: { days: 6, every: '1h' }, far: { every: '1h' } };
const cadence = {
  products: '1h', product_detail: '1h', checkout_information: '1h', variants: '1h', experiences: '1h',
  dynamic_pricing: { products: '1h', checkout_information: '1h' },
  availability: { horizon: 7, ...everyHour },
}; // biome-ignore format: one line a kind of record

/** What came of following the feed. */
export interface Followed {
  readonly changes: number;
  readonly lines: Readonly<Record<string, number>>;
  readonly passes: number;
  /** The first cells that the copy had otherwise than the views, with the pass at whose end it did. */
  readonly wrong: readonly string[];
  /** Kinds whose lines can be passed over without a difference. */
  readonly needless: readonly string[];
  /** Columns that were seen to change, as `view.column`. */
  readonly seen: ReadonlySet<string>;
}

export interface FollowOptions {
  readonly changes: number;
  readonly seed: number;
  /** Kinds to pass over, each by an importer of its own. */
  readonly without: readonly string[];
  progress?(done: number): void;
}

/** Lets this many changes happen in a small world while copies follow the feed, and compares them at the end of each pass. */
export async function follow({ changes, seed, without, progress = () => undefined }: FollowOptions): Promise<Followed> {
  await using stack = new AsyncDisposableStack();
  const { path: directory } = stack.use(temporaryDirectory());
  const script = await copyScript(directory);
  const [path, state_dir] = [join(directory, 'mirror', 'mirror.db'), join(directory, 'state')];
  const mirror = { path, inbox_path: join(state_dir, 'inbox.db'), state_dir, commission: true };
  const service = { languages: ['en', 'de'], currencies: ['EUR', 'USD'] };
  const harness = stack.use(
    await virtualHarness({ products: 6, seed }, { service, cadence, scheduling: 'fixed', mirror }),
  );
  for (const product of harness.sandbox.products())
    Object.assign(product, {
      slots: product.slots % 3,
      variants: product.variants.slice(0, 2),
      images: product.images.slice(0, 4),
    });
  // These are offered for the first time once the mirror is filled.
  for (const product of harness.sandbox.products().slice(-2)) product.withdrawn = true;
  await harness.runUntil(() => harness.wiring.mirror.filledAt() !== null);

  const reader = stack.use(openReader(harness.wiring.mirror.path));
  const { db, set } = openMirrorWithClock(harness.wiring.mirror.path);
  stack.defer(() => {
    db.close();
  });
  const prepared = new Map<string, ReturnType<typeof db.prepare>>();
  const prepare = (sql: string) => prepared.getOrInsertComputed(sql, () => db.prepare(sql));
  const fromFile = script.reading({ prepare });
  const copy = importer(script);
  const partial = new Map(without.map((kind) => [kind, importer(script, kind)]));
  const columns = columnsSeen();
  const wrong: string[] = [];
  const lines: Record<string, number> = {};
  let shown = new Map<string, readonly Row[]>();
  let cursor = reader.newest();
  let passes = 0;
  let daily_at = harness.clock.now();

  /** All importers ask the same: the file is asked once. */
  function remembering(): Read {
    const known = new Map<string, readonly Row[]>();
    return (view, where) => {
      const key = view + JSON.stringify(where);
      const rows = known.get(key) ?? fromFile(view, where);
      known.set(key, rows);
      return rows;
    };
  }

  const all = (): readonly Importer[] => [copy, ...partial.values()];

  function differing(of: Importer, now: number): string[] {
    const live = (rows: readonly Row[], view: string) =>
      view === 'images' ? rows.filter(({ expires_at }) => Number(expires_at) > now) : rows;
    return announcedViews.flatMap((view) => differences(view, live(of.rows(view), view), shown.get(view) ?? []));
  }

  function atEndOfPass(): void {
    const now = harness.clock.now();
    const found = script.passes(reader, cursor);
    if (found.changes.length === 0) return;
    cursor = found.cursor;
    passes += 1;
    set(now);
    const read = remembering();
    for (const { kind } of found.changes) lines[kind] = (lines[kind] ?? 0) + 1;
    for (const each of all()) {
      each.pass(found.changes, read);
      each.tick('hourly', now, read);
    }
    const before = shown;
    shown = new Map(announcedViews.map((view) => [view, read(view, {})]));
    for (const view of announcedViews) columns.look(view, before.get(view) ?? [], shown.get(view) ?? []);
    for (const line of differing(copy, now)) if (wrong.length < 20) wrong.push(`pass ${passes}: ${line}`);
    for (const [kind, each] of partial) if (differing(each, now).length > 0) partial.delete(kind);
    if (now < daily_at) return;
    daily_at = instant(now + day);
    for (const each of all()) each.tick('daily', now, read);
  }

  set(harness.clock.now());
  for (const each of all()) each.tick('daily', harness.clock.now(), fromFile);
  shown = new Map(announcedViews.map((view) => [view, fromFile(view, {})]));
  // The dates beyond tomorrow, once.
  for (const each of all()) readDates(each, fromFile);
  let listening = harness.wiring.mirror.onChanges(atEndOfPass);

  const names = Object.keys(happenings);
  let step = 0;
  const chance = () => roll(seed, step++, 'copies');
  for (let done = 0; done < changes && wrong.length === 0; ) {
    const together = 4 + Math.floor(chance() * 8);
    for (let index = 0; index < together; index += 1, done += 1) {
      // Each kind once at first, then any.
      const name = done < names.length ? names[done] : names[Math.floor(chance() * names.length)];
      const products = harness.sandbox.products();
      const product = products[Math.floor(chance() * products.length)];
      if (product === undefined) throw new Error('no product');
      await happenings[name ?? '']?.(product, harness, chance);
    }
    if (chance() < 0.03) {
      listening[Symbol.dispose]();
      await harness.restart();
      listening = harness.wiring.mirror.onChanges(atEndOfPass);
    }
    await harness.liveUntil(harness.clock.now() + hour + minute);
    progress(done);
  }
  listening[Symbol.dispose]();
  return { changes, lines, passes, wrong, needless: [...partial.keys()], seen: columns.seen };
}

function readDates(each: Importer, read: Read): void {
  const dates = new Set(read('availability_days', {}).map(({ date }) => String(date)));
  for (const date of dates) each.tick('hourly', Date.parse(date), read);
}

interface CopiesAsked {
  readonly changes: number;
  readonly seed: number;
  readonly without?: string;
}

/** Follows so many changes, and prints what was seen of them as JSON. Returns the exit status. */
export async function copiesWorld({ without, ...asked }: CopiesAsked, say: (line: string) => void): Promise<number> {
  const { wrong, needless, lines, passes, changes, seen } = await follow({
    ...asked,
    without: without?.split(',') ?? [],
    progress: (done) => {
      if (done % 500 < 6) say(`${done} changes`);
    },
  });
  const columns = announcedViews.flatMap((view) => announced(view).map((name) => `${view}.${name}`));
  const unseen = columns.filter((name) => !seen.has(name));
  say(JSON.stringify({ changes, passes, lines, columns: seen.size, unseen, wrong, needless }, null, 2));
  return wrong.length === 0 ? 0 : 1;
}
