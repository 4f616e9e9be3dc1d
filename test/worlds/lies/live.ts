import Database from 'better-sqlite3';
import { requestResync, resyncResources } from '../../../src/cycle/request-resync.ts';
import { roll } from '../../../src/sandbox/random.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { SandboxProduct } from '../../../src/sandbox/world/catalogue.ts';
import { isOpen } from '../../../src/trust/hold.rules.ts';
import { openMirrorWithClock } from '../../fakes/mirror-at.ts';
import { notifiedHarness } from '../../fakes/notified-harness.ts';
import { type HarnessOptions, type VirtualHarness, virtualHarness } from '../../fakes/virtual-harness.ts';
import { expectedRows } from '../../oracle/expected.ts';
import { serviceLog } from '../history.ts';
import { type Case, farDates, nearDates } from './cases.ts';
import { type Errors, factOf, judge, nothing, type Subject, type Verdict, verdictOf } from './judge.ts';

/**
 * The daemon that lives through a case: the one with its rule, and two controls. One `believes` every answer, one `freezes`
 * what it showed at the beginning.
 */
export const daemons = ['rule', 'believes', 'freezes'] as const;
export type Daemon = (typeof daemons)[number];

export interface Outcome extends Verdict {
  readonly errors: Errors;
  readonly cpu_ms: number;
}

const minute = 60_000;
const hour = 60 * minute;

/** An operator's defaults, but that reads come by the cadence alone. */
const operated = {
  scheduling: 'fixed',
  budget: { requests_per_second: 10, concurrency: 4 },
  cadence: { availability: { near: { every: '6h' }, middle: { every: '12h' }, far: { every: '24h' } } },
};

/** Lives through a case with the jobs of the real daemon on a virtual clock, and judges what a reader saw. */
export async function liveCase(of: Case, daemon: Daemon): Promise<Outcome> {
  const began = process.cpuUsage();
  await using stack = new AsyncDisposableStack();
  let watch: Watch | null = null;
  const believing = daemon === 'believes' ? { held: { less: 'off', price: 'off' } } : {};
  const harness = await begin(stack, of, believing, {
    moved: (from) => watch?.look(from),
    mutated: (jobs) => (daemon === 'freezes' ? jobs.filter(({ name }) => name !== 'pass') : jobs),
  });
  watch = stack.use(new Watch(harness));
  const { clock, sandbox } = harness;
  const start = clock.now();
  const acts: { readonly at: number; act(): void }[] = [];
  of.begin({
    sandbox,
    products: sandbox
      .products()
      .filter(({ status }) => status === 'available')
      .toSorted((one, other) => roll(1, one.id, 'case') - roll(1, other.id, 'case')),
    at: (hours, act) => void acts.push({ at: start + hours * hour, act }),
    approve: () => {
      const { mirror, sync } = harness.daemon;
      for (const hold of mirror.evidence.holds()) if (isOpen(hold)) sync.evidence.decide(hold.subject, 'approved');
    },
    sweep: () =>
      void requestResync(harness.daemon.sync, { resources: resyncResources, product_ids: [], from: null, to: null }),
  });
  for (const { at, act } of acts.toSorted((one, other) => one.at - other.at)) {
    await harness.liveUntil(at);
    act();
    watch.note();
  }
  await harness.liveUntil(start + of.hours * hour);
  const errors = watch.judged();
  const { user, system } = process.cpuUsage(began);
  return { ...verdictOf(errors, of.bounds, watch.told), errors, cpu_ms: (user + system) / 1000 };
}

async function begin(
  stack: AsyncDisposableStack,
  of: Case,
  believing: Record<string, unknown>,
  overrides: HarnessOptions,
): Promise<VirtualHarness> {
  const sandbox = { products: of.products, lean: of.dense !== true, hold_ms: 5 * minute };
  // An honest service fills the mirror: whatever a daemon believes, it is the same one.
  if (of.before === undefined)
    return stack.use(await notifiedHarness(sandbox, operated, { ...overrides, later: believing, changed: spreadReads }))
      .harness;
  const harness = stack.use(await virtualHarness(sandbox, { ...operated, ...believing }, overrides));
  of.before(harness.sandbox);
  return harness;
}

/** Has each record due at a time of its own, as in a daemon that was filled long ago: else all are read in one minute. */
function spreadReads(mirror: string): void {
  const db = new Database(mirror);
  db.exec(
    `UPDATE _record SET due_at = fetched_at + (due_at - fetched_at) * ((product_id * 7919 + part * 104729) % 1000) / 1000
     WHERE product_id > 0 AND fetched_at IS NOT NULL`,
  );
  db.close();
}

/** Keeps both logs: what is so at the service, and what a reader of the mirror sees. */
class Watch implements Disposable {
  readonly #harness: VirtualHarness;
  readonly #truth = serviceLog();
  readonly #shown = serviceLog();
  readonly #reader;
  readonly #shownOf: (product_id: number) => Facts;
  readonly #newest;
  readonly #changed;
  readonly #ranges: readonly Range[];
  /** What each product was when it was last looked at: what has not changed is not derived again. */
  readonly #known = new Map<number, string>();
  /** An unfilled mirror shows nothing because it has read nothing. */
  readonly #beganFilled: boolean;
  /** The newest entry of the feed at the last look, and when everything is looked at again: not all of a fill is in the feed. */
  #seq = 0;
  /** Subjects that were held or reported. */
  readonly told = new Set<string>();
  #allAt = 0;

  constructor(harness: VirtualHarness) {
    const now = harness.clock.now();
    this.#harness = harness;
    this.#beganFilled = harness.isFilled();
    this.#ranges = [nearDates(now), farDates(now)];
    this.#reader = openMirrorWithClock(harness.daemon.config.mirror.path);
    const { db } = this.#reader;
    this.#newest = db.prepare<[], number | null>('SELECT max(seq) FROM changes').pluck();
    this.#changed = db.prepare<[number], number>('SELECT DISTINCT product_id FROM changes WHERE seq > ?').pluck();
    this.#shownOf = shownIn(db, this.#ranges);
    this.note();
    this.look(now);
  }

  /** Notes what is so at the service from now on. */
  note(): void {
    const { clock, sandbox } = this.#harness;
    for (const product of sandbox.products()) {
      const { id, price, status, edits, withdrawn, sold_out } = product;
      const known = JSON.stringify([
        price,
        status,
        edits,
        withdrawn,
        product.place.zone,
        product.slots,
        product.variants,
        ...sold_out,
      ]);
      if (this.#known.get(id) === known) continue;
      this.#known.set(id, known);
      this.#truth.note(clock.now(), named(product.id, trueOf(sandbox, product, clock.now(), this.#ranges)));
    }
  }

  /** Notes what a reader sees at an instant. */
  look(now: number): void {
    for (const { subject } of this.#harness.daemon.mirror.evidence.holds()) this.told.add(subject);
    const newest = this.#newest.get() ?? 0;
    const isAll = now >= this.#allAt;
    if (newest === this.#seq && !isAll) return;
    const { sandbox, daemon } = this.#harness;
    const ids = isAll ? sandbox.products().map(({ id }) => id) : this.#changed.all(this.#seq);
    if (isAll) this.#allAt = now + (daemon.mirror.filledAt() === null ? 5 * minute : 3 * hour);
    this.#seq = newest;
    this.#reader.set(now);
    for (const id of ids) {
      const facts = [...named(id, this.#shownOf(id))].filter(
        ([fact, value]) => this.#beganFilled || !nothing.has(value) || this.#shown.of(fact).length > 0,
      );
      this.#shown.note(now, new Map(facts));
    }
  }

  judged(): Errors {
    const { clock, sandbox } = this.#harness;
    this.look(clock.now());
    const product_ids = sandbox.products().map(({ id }) => id);
    return judge({ truth: this.#truth, shown: this.#shown, product_ids, to: clock.now() });
  }

  [Symbol.dispose](): void {
    this.#reader.db.close();
  }
}

type Facts = Readonly<Record<Subject, string>>;
type Range = readonly [from: string, to: string];

function named(product_id: number, facts: Facts): Map<string, string> {
  return new Map(Object.entries(facts).map(([subject, value]) => [factOf(subject as Subject, product_id), value]));
}

/** Returns what is so of a product, derived from the service's own state. */
function trueOf(sandbox: Sandbox, { id }: SandboxProduct, now: number, ranges: readonly Range[]): Facts {
  const question = { language: 'en', currency: 'EUR', now };
  const state = sandbox.state(id, { ...question, horizon: 92 });
  if (state === null) throw new Error(`no product ${id}`);
  const { products, bookable_days, checkout_information, variants, availability_slots } = expectedRows(state, question);
  const [near, far] = ranges.map(([from, to]) => {
    const rows = bookable_days.filter(({ date }) => String(date) >= from && String(date) <= to);
    const prices = rows.flatMap(({ lowest_price }) => (lowest_price === null ? [] : [Number(lowest_price)]));
    return { days: rows.length, price: prices.length === 0 ? null : Math.min(...prices) };
  });
  const [checkout] = checkout_information;
  const [first, last] = ranges[0] ?? ['', ''];
  const bookable = new Set(bookable_days.map(({ date }) => date));
  const read = variants.filter(({ source }) => source === 'variants');
  return factsOf({
    near,
    far,
    times: new Set(
      availability_slots
        .filter(({ date }) => String(date) >= first && String(date) <= last && bookable.has(date))
        .map(({ date, time }) => `${date} ${time}`),
    ).size,
    zone: products[0]?.timezone ?? null,
    types: read.map(({ variant_type }) => variant_type),
    sellable: products[0]?.sellable,
    texts: [checkout?.must_know ?? null, checkout?.good_to_know ?? null],
    variants: read.length,
  });
}

interface Read {
  readonly times: unknown;
  readonly zone: unknown;
  readonly types: readonly unknown[];
  readonly near: Dates | undefined;
  readonly far: Dates | undefined;
  readonly sellable: unknown;
  readonly texts: readonly unknown[];
  readonly variants: unknown;
}

interface Dates {
  readonly days: number;
  readonly price: number | null;
}

function factsOf({ near, far, times, zone, types, sellable, texts, variants }: Read): Facts {
  return {
    'near dates': String(near?.days ?? 0),
    'near price': String(near?.price ?? null),
    'far dates': String(far?.days ?? 0),
    'far price': String(far?.price ?? null),
    status: String(sellable ?? 0),
    texts: JSON.stringify(texts),
    variants: String(variants ?? 0),
    'near times': String(times ?? 0),
    types: types.length === 0 ? 'null' : [...types].sort().join(),
    zone: String(zone ?? null),
  };
}

/** Returns what a reader of a mirror sees of a product. */
function shownIn(db: ReturnType<typeof openMirrorWithClock>['db'], ranges: readonly Range[]): (id: number) => Facts {
  const dates = db.prepare<[number, string, string], Dates>(
    `SELECT count(*) AS days, min(lowest_price) AS price FROM bookable_days
     WHERE product_id = ? AND currency = 'EUR' AND date BETWEEN ? AND ?`,
  );
  const sellable = db
    .prepare<[number], number>("SELECT sellable FROM products WHERE product_id = ? AND language = 'en'")
    .pluck();
  const times = db
    .prepare<[number, string, string], number>(
      `SELECT sum(json_array_length(slots)) FROM bookable_days b JOIN slot_day s USING (product_id, currency, date)
       WHERE b.product_id = ? AND b.currency = 'EUR' AND b.date BETWEEN ? AND ?`,
    )
    .pluck();
  const zone = db
    .prepare<[number], string | null>("SELECT timezone FROM products WHERE product_id = ? AND language = 'en'")
    .pluck();
  const types = db
    .prepare<[number], string | null>(
      "SELECT variant_type FROM variants WHERE product_id = ? AND language = 'en' AND source = 'variants'",
    )
    .pluck();
  const texts = db.prepare<[number], { must_know: string | null; good_to_know: string | null }>(
    "SELECT must_know, good_to_know FROM checkout_information WHERE product_id = ? AND language = 'en'",
  );
  const variants = db
    .prepare<[number], number>(
      "SELECT count(*) FROM variants WHERE product_id = ? AND language = 'en' AND source = 'variants'",
    )
    .pluck();
  return (id) => {
    const [near, far] = ranges.map((range) => dates.get(id, ...range));
    const { must_know = null, good_to_know = null } = texts.get(id) ?? {};
    return factsOf({
      near,
      far,
      times: times.get(id, ...(ranges[0] ?? ['', ''])),
      zone: zone.get(id),
      types: types.all(id),
      sellable: sellable.get(id),
      texts: [must_know, good_to_know],
      variants: variants.get(id),
    });
  };
}
