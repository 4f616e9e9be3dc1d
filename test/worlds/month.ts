import { hex } from '../../src/sandbox/random.ts';
import type { Served } from '../../src/sandbox/sandbox.ts';
import type { SandboxImage, SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { callsPerDay, planOf } from '../../src/schedule/call-plan.rules.ts';
import { catalogueOf } from '../../src/schedule/needed-calls.ts';
import { walkKinds } from '../../src/schedule/record.rules.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import { servedImages } from '../fakes/served-images.ts';
import { noon, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { type AgeLine, Ages } from './ages.ts';

export interface MonthOptions {
  readonly days: number;
  /** The last of these days, in which nothing changes or fails any more: at their end both must be equal. 0: nothing is compared. */
  readonly calm_days: number;
  /** Days without any answer after that: the images must go. */
  readonly silent_days: number;
  readonly products: number;
  readonly seed: number;
  /**
   * `many`: a fifth of the answers fail, the service is away for two days three times and throttles at half of our rate,
   * while images come and go and credits change.
   */
  readonly faults: 'none' | 'many';
  readonly config?: Record<string, unknown>;
  readonly progress: (text: string) => void;
}

export interface Month {
  /** Broken promises; empty: none. Each begins with the name of its rule. */
  readonly failures: readonly string[];
  readonly ages: readonly AgeLine[];
  readonly calls: number;
  /** What `plan` predicted after the first day. */
  readonly predicted: number;
  readonly fill: number;
  /** Images as a reader saw them at every minute: first of the days, then of the silent ones. */
  readonly shown: readonly [ShownImages, ShownImages];
  /** Images and credits compared hourly with the newest answer of the service's own record. */
  readonly record: ImageRecord;
  /** Control: the oldest image at the end in a view that forgets the limit of 14 days. */
  readonly unlimited_ms: number;
  readonly takedowns: number;
}

interface ShownImages {
  minutes: number;
  /** The oldest confirmation of any image at any of these minutes, in milliseconds. */
  oldest_ms: number;
  least: number;
  most: number;
}

interface ImageRecord {
  compared: number;
  differing: number;
  /** Control: how often they differed from what the service had by then, and no read had told yet. */
  behind: number;
  /** The longest that the mirror's stamp of a read was from the service's own record of it. */
  stamp_off_ms: number;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const imageLimit = 14 * day;
/** Hours between two questions to the view `freshness`; odd, so that every time of the day is met. */
const askEvery = 11;

/** Fills a mirror and lives on for so many virtual days: the real engine against the sandbox over HTTP. */
export async function liveMonth(options: MonthOptions): Promise<Month> {
  const { days, calm_days, silent_days, products, seed, faults, progress } = options;
  await using stack = new AsyncDisposableStack();
  const ages = new Ages();
  const served = servedImages();
  let images: ImageWatch | null = null;
  let harness: VirtualHarness | null = null;
  const isBad = faults === 'many';
  // Without faults eight connections, as fast as they go: the sandbox is in the same process.
  const pace = isBad ? { requests_per_second: 10, concurrency: 4 } : { requests_per_second: 100_000, concurrency: 8 };
  const answered = (answer: Served) => {
    if (harness !== null) ages.served(answer, harness.sandbox.world);
    if (isBad) served.note(answer);
  };
  harness = stack.use(
    await virtualHarness(
      {
        seed,
        products,
        lean: true,
        counts: 'none',
        changes: { median_hours: 48, sigma: 1.5, until: noon + (days - calm_days) * day },
        served: answered,
        ...(isBad ? { faults: [{ kind: 'any', of: 'answers', share: 0.2 }], throttle: { per_second: 5 } } : {}),
      },
      { budget: { ...pace, share: 0.25 }, ...options.config },
      { moved: (from, to) => images?.look(from, to) },
    ),
  );
  const { daemon, clock, sandbox } = harness;
  if (isBad) for (const product of sandbox.products()) furnish(product, seed);
  await harness.runUntil(() => daemon.mirror.filledAt() !== null);
  const fill = sandbox.calls.counts().calls;
  const start = clock.now();
  images = stack.use(new ImageWatch(daemon.config.mirror.path, sandbox, served));
  const broken = stack.use(new BrokenPromises(daemon.config.mirror.path));
  const calm_from = (days - calm_days) * 24;
  const outages = new Outages(harness, calm_from);
  let predicted = 0;
  for (let passed = 1; passed <= days * 24; passed += 1) {
    if (isBad) {
      if (passed > calm_from) sandbox.faults.clear();
      else change(sandbox.products(), passed);
      await sandbox.setReachable(outages.isAway(passed) ? 'no' : 'yes');
    }
    await harness.liveUntil(start + passed * hour);
    if (isBad) images.compare(clock.now());
    // A plan knows what calls are worth when the first day has taught something.
    if (passed === 24) predicted = callsPerDay(planOf(catalogueOf(daemon.sync))) * days;
    if (passed % askEvery === 0) broken.ask(clock.now());
    if (passed % 24 === 0) progress(`day ${passed / 24} of ${days}`);
  }
  const calls = sandbox.calls.counts().calls - fill;
  const { differences, first } = calm_days === 0 ? { differences: 0, first: [] } : await harness.compare();
  const lines = ages.report(clock.now());
  const living = images.begin();
  await sandbox.setReachable('no');
  for (let passed = 1; passed <= silent_days; passed += 1) {
    await harness.live(day);
    progress(`silent day ${passed} of ${silent_days}`);
  }
  const silent = images.begin();
  const { record } = images;
  const unlimited_ms = images.unlimited(clock.now());

  const failures = differences === 0 ? [] : [`the mirror is the service: ${differences}: ${first.join(' | ')}`];
  for (const { tier, worst_ms, target_ms } of lines)
    if ((!isBad || tier === 'images') && worst_ms > target_ms + minute)
      failures.push(`nothing is older than promised: ${tier}, ${Math.round(worst_ms / minute)} minutes`);
  if (!isBad)
    for (const [what, times] of broken.times) failures.push(`freshness says met: ${what}, ${times} times not`);
  for (const { oldest_ms } of [living, silent])
    if (oldest_ms >= imageLimit)
      failures.push(`no image is visible at 14 days: ${Math.round(oldest_ms / minute)} minutes`);
  if (silent_days > 14 && (silent.least > 0 || unlimited_ms < imageLimit))
    failures.push('no image is visible at 14 days: some are left, or nothing would be without the limit (control)');
  if (record.differing > 0) failures.push(`images are those of the newest answer: ${record.differing} are not`);
  const takedowns = images.takedowns();
  return { failures, ages: lines, calls, predicted, fill, shown: [living, silent], record, unlimited_ms, takedowns };
}

/** Asks the view `freshness` now and then which promises are broken. */
class BrokenPromises implements Disposable {
  readonly #reader;
  /** By resource and tier. */
  readonly times = new Map<string, number>();

  constructor(path: string) {
    this.#reader = openMirrorWithClock(path);
  }

  ask(now: number): void {
    this.#reader.set(now);
    const rows = this.#reader.db.prepare<[], string>(
      "SELECT resource || coalesce(', ' || tier, '') FROM freshness WHERE met = 0",
    );
    for (const what of rows.pluck().all()) this.times.set(what, (this.times.get(what) ?? 0) + 1);
  }

  [Symbol.dispose](): void {
    this.#reader.db.close();
  }
}

/** Three outages of two days, one in each third of the time, each from when the list is about to be walked: the worst moment. */
class Outages {
  readonly #harness: VirtualHarness;
  readonly #hours: number;
  /** The hours at which they began. */
  readonly #begun: number[] = [];

  constructor(harness: VirtualHarness, hours: number) {
    this.#harness = harness;
    this.#hours = hours;
  }

  isAway(passed: number): boolean {
    const { daemon, clock } = this.#harness;
    const begun = this.#begun;
    if (passed < (begun.at(-1) ?? Number.NEGATIVE_INFINITY) + 48) return true;
    if (begun.length === 3 || passed < (begun.length * this.#hours) / 3 || passed + 48 > this.#hours) return false;
    const { primary } = walkKinds(daemon.sync.policy.extent);
    const { due_at } = daemon.mirror.schedule.records.find({ ...primary, product_id: 0 }) ?? { due_at: 0 };
    if (due_at > clock.now() + hour) return false;
    begun.push(passed);
    return true;
  }
}

/** A reader that asks the view `images` at every minute, by a clock of its own, and holds it against the service's record. */
class ImageWatch implements Disposable {
  readonly #reader;
  readonly #sandbox: VirtualHarness['sandbox'];
  readonly #served: ReturnType<typeof servedImages>;
  readonly #count;
  readonly #rows;
  #shown = noneShown();
  readonly record: ImageRecord = { compared: 0, differing: 0, behind: 0, stamp_off_ms: 0 };

  constructor(path: string, sandbox: VirtualHarness['sandbox'], served: ReturnType<typeof servedImages>) {
    this.#reader = openMirrorWithClock(path);
    this.#sandbox = sandbox;
    this.#served = served;
    const { db } = this.#reader;
    this.#count = db.prepare<[], { shown: number; at: number | null }>(
      'SELECT count(*) AS shown, min(verified_at) AS at FROM images',
    );
    this.#rows = db
      .prepare<[], string>(
        `SELECT json_array(product_id, json_group_array(json_array(image_key, credit)), min(verified_at))
         FROM images GROUP BY product_id`,
      )
      .pluck();
  }

  /** Looks at each minute between two instants at which the mirror was what it is now. */
  look(from: number, to: number): void {
    const found = this.#shown;
    for (let at = Math.ceil((from + 1) / minute) * minute; at <= to; at += minute) {
      this.#reader.set(at);
      const { shown, at: oldest } = this.#count.get() ?? { shown: 0, at: null };
      found.minutes += 1;
      if (oldest !== null) found.oldest_ms = Math.max(found.oldest_ms, at - oldest);
      found.least = Math.min(found.least, shown);
      found.most = Math.max(found.most, shown);
    }
  }

  /** Begins another count, and returns the one before. */
  begin(): ShownImages {
    const before = this.#shown;
    this.#shown = noneShown();
    return before;
  }

  /** What is shown of each product is what its newest answer brought, image by image, credit by credit. */
  compare(now: number): void {
    type Image = [key: string, credit: string | null];
    const { record } = this;
    this.#reader.set(now);
    const shown = new Map(
      this.#rows.all().map((text) => {
        const [id, rows, at] = JSON.parse(text) as [number, Image[], number];
        return [id, { rows, at }];
      }),
    );
    const lines = (images: readonly Image[]) =>
      images
        .map((image) => image.join(' '))
        .sort()
        .join('\n');
    for (const id of this.#served.ids()) {
      const newest = this.#served.reads(id).at(-1);
      if (newest === undefined) continue;
      const { rows, at } = shown.get(id) ?? { rows: [], at: newest.at };
      const found = lines(rows);
      record.compared += newest.images.length;
      if (lines(newest.images.map(({ key, credit }) => [key, credit])) !== found) record.differing += 1;
      const has = this.#sandbox.world.find(id)?.images ?? [];
      if (lines(has.map(({ name, credit }) => [name, credit])) !== found) record.behind += 1;
      record.stamp_off_ms = Math.max(record.stamp_off_ms, Math.abs(newest.at - at));
    }
  }

  unlimited(now: number): number {
    const oldest = this.#reader.db
      .prepare<[], number | null>(
        'SELECT min(r.images_verified_at) FROM main.image i JOIN main._product_read r USING (product_id) WHERE i.withdrawn_at IS NULL',
      )
      .pluck()
      .get();
    return now - (oldest ?? now);
  }

  takedowns(): number {
    return this.#reader.db.prepare<[], number>('SELECT count(*) FROM _image_takedown').pluck().get() ?? 0;
  }

  [Symbol.dispose](): void {
    this.#reader.db.close();
  }
}

const noneShown = (): ShownImages => ({ minutes: 0, oldest_ms: 0, least: Number.POSITIVE_INFINITY, most: 0 });

/** Gives a lean product three images, so that one can go without the product losing all. */
function furnish(product: SandboxProduct, seed: number): void {
  product.images = Array.from({ length: 3 }, (_, index) => ({
    name: hex(32, seed, product.id, index, 'story'),
    credit: `Photo: ${index}`,
    alt_text: null,
  }));
}

const away = new WeakMap<SandboxProduct, SandboxImage>();

/** Each hour a product loses an image or gets it back, and another's credit changes. */
function change(products: readonly SandboxProduct[], hours: number): void {
  const one = products[(hours * 7) % products.length];
  const other = products[(hours * 11) % products.length];
  if (one === undefined || other === undefined) return;
  const returns = away.get(one);
  const leaves = returns === undefined ? one.images.shift() : undefined;
  if (leaves !== undefined) away.set(one, leaves);
  if (returns !== undefined) {
    one.images.push(returns);
    away.delete(one);
  }
  const credited = other.images[hours % other.images.length];
  if (credited !== undefined) credited.credit = hours % 5 === 0 ? null : `Photo: <b>${hours}</b>`;
}
