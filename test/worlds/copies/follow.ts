import { join } from 'node:path';
import { instant } from '../../../src/kernel/clock.ts';
import { roll } from '../../../src/sandbox/random.ts';
import { openMirrorWithClock } from '../../fakes/mirror-at.ts';
import { openReader } from '../../fakes/reader.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { type VirtualHarness, virtualHarness } from '../../fakes/virtual-harness.ts';
import { type Event, events } from './events.ts';
import { announced, announcedViews, columnsSeen, differences, type Importer, importer } from './importer.ts';
import { type CopyScript, copyScript, type Read, type Row } from './script.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const everyHour = { near: { days: 3, every: '1h' }, middle: { days: 6, every: '1h' }, far: { every: '1h' } };
const cadence = {
  products: '1h', product_detail: '1h', checkout_information: '1h', variants: '1h', experiences: '1h', tags: '1h',
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
export async function follow({ without, ...asked }: FollowOptions): Promise<Followed> {
  await using stack = new AsyncDisposableStack();
  const { path: directory } = stack.use(temporaryDirectory());
  const script = await copyScript(directory);
  const watch = (harness: VirtualHarness) => new Follower(harness, script, without);
  using follower = await liveWatched({ ...asked, directory, events, watch });
  const { lines, passes, wrong, needless, seen } = follower;
  return { changes: asked.changes, lines, passes, wrong, needless, seen };
}

/** Compares what a mirror says with what it shows, at each commit that adds to its feed. */
export interface Watcher extends Disposable {
  /** The first differences. The world ends at the first. */
  readonly wrong: readonly string[];
  atCommit(): void;
}

interface Watched<Watching> extends Pick<FollowOptions, 'changes' | 'seed' | 'progress'> {
  readonly directory: string;
  readonly events: Readonly<Record<string, Event>>;
  /** Called when the mirror is filled. */
  watch(harness: VirtualHarness): Watching;
}

/** Lets this many changes happen in a small world, each kind once at first, then any. Returns what watched it. */
export async function liveWatched<Watching extends Watcher>({
  changes,
  seed,
  directory,
  events,
  watch,
  progress = () => undefined,
}: Watched<Watching>): Promise<Watching> {
  await using stack = new AsyncDisposableStack();
  const [path, state_dir] = [join(directory, 'mirror', 'mirror.db'), join(directory, 'state')];
  const mirror = { path, state_dir, commission: true };
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
  await harness.runUntil(harness.isFilled);

  const watcher = watch(harness);
  const listen = () => harness.daemon.mirror.onChanges(() => watcher.atCommit());
  let listening = listen();
  const restart = async (meanwhile = async () => {}) => {
    listening[Symbol.dispose]();
    await harness.restart({ meanwhile });
    listening = listen();
  };
  const names = Object.keys(events);
  let step = 0;
  const chance = () => roll(seed, step++, 'copies');
  for (let done = 0; done < changes && watcher.wrong.length === 0; ) {
    const together = 4 + Math.floor(chance() * 8);
    for (let index = 0; index < together; index += 1, done += 1) {
      const name = done < names.length ? names[done] : names[Math.floor(chance() * names.length)];
      const products = harness.sandbox.products();
      const product = products[Math.floor(chance() * products.length)];
      if (product === undefined) throw new Error('no product');
      await events[name ?? '']?.(product, harness, chance, restart);
    }
    if (chance() < 0.03) await restart();
    await harness.live(hour + minute);
    progress(done);
  }
  listening[Symbol.dispose]();
  return watcher;
}

/** Copies that follow the feed of a mirror: one of all of it, and one for each kind that is passed over. */
class Follower implements Watcher {
  readonly wrong: string[] = [];
  readonly lines: Record<string, number> = {};
  passes = 0;
  readonly #harness: VirtualHarness;
  readonly #script: CopyScript;
  readonly #reader;
  readonly #file;
  readonly #fromFile: Read;
  readonly #copy: Importer;
  /** Copies that have not differed yet, by the kind that each passes over. */
  readonly #partial: Map<string, Importer>;
  readonly #columns = columnsSeen();
  /** What the views showed at the end of the pass before. */
  #shown: ReadonlyMap<string, readonly Row[]>;
  #cursor;
  #daily_at;

  constructor(harness: VirtualHarness, script: CopyScript, without: readonly string[]) {
    const { path } = harness.daemon.config.mirror;
    const now = harness.clock.now();
    this.#harness = harness;
    this.#script = script;
    this.#reader = openReader(path);
    this.#cursor = this.#reader.newest();
    this.#file = openMirrorWithClock(path);
    const { db, set } = this.#file;
    const prepared = new Map<string, ReturnType<typeof db.prepare>>();
    this.#fromFile = script.reading({
      prepare: (sql: string) => prepared.getOrInsertComputed(sql, () => db.prepare(sql)),
    });
    this.#copy = importer(script);
    this.#partial = new Map(without.map((kind) => [kind, importer(script, kind)]));
    this.#daily_at = now;
    set(now);
    this.#shown = new Map(announcedViews.map((view) => [view, this.#fromFile(view, {})]));
    // Today and tomorrow, then the dates beyond, once.
    const dates = new Set(this.#fromFile('availability_days', {}).map(({ date }) => String(date)));
    for (const each of this.#all) {
      each.tick('daily', now, this.#fromFile);
      for (const date of dates) each.tick('hourly', Date.parse(date), this.#fromFile);
    }
  }

  /** Kinds whose lines can be passed over without a difference. */
  get needless(): string[] {
    return [...this.#partial.keys()];
  }

  get seen(): ReadonlySet<string> {
    return this.#columns.seen;
  }

  /** Has every copy follow, and compares each with the views. */
  atCommit(): void {
    const now = this.#harness.clock.now();
    const found = this.#script.passes(this.#reader, this.#cursor);
    if (found.changes.length === 0) return;
    this.#cursor = found.cursor;
    this.passes += 1;
    this.#file.set(now);
    const read = this.#remembering();
    for (const { kind } of found.changes) this.lines[kind] = (this.lines[kind] ?? 0) + 1;
    for (const each of this.#all) {
      each.pass(found.changes, read);
      each.tick('hourly', now, read);
    }
    const before = this.#shown;
    this.#shown = new Map(announcedViews.map((view) => [view, read(view, {})]));
    for (const view of announcedViews) this.#columns.look(view, before.get(view) ?? [], this.#shown.get(view) ?? []);
    for (const line of this.#differing(this.#copy, now))
      if (this.wrong.length < 20) this.wrong.push(`pass ${this.passes}: ${line}`);
    for (const [kind, each] of this.#partial) if (this.#differing(each, now).length > 0) this.#partial.delete(kind);
    if (now < this.#daily_at) return;
    this.#daily_at = instant(now + day);
    for (const each of this.#all) each.tick('daily', now, read);
  }

  [Symbol.dispose](): void {
    this.#file.db.close();
    this.#reader[Symbol.dispose]();
  }

  get #all(): readonly Importer[] {
    return [this.#copy, ...this.#partial.values()];
  }

  /** All copies ask the same: the file is asked once. */
  #remembering(): Read {
    const known = new Map<string, readonly Row[]>();
    return (view, where) => known.getOrInsertComputed(view + JSON.stringify(where), () => this.#fromFile(view, where));
  }

  #differing(of: Importer, now: number): string[] {
    const live = (rows: readonly Row[], view: string) =>
      view === 'images' ? rows.filter(({ expires_at }) => Number(expires_at) > now) : rows;
    return announcedViews.flatMap((view) => differences(view, live(of.rows(view), view), this.#shown.get(view) ?? []));
  }
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
  return wrong.length + needless.length === 0 ? 0 : 1;
}
