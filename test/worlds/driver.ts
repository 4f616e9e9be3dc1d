import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { follow } from '../../src/follow/follower.ts';
import type { RowSource } from '../../src/follow/source.ts';
import { rowPages } from '../../src/mirror/rows/pages.ts';
import { sequence } from '../../src/sandbox/random.ts';
import { writeTroubleOf } from '../../src/sqlite/fault.ts';
import { publishCopy } from '../../src/sqlite/published-copy.ts';
import { requestResync } from '../../src/sync/records/resync.ts';
import { inspectFiles } from '../fakes/image-harness.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { testLog } from '../fakes/test-log.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { happenings, longestCache, type Scene } from './events.ts';
import { judge, judgeChecks, type Observation, type ServiceLog, serviceLog, type Told } from './history.ts';
import { ownHost } from './own-address.ts';
import type { Plan, PlannedEvent } from './plan.ts';
import { factsOf, type MirrorReader, mirrorReader } from './readers.ts';
import { type House, type HouseOptions, horizon, openHouse, squandering } from './world.ts';

/** What came of a plan. */
export interface Lived {
  /** What is wrong; empty: nothing. Each begins with the name of its rule. */
  readonly failures: readonly string[];
  /** Of every row of every table of both files, and of how many steps led there. */
  readonly digest: string;
  readonly sometimes: ReadonlyMap<string, number>;
}

const minute = 60_000;
const hour = 60 * minute;
/** How often somebody looks at the status while nothing happens. */
const betweenLooks = 3 * hour;
const never = new AbortController().signal;

/** Lives through a plan: first with its faults, then without any, until everything must be true again. */
export async function live(plan: Plan, options: HouseOptions = {}): Promise<Lived> {
  const failures: string[] = [];
  const wrong = (rule: string) => (text: string) => {
    if (failures.length < 20 && !failures.includes(`${rule}: ${text}`)) failures.push(`${rule}: ${text}`);
  };
  await using stack = new AsyncDisposableStack();
  const house = stack.use(await openHouse(plan.seed, plan.setting, options));
  const told = stack.use(storyOf(plan, house, wrong));
  let digest = 'none';
  try {
    await told.safety();
    await told.liveness();
    digest = digestOf(house);
  } catch (error) {
    wrong('the daemon goes on')(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  for (const line of told.history()) wrong('a reader sees what was')(line);
  return { failures, digest, sometimes: house.sometimes };
}

interface Ending {
  readonly at: number;
  end(): void | Promise<void>;
}

function storyOf(plan: Plan, house: House, wrong: (rule: string) => (text: string) => void) {
  const { harness } = house;
  const { clock, sandbox } = harness;
  const { setting } = plan;
  const stack = new DisposableStack();
  const log: ServiceLog = serviceLog();
  const seen: Observation[] = [];
  const shoppers: Told[] = [];
  const noted = { seen, wrong: wrong('a reader sees what was'), kinds: (kind: string) => house.seen(`feed: ${kind}`) };
  const mirrorPath = () => harness.wiring.mirror.path;
  const copy = join(stack.use(temporaryDirectory()).path, 'copy.db');
  const readers: MirrorReader[] = [
    stack.use(mirrorReader('a reader', mirrorPath, noted)),
    stack.use(mirrorReader('a follower', () => copy, noted)),
  ];
  const [ofMirror, ofCopy] = readers as [MirrorReader, MirrorReader];
  let endings: Ending[] = [];
  let lookedAt = 0;
  const note = () => log.note(clock.now(), factsOf(sandbox, clock.now(), horizon + setting.days + 7));

  /**
   * Lives on: in the minutes after something has happened, and in the last ones, from one piece of work to the next; between
   * them in steps, at whose end much is late.
   */
  async function come(to: number): Promise<void> {
    const closely = clock.now() + 20 * minute;
    const last = to - 5 * minute;
    while (clock.now() < to) {
      const now = clock.now();
      if (now < closely) await harness.liveUntil(Math.min(to, closely));
      else if (now < last) await harness.liveUntil(Math.min(last, now + betweenLooks), setting.step_minutes * minute);
      else await harness.liveUntil(to);
      await revive();
      if (clock.now() - lookedAt >= hour) await look();
    }
  }

  async function revive(): Promise<void> {
    const how = house.killed();
    if (how === null) return;
    if (how === squandering) throw new Error(`stopped while ${how}`);
    house.seen(`killed ${how}`);
    if (harness.wiring.mirror.filledAt() === null) house.seen('killed in the first fill');
    ofMirror.reopen();
    await startAgain(clock.now() % 7 === 0 ? 0 : minute);
    const db = new Database(mirrorPath(), { readonly: true });
    const found = db.pragma('integrity_check', { simple: true });
    db.close();
    if (found !== 'ok') wrong('the files are whole after a kill')(String(found));
  }

  async function look(): Promise<void> {
    lookedAt = clock.now();
    const { status, conditions } = harness.parts;
    const looked = await house.attempt(async () => {
      const found = await status(0);
      await conditions.look(async () => found, never);
      return found.conditions;
    });
    if (looked === null) return;
    for (const { code } of looked) house.seen(`condition: ${code}`);
    const delivered = sandbox.subscriptions().reduce((sum, { delivered }) => sum + delivered, 0);
    const { received } = harness.wiring.inbox.deliveries.counts();
    if (received < delivered)
      wrong('no answered delivery is lost')(`${delivered} were answered, ${received} are there`);
  }

  const read = () => {
    ofMirror.look(clock.now());
    if (setting.files) filesShown();
    ofCopy.look(clock.now());
  };

  /** What a storefront would send to a browser now. */
  function filesShown(): void {
    if (!existsSync(mirrorPath())) return;
    const { directory } = harness.wiring.config.images;
    const db = openMirrorAt(mirrorPath(), clock.now());
    const files = db.prepare<[], string>('SELECT DISTINCT file FROM images WHERE file IS NOT NULL').pluck().all();
    db.close();
    for (const file of files)
      if (!isWhole(join(directory, file))) wrong('an image that is shown has its whole file')(file);
    if (files.length > 0) house.seen('image files were shown');
  }

  async function followOnce(): Promise<void> {
    const ending = new AbortController();
    const once = { ...clock, sleep: async () => ending.abort() };
    const source = sourceOf(mirrorPath(), clock.now);
    await follow({ source, path: copy, every: 250, clock: once, log: testLog('silent').log, own: 1 }, ending.signal);
    house.seen('a follower caught up');
    const differing = differingViews(mirrorPath(), copy);
    if (differing.length > 0) wrong('a follower shows what the mirror shows')(differing.join(', '));
  }

  const sceneOf = (draw: number): Scene => ({
    house,
    sandbox,
    clock,
    habits: house.habits,
    chance: sequence(draw),
    until: (ms, end) => void endings.push({ at: clock.now() + ms, end }),
    read,
    follow: followOnce,
    startAgain,
    note,
    told: (each) => void shoppers.push(each),
  });

  /** What ends while nothing runs, ends then: else a program that holds a file would never let go of it. */
  async function startAgain(down_ms: number): Promise<void> {
    await house.startAgain(down_ms, async () => {
      const over = endings.filter(({ at }) => at <= clock.now()).toSorted((one, other) => one.at - other.at);
      endings = endings.filter((each) => !over.includes(each));
      for (const { end } of over) await end();
      if (over.length > 0) note();
    });
    // A status is read from the file that was there at the start, whatever becomes of it.
    await look();
  }

  async function ended(before: number): Promise<void> {
    for (;;) {
      const [next] = endings.toSorted((one, other) => one.at - other.at);
      if (next === undefined || next.at > before) return;
      await come(next.at);
      // What a start waited for has ended with it.
      if (!endings.includes(next)) continue;
      endings = endings.filter((each) => each !== next);
      await next.end();
      note();
    }
  }

  async function happen({ what, draw }: PlannedEvent): Promise<void> {
    try {
      await happenings[what].happen(sceneOf(draw));
    } catch (error) {
      // What people ask is refused while the files cannot be written.
      if (writeTroubleOf(error) === null) throw error;
      house.seen('a question was refused while the files could not be written');
    }
    house.seen(`event: ${what}`);
    note();
    if (house.isLost()) await missed();
  }

  /** Without its file a daemon says so; started again, it fills another one under another feed. */
  async function missed(): Promise<void> {
    for (const reader of readers) reader.another();
    await come(clock.now() + 2 * minute);
    // Killed meanwhile, it was started again, with another file.
    if (!house.isLost()) return;
    const found = (await harness.parts.status(0)).conditions.map(({ code }) => code);
    if (!found.includes('mirror-lost')) wrong('a lost file is noticed')(found.join(', '));
    await startAgain(0);
    house.seen('the mirror was lost and filled anew');
  }

  return {
    safety: async () => {
      note();
      for (const event of plan.events) if (event.at < 0) await happen(event);
      for (let tries = 0; tries < 300 && harness.wiring.mirror.filledAt() === null; tries += 1) {
        await harness.liveUntil(clock.now() + 10 * minute);
        await revive();
      }
      const began = clock.now();
      for (const event of plan.events) {
        const instant = began + event.at * 1000;
        if (event.at < 0) continue;
        await ended(instant);
        await come(instant);
        await happen(event);
        await revive();
        read();
      }
      await ended(began + setting.days * 24 * hour);
      await come(began + setting.days * 24 * hour);
      read();
    },
    liveness: async () => {
      await ended(clock.now());
      for (const { end } of endings) await end();
      endings = [];
      house.killAt(0);
      sandbox.faults.clear();
      sandbox.setHabits({ ...house.habits, stray_503: 0, stray_429: 0, stray_reset: 0 });
      changedInSilence();
      note();
      // Two cadences, or until what has often failed is asked again: once a day.
      const calm = Math.max(2 * setting.every_hours + 3, 26) * hour;
      await come(clock.now() + hour);
      if (setting.list_days > 0) await walkedTwice();
      await come(clock.now() + calm);
      // Before anything is announced, which has a product read that nothing else would.
      await compared();
      await announced();
      // A reopening may be left to the list, which is walked no more than once an hour.
      await come(clock.now() + hour + 10 * minute);
      read();
      await followOnce();
      await look();
      await compared();
      if (setting.files) filesKept();
      const { conditions } = await harness.parts.status(0);
      for (const { code, says } of conditions)
        if (code !== 'often-wrong') wrong('after any trouble no condition is left')(`${code}: ${says}`);
    },
    history: () => {
      const isCached = plan.events.some(({ what }) => what === 'answers cached' || what === 'reopened behind a cache');
      const cached_ms = isCached ? longestCache : (setting.habits.cached_ms ?? 0);
      const rules = { slack_ms: 2 * minute + cached_ms, cached_ms };
      return [...judge(log, seen, rules), ...judgeChecks(log, shoppers, cached_ms)];
    },
    [Symbol.dispose]: () => stack.dispose(),
  };

  function filesKept(): void {
    const db = openMirrorAt(mirrorPath(), clock.now());
    const { partial, orphans, lost } = inspectFiles(harness.wiring.config.images.directory, db);
    const missing = db.prepare<[], number>('SELECT count(*) FROM images WHERE file IS NULL').pluck().get() ?? 0;
    db.close();
    if (partial + orphans + lost + missing > 0)
      wrong('after any trouble each image has its file')(JSON.stringify({ partial, orphans, lost, missing }));
  }

  async function compared(): Promise<void> {
    const { differences, first } = await harness.compare();
    if (differences > 0) wrong('after any trouble the mirror is the service')(`${differences}: ${first.join(' | ')}`);
  }

  /** What nobody tells of is found by the cadences, whatever was believed before. A service sells something after all. */
  function changedInSilence(): void {
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
  async function walkedTwice(): Promise<void> {
    const request = { resources: ['products'] as const, product_ids: [], from: null, to: null };
    for (let walk = 0; walk < 2; walk += 1) {
      requestResync(harness.wiring.ports, request);
      await come(clock.now() + hour);
    }
  }

  /** A change and a closure are announced, and readers see both within minutes. */
  async function announced(): Promise<void> {
    const on = sandbox.world.visible().filter(({ status }) => status === 'available');
    const [one, other] = [on[0], on.at(-1)];
    if (one === undefined || other === undefined) return;
    const wait = setting.hold_minutes * minute + 10 * minute;
    sandbox.world.edit(one.id, { field: 'must_know', value: 'At the very end.' });
    note();
    await come(clock.now() + wait);
    sandbox.world.disable(other.id, { reason: 'temporary_closure' });
    note();
    await come(clock.now() + wait);
    const db = new Database(mirrorPath(), { readonly: true });
    const must_know = db.prepare('SELECT must_know FROM checkout_information WHERE product_id = ?').pluck().get(one.id);
    const sellable = db.prepare('SELECT sellable FROM products WHERE product_id = ?').pluck().get(other.id);
    db.close();
    // A service's texts may have escapes in them.
    if (!String(must_know).startsWith('At the very end.'))
      wrong('what is announced is seen in minutes')(`the text of product ${one.id} is ${String(must_know)}`);
    if (sellable !== 0) wrong('what is announced is seen in minutes')(`product ${other.id} is closed and still sold`);
    sandbox.world.enable(other.id);
    note();
  }
}

/** Whether a file is there, and is what its name says. */
function isWhole(path: string): boolean {
  return existsSync(path) && basename(path).startsWith(hash('sha256', readFileSync(path)));
}

/** A daemon's rows without a network between. */
function sourceOf(path: string, now: () => number): RowSource {
  return {
    after: async (question) => {
      const db = new Database(path, { readonly: true });
      try {
        return { ...rowPages(db).after(question), published_at: now() };
      } catch (error) {
        if ((error as { code?: string }).code === 'rows-begun-anew') return 'begun-anew';
        throw error;
      } finally {
        db.close();
      }
    },
    copy: async (to) => {
      publishCopy(path, to, `${to}.made`);
      return now();
    },
  };
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

function digestOf({ harness, steps }: House): string {
  const { mirror, inbox } = harness.wiring;
  const digests = [mirror.path, inbox.path].flatMap((path) => {
    const db = new Database(path, { readonly: true });
    const tables = db
      .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name")
      .pluck()
      .all();
    const found = tables.map((table) => JSON.stringify(db.prepare(`SELECT * FROM "${table}"`).raw().all()));
    db.close();
    return found;
  });
  const said = digests
    .join('\n')
    .replaceAll(ownHost, 'our host')
    .replaceAll(dirname(dirname(mirror.path)), 'our files');
  return hash('sha256', `${said}\n${steps()}`).slice(0, 16);
}
