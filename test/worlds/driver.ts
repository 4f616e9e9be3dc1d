import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { follow } from '../../src/copies/follow/follower.ts';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { writeTroubleOf } from '../../src/kernel/sqlite/fault.ts';
import { sequence } from '../../src/sandbox/random.ts';
import { limitOf } from '../../src/trust/claims.rules.ts';
import { isOpen } from '../../src/trust/hold.rules.ts';
import { fileRows } from '../fakes/file-rows.ts';
import { inspectFiles } from '../fakes/image-harness.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { testLog } from '../fakes/test-log.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type EventName, events, longestCache, type Scene, takesAway } from './events.ts';
import { judge, judgeChecks, type Observation, type ServiceLog, serviceLog, type Told } from './history.ts';
import { horizon, type Plan, type PlannedEvent, worldOf } from './plan.ts';
import { factsOf, type MirrorReader, mirrorReader } from './readers.ts';
import { type Plant, squandering, World, type WorldOptions } from './world.ts';

/** Result of living through a plan. */
export interface Lived {
  /** Broken rules; empty: none. Each begins with the name of its rule. */
  readonly failures: readonly string[];
  /** Of `left`. */
  readonly digest: string;
  /** A line for each table of both files, with a digest of its rows, and how many steps led there. */
  readonly left: readonly string[];
  readonly sometimes: ReadonlyMap<string, number>;
}

export interface LiveOptions {
  readonly plant?: Plant;
  /** How slow the network is, in turns of the event loop. */
  readonly lag?: number;
}

const minute = 60_000;
const hour = 60 * minute;
/** How often somebody looks at the status while nothing happens. */
const betweenLooks = 3 * hour;
const never = new AbortController().signal;

/** Lives through a plan: first with its faults, then without any, until everything must be up to date again. */
export async function live(plan: Plan, options: LiveOptions = {}): Promise<Lived> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await World.open({ ...worldOf(plan), ...options }));
  const driver = stack.use(new Driver(plan, world));
  let left: readonly string[] = [];
  try {
    await driver.safety();
    await driver.liveness();
    left = leftBy(world);
  } catch (error) {
    driver.wrong('the daemon goes on', error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  driver.history();
  return { failures: driver.failures, digest: short(left.join('\n')), left, sometimes: world.sometimes };
}

/** Somebody who looks at a world after each event, numbered from 1, and at the end. */
export type Onlooker = (world: World, after: number | 'everything') => void;

/** Lives through the events of a plan. Nobody judges, and nobody looks but the onlooker. */
export async function liveBefore(onlooker: Onlooker, plan: Plan, options: Partial<WorldOptions>): Promise<void> {
  await using world = await World.open({ ...worldOf(plan), ...options });
  using driver = new Driver(plan, world, onlooker);
  await driver.safety();
}

interface Ending {
  readonly at: number;
  end(): void | Promise<void>;
}

class Driver implements Disposable {
  readonly failures: string[] = [];
  readonly #plan: Plan;
  readonly #world: World;
  /** BatchReads in the place of all who judge; null: they do. */
  readonly #onlooker: Onlooker | null;
  readonly #stack = new DisposableStack();
  /** What the service said, and since when. */
  readonly #log: ServiceLog = serviceLog();
  readonly #seen: Observation[] = [];
  readonly #shoppers: Told[] = [];
  /** The followed copy. */
  readonly #copy = join(this.#stack.use(temporaryDirectory()).path, 'copy.db');
  readonly #ofMirror: MirrorReader;
  readonly #ofCopy: MirrorReader;
  /** What has begun, and when it ends. */
  #endings: Ending[] = [];
  #lookedAt = 0;
  readonly #happened = new Set<EventName>();

  constructor(plan: Plan, world: World, onlooker: Onlooker | null = null) {
    this.#plan = plan;
    this.#world = world;
    this.#onlooker = onlooker;
    const notes = {
      seen: this.#seen,
      wrong: (text: string) => this.wrong('a reader sees what was', text),
      kinds: (kind: string) => world.seen(`feed: ${kind}`),
    };
    this.#ofMirror = this.#stack.use(mirrorReader('a reader', () => this.#path, notes));
    this.#ofCopy = this.#stack.use(mirrorReader('a follower', () => this.#copy, notes));
  }

  /** Notes that a rule is broken. */
  wrong(rule: string, text: string): void {
    const failure = `${rule}: ${text}`;
    if (this.failures.length < 20 && !this.failures.includes(failure)) this.failures.push(failure);
  }

  /** Lives through the events, whose faults may overlap. */
  async safety(): Promise<void> {
    const { events, setting } = this.#plan;
    const { harness } = this.#world;
    const { clock } = harness;
    this.#note();
    for (const event of events) if (event.at < 0) await this.#happen(event);
    for (let tries = 0; tries < 300 && harness.daemon.mirror.filledAt() === null; tries += 1) {
      await harness.live(10 * minute);
      await this.#revive();
    }
    const began = clock.now();
    for (const [index, event] of events.entries()) {
      if (event.at < 0) continue;
      await this.#endUntil(began + event.at * 1000);
      await this.#come(began + event.at * 1000);
      await this.#happen(event);
      await this.#revive();
      this.#read(index + 1);
    }
    await this.#endUntil(began + setting.days * 24 * hour);
    await this.#come(began + setting.days * 24 * hour);
    this.#read();
  }

  /** Ends every fault, and lives on until the mirror must be the service again. */
  async liveness(): Promise<void> {
    const { setting } = this.#plan;
    const world = this.#world;
    const { clock, sandbox } = world.harness;
    await this.#endUntil(clock.now());
    for (const { end } of this.#endings) await end();
    this.#endings = [];
    world.killAt(0);
    sandbox.faults.clear();
    sandbox.setQuirks({ ...world.quirks, faults: [] });
    this.#changeInSilence();
    this.#note();
    // Two cadences, or until what has often failed is asked again: once a day.
    const calm = Math.max(2 * setting.every_hours + 3, 26) * hour;
    await this.#come(clock.now() + hour);
    if (setting.list_days > 0) await this.#walkTwice();
    await this.#come(clock.now() + calm);
    // Before anything is announced, which has a product read that nothing else would.
    await this.#compare();
    await this.#announce();
    // A reopening may be left to the list, which is walked no more than once an hour.
    await this.#come(clock.now() + hour + 10 * minute);
    this.#read();
    await this.#follow();
    await this.#look();
    await this.#compare();
    if (setting.files) this.#compareFiles();
    const { conditions } = await world.harness.daemon.status.shown();
    // What was believed because the service insisted is told of for a day.
    const isHeld = world.harness.daemon.mirror.evidence.held().some(isOpen);
    for (const { code, says } of conditions)
      if (code !== 'often-wrong' && (code !== 'held' || isHeld))
        this.wrong('after any trouble no condition is left', `${code}: ${says}`);
  }

  /** Judges what readers saw and shoppers were told. */
  history(): void {
    const { events, setting } = this.#plan;
    const isCached = events.some(({ what }) => what === 'answers cached' || what === 'reopened behind a cache');
    const cached_ms = isCached ? longestCache : (setting.quirks.cached_ms ?? 0);
    const rules = { slack_ms: 2 * minute + cached_ms, cached_ms };
    const lines = [...judge(this.#log, this.#seen, rules), ...judgeChecks(this.#log, this.#shoppers, cached_ms)];
    // A service that ignores the dates may answer twice that there are none: that is believed of as many products as the limit.
    const ignores = events.some(({ what }) => what === 'dates ignored');
    const emptied = (line: string) => /that (\d+) [-\d]+ is \["sold_out",/.exec(line)?.[1];
    const few = new Set(lines.flatMap((line) => emptied(line) ?? [])).size <= limitOf(setting.products);
    for (const line of lines)
      if (!(ignores && few && emptied(line) !== undefined)) this.wrong('a reader sees what was', line);
  }

  [Symbol.dispose](): void {
    this.#stack.dispose();
  }

  get #path(): string {
    return this.#world.harness.daemon.config.mirror.path;
  }

  /** Notes what the service says from now on. */
  #note(): void {
    if (this.#onlooker !== null) return;
    const { clock, sandbox } = this.#world.harness;
    this.#log.note(clock.now(), factsOf(sandbox, clock.now(), horizon + this.#plan.setting.days + 7));
  }

  /**
   * Lives on: in the minutes after something has happened, and in the last ones, from one piece of work to the next; between
   * them in steps, at whose end much is late.
   */
  async #come(to: number): Promise<void> {
    const { harness } = this.#world;
    const { clock } = harness;
    const closely = clock.now() + 20 * minute;
    const last = to - 5 * minute;
    while (clock.now() < to) {
      const now = clock.now();
      if (now < closely) await harness.liveUntil(Math.min(to, closely));
      else if (now < last)
        await harness.liveUntil(Math.min(last, now + betweenLooks), this.#plan.setting.step_minutes * minute);
      else await harness.liveUntil(to);
      await this.#revive();
      if (clock.now() - this.#lookedAt >= hour) await this.#look();
    }
  }

  async #revive(): Promise<void> {
    const world = this.#world;
    const { clock, daemon } = world.harness;
    if (world.killed === null) return;
    if (world.killed === squandering) throw new Error(`stopped while ${world.killed}`);
    world.seen(`killed ${world.killed}`);
    if (daemon.mirror.filledAt() === null) world.seen('killed in the first fill');
    this.#ofMirror.reopen();
    await this.#startAgain(clock.now() % 7 === 0 ? 0 : minute);
    const db = new Database(this.#path, { readonly: true });
    const found = db.pragma('integrity_check', { simple: true });
    db.close();
    if (found !== 'ok') this.wrong('the files are whole after a kill', String(found));
  }

  async #look(): Promise<void> {
    const { harness } = this.#world;
    this.#lookedAt = harness.clock.now();
    if (this.#onlooker !== null) return;
    const { status, conditions } = harness.daemon;
    const looked = await this.#world.attempt(async () => {
      const found = await status.shown();
      await conditions.look(async () => found, never);
      return found.conditions;
    });
    if (looked === null) return;
    for (const { code } of looked) this.#world.seen(`condition: ${code}`);
    for (const { subject, since } of harness.daemon.mirror.evidence.held()) {
      this.#world.seen(`held: ${subject}`);
      if (!takesAway[subject].some((what) => this.#happened.has(what)))
        this.wrong('a hold has a cause', `${subject} since ${new Date(since).toISOString()}`);
    }
    const delivered = harness.sandbox.subscriptions().reduce((sum, { delivered }) => sum + delivered, 0);
    const { received } = harness.daemon.inbox.deliveries.counts();
    if (received < delivered)
      this.wrong('no answered delivery is lost', `${delivered} were answered, ${received} are there`);
  }

  #read(after: number | 'everything' = 'everything'): void {
    if (this.#onlooker !== null) {
      this.#onlooker(this.#world, after);
      return;
    }
    const { clock } = this.#world.harness;
    this.#ofMirror.look(clock.now());
    if (this.#plan.setting.files) this.#showFiles();
    this.#ofCopy.look(clock.now());
  }

  /** Looks at what a storefront would send to a browser now. */
  #showFiles(): void {
    if (!existsSync(this.#path)) return;
    const { clock, daemon } = this.#world.harness;
    const db = openMirrorAt(this.#path, clock.now());
    const files = db.prepare<[], string>('SELECT DISTINCT file FROM images WHERE file IS NOT NULL').pluck().all();
    db.close();
    for (const file of files)
      if (!isWhole(join(daemon.config.images.directory, file)))
        this.wrong('an image that is shown has its whole file', file);
    if (files.length > 0) this.#world.seen('image files were shown');
  }

  async #follow(): Promise<void> {
    const { clock } = this.#world.harness;
    const ending = new AbortController();
    const once = { ...clock, sleep: async () => ending.abort() };
    const source = fileRows(this.#path, clock.now);
    await follow(
      { source, path: this.#copy, every: 250, clock: once, log: testLog('silent').log, own: 1 },
      ending.signal,
    );
    this.#world.seen('a follower caught up');
    const differing = differingViews(this.#path, this.#copy);
    if (differing.length > 0) this.wrong('a follower shows what the mirror shows', differing.join(', '));
  }

  #sceneOf(draw: number): Scene {
    const world = this.#world;
    return {
      world,
      sandbox: world.harness.sandbox,
      clock: world.harness.clock,
      quirks: world.quirks,
      chance: sequence(draw),
      until: (ms, end) => void this.#endings.push({ at: world.harness.clock.now() + ms, end }),
      read: () => this.#read(),
      follow: () => this.#follow(),
      startAgain: (down_ms) => this.#startAgain(down_ms),
      note: () => this.#note(),
      told: (each) => void this.#shoppers.push(each),
    };
  }

  /** What ends while nothing runs, ends then: else a program that holds a file would never let go of it. */
  async #startAgain(down_ms: number): Promise<void> {
    const { clock } = this.#world.harness;
    await this.#world.startAgain(down_ms, async () => {
      const over = this.#endings.filter(({ at }) => at <= clock.now()).toSorted((one, other) => one.at - other.at);
      this.#endings = this.#endings.filter((each) => !over.includes(each));
      for (const { end } of over) await end();
      if (over.length > 0) this.#note();
    });
    // A status is read from the file that was there at the start, whatever becomes of it.
    await this.#look();
  }

  async #endUntil(before: number): Promise<void> {
    for (;;) {
      const [next] = this.#endings.toSorted((one, other) => one.at - other.at);
      if (next === undefined || next.at > before) return;
      await this.#come(next.at);
      // What a start waited for has ended with it.
      if (!this.#endings.includes(next)) continue;
      this.#endings = this.#endings.filter((each) => each !== next);
      await next.end();
      this.#note();
    }
  }

  async #happen({ what, draw }: PlannedEvent): Promise<void> {
    try {
      await events[what](this.#sceneOf(draw));
    } catch (error) {
      // What people ask is refused while the files cannot be written.
      if (writeTroubleOf(error) === null) throw error;
      this.#world.seen('a question was refused while the files could not be written');
    }
    this.#happened.add(what);
    this.#world.seen(`event: ${what}`);
    this.#note();
    if (this.#world.isLost) await this.#miss();
  }

  /** Without its file a daemon says so; started again, it fills another one under another feed. */
  async #miss(): Promise<void> {
    const world = this.#world;
    for (const reader of [this.#ofMirror, this.#ofCopy]) reader.another();
    await this.#come(world.harness.clock.now() + 2 * minute);
    // Killed meanwhile, it was started again, with another file.
    if (!world.isLost) return;
    const found = (await world.harness.daemon.status.shown()).conditions.map(({ code }) => code);
    if (!found.includes('mirror-lost')) this.wrong('a lost file is noticed', found.join(', '));
    await this.#startAgain(0);
    world.seen('the mirror was lost and filled anew');
  }

  #compareFiles(): void {
    const { clock, daemon } = this.#world.harness;
    const db = openMirrorAt(this.#path, clock.now());
    const { partial, orphans, lost } = inspectFiles(daemon.config.images.directory, db);
    const missing = db.prepare<[], number>('SELECT count(*) FROM images WHERE file IS NULL').pluck().get() ?? 0;
    db.close();
    if (partial + orphans + lost + missing > 0)
      this.wrong('after any trouble each image has its file', JSON.stringify({ partial, orphans, lost, missing }));
  }

  async #compare(): Promise<void> {
    const { differences, first } = await this.#world.harness.compare();
    if (differences > 0)
      this.wrong('after any trouble the mirror is the service', `${differences}: ${first.join(' | ')}`);
  }

  /** What nobody tells of is found by the cadences, whatever was believed before. A service sells something after all. */
  #changeInSilence(): void {
    const { clock, sandbox } = this.#world.harness;
    const products = sandbox.products();
    const { visible, enable } = sandbox.world;
    if (visible().length === 0) for (const product of products) product.withdrawn = false;
    if (visible().every(({ status }) => status !== 'available')) for (const { id } of visible()) enable(id);
    const in10Days = new Date(clock.now() + 10 * 24 * hour).toISOString().slice(0, 10);
    for (const product of products) {
      product.sold_out.add(in10Days);
      product.price += 1;
    }
  }

  /** Somebody asks for the list, which is walked seldom: what is gone misses from two of them. */
  async #walkTwice(): Promise<void> {
    const { clock, daemon } = this.#world.harness;
    for (let walk = 0; walk < 2; walk += 1) {
      requestResync(daemon.sync, { resources: ['products'], product_ids: [], from: null, to: null });
      await this.#come(clock.now() + hour);
    }
  }

  /** A change and a closure are announced, and readers see both within minutes. */
  async #announce(): Promise<void> {
    const { clock, sandbox } = this.#world.harness;
    const on = sandbox.world.visible().filter(({ status }) => status === 'available');
    const [one, other] = [on[0], on.at(-1)];
    if (one === undefined || other === undefined) return;
    const wait = this.#plan.setting.hold_minutes * minute + 10 * minute;
    sandbox.world.edit(one.id, { field: 'must_know', value: 'At the very end.' });
    this.#note();
    await this.#come(clock.now() + wait);
    sandbox.world.disable(other.id, { reason: 'temporary_closure' });
    this.#note();
    await this.#come(clock.now() + wait);
    const db = new Database(this.#path, { readonly: true });
    const must_know = db.prepare('SELECT must_know FROM checkout_information WHERE product_id = ?').pluck().get(one.id);
    const sellable = db.prepare('SELECT sellable FROM products WHERE product_id = ?').pluck().get(other.id);
    db.close();
    // A service's texts may have escapes in them.
    if (!String(must_know).startsWith('At the very end.'))
      this.wrong('what is announced is seen in minutes', `the text of product ${one.id} is ${String(must_know)}`);
    if (sellable !== 0)
      this.wrong('what is announced is seen in minutes', `product ${other.id} is closed and still sold`);
    sandbox.world.enable(other.id);
    this.#note();
  }
}

/** Whether a file is there, and is what its name says. */
function isWhole(path: string): boolean {
  return existsSync(path) && basename(path).startsWith(hash('sha256', readFileSync(path)));
}

const comparedViews = [
  'products',
  'availability_days',
  'images',
  'variants',
  'checkout_information',
  'changes',
] as const;

function differingViews(one: string, other: string): string[] {
  const shown = (path: string) => {
    const db = new Database(path, { readonly: true });
    const found = comparedViews.map((view) => {
      const rows = db.prepare(`SELECT * FROM ${view}`).all();
      return rows
        .map((row) => JSON.stringify(row))
        .sort()
        .join('\n');
    });
    db.close();
    return found;
  };
  const [ours, theirs] = [shown(one), shown(other)];
  return comparedViews.filter((_, index) => ours[index] !== theirs[index]);
}

function leftBy(world: World): string[] {
  const { mirror, inbox } = world.harness.daemon;
  const lines = [mirror.path, inbox.path].flatMap((path) => {
    const db = new Database(path, { readonly: true });
    const tables = db
      .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name")
      .pluck()
      .all();
    const found = tables.map((table) => {
      const rows = db.prepare<[], object>(`SELECT * FROM "${table}"`).all();
      // An answer with images names their host: its hash is of the address as well.
      const text = JSON.stringify(rows.map((row) => ('body_hash' in row ? { ...row, body_hash: null } : row)));
      return `${table}: ${short(world.anonymous(text))}`;
    });
    db.close();
    return found;
  });
  return [...lines, `${world.steps} steps`];
}

const short = (text: string) => hash('sha256', text).slice(0, 16);
