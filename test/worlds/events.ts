import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { countOnceAndRecheck } from '../../src/desk/orders.ts';
import type { ImageTrouble } from '../../src/sandbox/images/image-host.ts';
import { pick } from '../../src/sandbox/random.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import type { Quirks } from '../../src/sandbox/rough/quirks.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { ThrottleOptions } from '../../src/sandbox/throttle.ts';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import type { Edit } from '../../src/sandbox/world/edits.ts';
import type { Subject } from '../../src/trust/claims.rules.ts';
import type { Told } from './history.ts';
import { plentyBytes, type World } from './world.ts';

/** The service, where things happen, and the instants at which what began ends: all that real time has as well. */
export interface ServiceScene {
  readonly sandbox: Sandbox;
  readonly clock: { now(): number };
  /** What the service is like where no event says otherwise. */
  readonly quirks: Quirks;
  chance(): number;
  /** Has something end after so long, or when the faults do. */
  until(ms: number, end: () => void | Promise<void>): void;
}

/** The whole world, with the daemon as well. */
export interface Scene extends ServiceScene {
  readonly world: World;
  /** Has every reader look. */
  read(): void;
  /** Has the follower catch up. */
  follow(): Promise<void>;
  /** Ends the process, and starts it again after so long. */
  startAgain(down_ms: number): Promise<void>;
  /** Notes what the service says from now on. */
  note(): void;
  /** Notes what a shopper was told. */
  told(check: Told): void;
}

/** Something that happens: exactly what follows from the scene's chance. */
type Event<Where = Scene> = (scene: Where) => void | Promise<void>;

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
/** How long answers may come from the service's cache. */
export const longestCache = 10 * minute;
const never = new AbortController().signal;

/** From 1 to `most`, as often below a tenth of it as above. */
const spread = (most: number, chance: number) => Math.max(1, Math.round(most ** chance));
const word = ({ chance }: ServiceScene) => `word${Math.floor(chance() * 1e6)}`;

function anyProduct({ sandbox, chance }: ServiceScene): SandboxProduct {
  return pick(sandbox.products(), chance());
}

function dateAhead({ clock, chance }: ServiceScene): string {
  return new Date(clock.now() + (2 + Math.floor(chance() ** 2 * 30)) * day).toISOString().slice(0, 10);
}

/** A date on which a product is sold, where it is: nothing else can be sold out under a shopper's hands. */
function dateSold(scene: ServiceScene, product: SandboxProduct): string {
  const { sandbox, clock } = scene;
  const [from = '', to = ''] = [2, 40].map((days) => new Date(clock.now() + days * day).toISOString().slice(0, 10));
  const sold = sandbox.world.days(product, from, to, 'EUR');
  return sold.length === 0 ? dateAhead(scene) : pick(sold, scene.chance()).date;
}

/** Whether an answer from today on, of the length that a service chooses itself, names any date. */
function isAnySoldSoon({ sandbox, clock }: ServiceScene): boolean {
  const [from = '', to = ''] = [0, 30].map((days) => new Date(clock.now() + days * day).toISOString().slice(0, 10));
  return sandbox.world.visible().some((product) => sandbox.world.days(product, from, to, 'EUR').length > 0);
}

async function ask({ world, told }: Scene, question: { product_id: number; date: string }, deadline_ms: number) {
  const { daemon, clock } = world.harness;
  const asked_at = clock.now();
  const answer = await world.attempt(() =>
    daemon.checks.check({ ...question, deadline_ms }, never).catch((error: { code?: string }) => ({
      verdict: `refused: ${String(error.code)}`,
      reasons: [] as readonly string[],
    })),
  );
  if (answer === null) return;
  world.seen(`a check said ${answer.verdict}`);
  const reasons: readonly string[] = answer.reasons;
  const live = !reasons.includes('withdrawn');
  told({ ...question, verdict: answer.verdict, live, asked_at, answered_at: clock.now() });
}

/** The files of more are worth no more and cost hours of sweeping. */
const mostImages = 3;

function addImage(scene: ServiceScene, product: SandboxProduct): void {
  const name = `${Math.floor(scene.chance() * 1e9)}`.padStart(32, '0');
  product.images = [...product.images.slice(-mostImages), { name, credit: word(scene), alt_text: null }];
}

const edit =
  (field: Edit['field'], value: (scene: ServiceScene) => unknown): Event<ServiceScene> =>
  (scene) =>
    scene.sandbox.world.edit(anyProduct(scene).id, { field, value: value(scene) });

const quirk =
  <Name extends keyof Quirks>(name: Name, ...values: readonly Quirks[Name][]): Event<ServiceScene> =>
  (scene) => {
    const { sandbox, quirks } = scene;
    const { setQuirks } = sandbox;
    setQuirks({ [name]: pick(values, scene.chance()) });
    // Not what was before: of two that overlap, the second would bring the first one back for good.
    scene.until(spread(600, scene.chance()) * minute, () => setQuirks({ [name]: quirks[name] }));
  };

/** Has a share of all answers go wrong, for so many minutes at most. */
const failing =
  (fault: FaultRule, minutes: number, ...shares: readonly number[]): Event<ServiceScene> =>
  ({ sandbox, chance }) =>
    sandbox.faults.add({
      ...fault,
      of: 'answers',
      share: pick(shares, chance()),
      until_ms: spread(minutes, chance()) * minute,
    });

/** What a service's people do. */
const catalogue = {
  title: edit('title', (scene) => `Tower ${word(scene)}`),
  tagline: edit('tagline', word),
  'must know': edit('must_know', word),
  description: edit('description', word),
  // Of the product's own: answers with ids of another product are held until a person decides.
  variants: (scene) => {
    const { sandbox, chance } = scene;
    const { id } = anyProduct(scene);
    const types = ['adult', 'child', 'senior'].slice(0, 1 + Math.floor(chance() * 3));
    const value = types.map((type, index) => ({
      id: id * 10 + index,
      label: `${type} ${Math.floor(chance() * 100)}`,
      type,
      factor: 1 - index / 4,
    }));
    sandbox.world.edit(id, { field: 'variants', value });
  },
  price: (scene) => {
    anyProduct(scene).price += 100 + Math.floor(scene.chance() * 1000);
  },
  closed: (scene) => {
    const product = anyProduct(scene);
    // Of one that is closed already nothing more is announced.
    if (product.status !== 'available') return;
    scene.sandbox.world.disable(product.id, {
      reason: pick(['temporary_closure', 'out_of_season'], scene.chance()),
      expected_reopening: pick([null, 'within_month'], scene.chance()),
      alternative: pick([null, anyProduct(scene).id], scene.chance()),
    });
  },
  reopened: ({ sandbox }) => {
    for (const { id } of sandbox.world.visible()) sandbox.world.enable(id);
  },
  'sold out': (scene) => void anyProduct(scene).sold_out.add(dateAhead(scene)),
  'sold again': (scene) => anyProduct(scene).sold_out.clear(),
  withdrawn: (scene) => {
    anyProduct(scene).withdrawn = true;
  },
  returned: ({ sandbox }) => {
    for (const product of sandbox.products()) product.withdrawn = false;
  },
  'most withdrawn': (scene) => {
    for (const product of scene.sandbox.products()) if (scene.chance() < 0.7) product.withdrawn = true;
    if (scene.chance() < 0.5) return;
    scene.until(spread(600, scene.chance()) * minute, () => {
      for (const product of scene.sandbox.products()) product.withdrawn = false;
    });
  },
  'image added': (scene) => addImage(scene, anyProduct(scene)),
  'image withdrawn': (scene) => {
    const product = anyProduct(scene);
    product.images = product.images.slice(1);
  },
  'image credit': (scene) => {
    const product = anyProduct(scene);
    const credit = word(scene);
    product.images = product.images.map((image, index) => (index === 0 ? { ...image, credit } : image));
  },
} as const satisfies Record<string, Event<ServiceScene>>;

/** What a service does that nobody means. */
const service = {
  'answers fail': failing({ kind: 'any' }, 1440, 0.05, 0.2, 0.6),
  away: async ({ sandbox, chance, until }) => {
    await sandbox.setReachable('no');
    until(spread(1440, chance()) * minute, () => sandbox.setReachable('yes'));
  },
  throttles: ({ sandbox, chance, until }) => {
    const options: ThrottleOptions = {
      per_second: 1 + Math.floor(chance() * 5),
      status: pick([429, 403], chance()),
      retry_after: pick(['seconds', 'date', 'none', 'zero', 'absurd'], chance()),
    };
    sandbox.setThrottle(options);
    until(spread(600, chance()) * minute, () => sandbox.setThrottle(null));
  },
  'a call hangs': ({ sandbox, chance }) => {
    const kind = pick(
      ['hang', 'drip', 'delay', 'huge', 'gzip-bomb', 'redirect', 'bom', 'wrong-type'] as const,
      chance(),
    );
    sandbox.faults.add({ kind, times: 1 + Math.floor(chance() * 3), ms: 20 * second });
  },
  'the list is empty': ({ sandbox, chance }) =>
    sandbox.faults.add({ kind: 'empty-list', path: 'products\\?', times: spread(10, chance()) }),
  'deliveries are lost': ({ sandbox, chance, until }) => {
    sandbox.setTroubles({ lost: 0.5 });
    until(spread(1440, chance()) * minute, () => sandbox.setTroubles({ lost: 0 }));
  },
  'deliveries come twice and late': ({ sandbox, chance, until }) => {
    sandbox.setTroubles({ duplicated: 0.5, reordered: 0.5 });
    until(spread(1440, chance()) * minute, () => sandbox.setTroubles({ duplicated: 0, reordered: 0 }));
  },
  'nothing is sent': ({ sandbox, chance, until }) => {
    for (const { subscription_id } of sandbox.subscriptions()) sandbox.setSending(subscription_id, 'none');
    until(spread(1440, chance()) * minute, () => {
      for (const { subscription_id } of sandbox.subscriptions()) sandbox.setSending(subscription_id, 'all');
    });
  },
  'dates ignored': (scene) => {
    // Where nothing is sold soon, whoever ignores the dates answers what an honest service would that has sold out.
    if (isAnySoldSoon(scene)) quirk('dates', 'ignored', 'shifted', 'weeks')(scene);
  },
  'answers cached': quirk('cached_ms', 2000, 60_000, longestCache),
  'reopened behind a cache': (scene) => {
    const { sandbox, quirks } = scene;
    const { id, status, sold_out } = anyProduct(scene);
    if (status !== 'available') return;
    sandbox.world.disable(id, { reason: 'temporary_closure' });
    for (let date = 0; date < 3; date += 1) sold_out.add(dateAhead(scene));
    scene.until(hour, () => {
      sandbox.setQuirks({ cached_ms: longestCache });
      sandbox.world.enable(id);
      scene.until(hour, () => sandbox.setQuirks({ cached_ms: quirks.cached_ms }));
    });
  },
  'stray 503': failing({ kind: 'status', status: 503 }, 600, 0.01, 0.1),
  'stray 429': failing({ kind: 'status', status: 429 }, 600, 0.01, 0.1),
  'stray resets': failing({ kind: 'reset' }, 600, 0.01, 0.1),
  'slow answers': quirk('slow_ms', 200, 2000),
  'the list never ends': quirk('list_end', 'never'),
  'the list drifts': ({ sandbox, chance, until }) => {
    sandbox.setDrift(0.5);
    until(spread(1440, chance()) * minute, () => sandbox.setDrift(0));
  },
} as const satisfies Record<string, Event<ServiceScene>>;

/** What a machine does, and whoever runs it. */
const machine = {
  killed: (scene) => {
    const { world, chance } = scene;
    const step = spread(3000, chance());
    if (chance() < 2 / 3) return world.killAt(step);
    // What is stored in moments is seldom met among thousands of steps.
    edit('tagline', word)(scene);
    world.killAt(1 + (step % 2), 'deliveries');
  },
  restarted: async ({ world, chance, startAgain }) => {
    await startAgain(chance() < 0.3 ? 0 : spread(600, chance()) * minute);
    world.seen('restarted in order');
  },
  'mirror deleted': async ({ world }) => {
    const { path } = world.harness.daemon.config.mirror;
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    world.lost();
  },
  'disk full': ({ world, chance, until }) => {
    const { disk } = world;
    disk.full = true;
    const ends = spread(120, chance()) * minute;
    if (chance() < 0.5) disk.free_bytes = 0;
    until(ends, () => void Object.assign(disk, { full: false, free_bytes: plentyBytes }));
  },
  'disk low': ({ world, chance, until }) => {
    const { disk } = world;
    disk.free_bytes = pick([150e6, 1e6], chance());
    until(spread(1440, chance()) * minute, () => {
      disk.free_bytes = plentyBytes;
    });
  },
  'mirror locked': ({ world, chance, until }) => {
    const db = new Database(world.harness.daemon.config.mirror.path, { timeout: 0 });
    try {
      db.exec('BEGIN IMMEDIATE');
    } catch {
      // Somebody else writes.
    }
    until(spread(3600, chance()) * second, () => void db.close());
  },
  reloaded: async ({ world, chance, startAgain }) => {
    world.config.scheduling = pick(['adaptive', 'fixed'], chance());
    world.config.budget = { requests_per_second: pick([5, 50], chance()), concurrency: pick([1, 4], chance()) };
    await startAgain(0);
    world.seen('took another configuration');
  },
  'the proxy refuses': ({ world, chance, until }) => {
    const { sandbox } = world.harness;
    sandbox.setTroubles({ refused: 1 });
    // It may refuse the service alone.
    world.proxy.refuses = chance() < 0.5;
    until(spread(2880, chance()) * minute, () => {
      sandbox.setTroubles({ refused: 0 });
      world.proxy.refuses = false;
    });
  },
  'clock wrong': ({ world, chance, until }) => {
    const by = pick([11 * 365 * day, -56 * 365 * day, 2 * hour, -2 * hour, 3 * day, -day], chance());
    world.machine.jump(by);
    until(pick([5, 15, 90, 3600], chance()) * second, () => world.machine.jump(-by));
  },
} as const satisfies Record<string, Event>;

/** What people and storefronts ask. */
const people = {
  read: ({ read }) => read(),
  follow: ({ follow }) => follow(),
  resync: ({ world, chance }) => {
    const { daemon } = world.harness;
    const mirrored = (id: number) => daemon.mirror.catalogue.products.isVisible(id);
    const product_ids = world.harness.sandbox
      .products()
      .flatMap(({ id }) => (mirrored(id) && chance() < 0.3 ? [id] : []));
    requestResync(daemon.sync, { resources: resyncResources, product_ids, from: null, to: null });
    world.seen(product_ids.length === 0 ? 'everything was asked for anew' : 'products were asked for anew');
  },
  rotate: async ({ world }) => {
    const { subscriptions } = world.harness.daemon;
    if ('why' in subscriptions) throw subscriptions.why;
    const { work } = subscriptions;
    const done = await world.attempt(() => work.rotate(null, never));
    world.seen(done === null ? 'killed while the address was rotated' : 'the address was rotated');
  },
  'rotate and be killed': async ({ world, chance }) => {
    const { subscriptions } = world.harness.daemon;
    if ('why' in subscriptions) throw subscriptions.why;
    const { work } = subscriptions;
    world.killAt(spread(60, chance()));
    const done = await world.attempt(() => work.rotate(null, never));
    world.seen(done === null ? 'killed while the address was rotated' : 'the address was rotated');
  },
  'held approved': ({ world }) => {
    const { sync, mirror } = world.harness.daemon;
    const [held] = mirror.evidence.held().filter(({ state }) => state === 'held');
    if (held === undefined) return;
    mirror.transaction(() => sync.evidence.decide(held.subject, 'approved'));
    world.seen('a hold was approved');
  },
  'held rejected': ({ world }) => {
    const { sync, mirror } = world.harness.daemon;
    const [held] = mirror.evidence.held().filter(({ state }) => state === 'held');
    if (held === undefined) return;
    mirror.transaction(() => sync.evidence.decide(held.subject, 'rejected'));
    world.seen('a hold was rejected');
  },
  check: async (scene) => {
    const product = anyProduct(scene);
    const question = { product_id: product.id, date: dateSold(scene, product) };
    await ask(scene, question, pick([500, 5000, 30_000], scene.chance()));
  },
  'checks around a change': async (scene) => {
    const { harness, quirks } = scene.world;
    const { sandbox, clock } = harness;
    sandbox.setQuirks({ slow_ms: 1500 });
    const product = anyProduct(scene);
    const question = { product_id: product.id, date: dateSold(scene, product) };
    const first = ask(scene, question, 5000);
    await scene.world.attempt(() => clock.sleep(500));
    if (scene.chance() < 0.5) product.sold_out.add(question.date);
    else if (product.status === 'available') sandbox.world.disable(product.id, { reason: 'private_event' });
    scene.note();
    await ask(scene, question, 5000);
    await first;
    sandbox.setQuirks({ slow_ms: quirks.slow_ms });
  },
  order: (scene) => {
    const { world, chance } = scene;
    const { daemon } = world.harness;
    const [product_id, date] = [anyProduct(scene).id, dateAhead(scene)];
    const outcome = pick(['confirmed', 'failed'] as const, chance());
    const order = {
      product_id,
      date,
      quantity: 1,
      outcome,
      code: null,
      order_id: `order-${Math.floor(chance() * 5)}`,
    };
    try {
      const { repeated } = countOnceAndRecheck(daemon.checks, daemon.inbox.orders, order, never);
      world.seen(repeated ? 'an order was told twice' : `an order was ${outcome}`);
    } catch (error) {
      world.seen(`an order was refused: ${String((error as { code?: string }).code)}`);
    }
  },
  seen: async (scene) => {
    const { daemon } = scene.world.harness;
    const seen = [{ product_id: anyProduct(scene).id, date: dateAhead(scene), count: spread(50, scene.chance()) }];
    await scene.world.attempt(() => Promise.resolve(daemon.checks.views.seen({ seen, caller: null })));
  },
} as const satisfies Record<string, Event>;

/** What the host of the image files does, which is not the service. */
const imageHost = {
  'image file replaced': (scene) => {
    const [image] = anyProduct(scene).images;
    if (image !== undefined) scene.world.images.replace(image.name);
  },
  'killed among new images': (scene) => {
    const { harness } = scene.world;
    for (const product of harness.sandbox.products()) addImage(scene, product);
    requestResync(harness.daemon.sync, { resources: ['products'], product_ids: [], from: null, to: null });
    scene.world.killAt(spread(300, scene.chance()));
  },
  'image host fails': ({ world: { harness, images }, chance, until }) => {
    const names = harness.sandbox.products().flatMap((product) => product.images.map(({ name }) => name));
    const trouble = pick<ImageTrouble>(
      [{ kind: 'status', status: 404 }, { kind: 'status', status: 503 }, { kind: 'html' }, { kind: 'half' }],
      chance(),
    );
    for (const name of names) images.trouble(name, trouble);
    until(spread(1440, chance()) * minute, () => {
      for (const name of names) images.trouble(name, null);
    });
  },
} as const satisfies Record<string, Event>;

/** What happens at the service alone, in any time. */
export const atService = { ...catalogue, ...service } as const;
export const isAtService = (what: EventName): what is keyof typeof atService => what in atService;

export const events = { ...catalogue, ...service, ...machine, ...people, ...imageHost } as const;
export type EventName = keyof typeof events;

const closing = ['closed', 'checks around a change', 'reopened behind a cache'] as const;
const selling = [...closing, 'sold out', 'dates ignored'] as const;
const pricing = ['price', 'variants', ...selling] as const;
/** What takes away so much of a few products that it may be held: a hold without any of these before it is our fault. */
export const takesAway: Readonly<Record<Subject, readonly EventName[]>> = {
  products: ['withdrawn', 'most withdrawn', 'the list is empty', 'the list drifts'],
  'sale-status': closing,
  'near-dates': selling,
  'far-dates': selling,
  variants: ['variants'],
  texts: [],
  'from-prices': pricing,
  'near-prices': pricing,
  'far-prices': pricing,
  'fewer-near-dates': selling,
  'fewer-far-dates': selling,
  'fewer-times': selling,
  'fewer-variants': ['variants'],
  'alike-from-prices': pricing,
  'alike-near-prices': pricing,
  'alike-far-prices': pricing,
  'shorter-texts': [],
  'alike-zones': [],
  'alike-variant-types': ['variants'],
  'alike-must-know': [],
  'alike-titles': [],
  'alike-texts': [],
  'alike-images': [],
  'other-ids': [],
};

/** What costs a lot or hides much else happens a tenth as often. */
export const rare: ReadonlySet<EventName> = new Set([
  'most withdrawn',
  'dates ignored',
  'the list never ends',
  'mirror deleted',
  'clock wrong',
]);

/** Events by who causes them: some seeds do without one of these altogether. */
export const subjects = [catalogue, service, machine, people].map((kinds) => Object.keys(kinds) as EventName[]);
export const ofImageFiles = Object.keys(imageHost) as EventName[];
