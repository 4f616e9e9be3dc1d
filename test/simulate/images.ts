import { walkKinds } from '../../src/domain/schedule/record-kinds.ts';
import { hex } from '../../src/sandbox/random.ts';
import type { SandboxImage, SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import { servedImages } from '../fakes/served-images.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

export interface ImageStoryOptions {
  readonly products: number;
  readonly seed: number;
  readonly days: number;
  /** Days without any answer after that: the images must go. */
  readonly silent_days: number;
  readonly config?: Record<string, unknown>;
  readonly progress: (text: string) => void;
}

/** What a reader saw who asked the view `images` at every minute, by a clock of its own. */
export interface ImageLine {
  readonly what: string;
  readonly minutes: number;
  /** The oldest confirmation of any image at any of these minutes, in milliseconds. */
  readonly oldest_ms: number;
  readonly shown_least: number;
  readonly shown_most: number;
}

export interface ImageStory {
  readonly lines: readonly ImageLine[];
  /** Control: the same by a view that forgets the limit. It must be over 14 days. */
  readonly unlimited_ms: number;
  /** Images and credits compared with the newest answer that the service's own record has, hourly; and how many differed. */
  readonly compared: number;
  readonly differing: number;
  /** Control: how often they differed from what the service had by then, and no read had told yet. It must be many. */
  readonly behind: number;
  /** Changes made at the service: images withdrawn, given back, credits changed. */
  readonly changes: number;
  readonly takedowns: number;
  /** The longest that the mirror's stamp of a read was from the service's own record of it. */
  readonly stamp_off_ms: number;
  readonly seconds: number;
}

const minute = 60_000;
const hour = 60 * minute;
const perProduct = 3;

interface Look {
  readonly shown: number;
  readonly at: number | null;
}

/**
 * A fifth of the answers fail and the service is away for two days three times, while images come and go and credits
 * change; then it answers no more. The view is asked at every minute, and hourly the sandbox's own record of what it has
 * served.
 */
export async function imageStory(options: ImageStoryOptions, stack: AsyncDisposableStack): Promise<ImageStory> {
  const began = performance.now();
  const served = servedImages();
  let watch: ((from: number, to: number) => void) | null = null;
  const harness = stack.use(
    await virtualHarness(
      {
        seed: options.seed,
        products: options.products,
        lean: true,
        counts: 'none',
        throttle: { per_second: 5 },
        served: served.note,
      },
      { budget: { requests_per_second: 10, concurrency: 4 }, ...options.config },
      { moved: (from, to) => watch?.(from, to) },
    ),
  );
  const { wiring, clock, sandbox } = harness;
  for (const product of sandbox.products()) furnish(product, options.seed);
  await harness.runUntil(() => wiring.mirror.filledAt() !== null);
  const reader = openMirrorWithClock(wiring.mirror.path);
  stack.defer(() => void reader.db.close());
  const look = reader.db.prepare<[], Look>('SELECT count(*) AS shown, min(verified_at) AS at FROM images');
  const everything = reader.db.prepare<[], Row>(rowsOf);
  const unlimited = reader.db
    .prepare<[], number>(
      'SELECT min(p.images_verified_at) FROM main._image i JOIN main._product p USING (product_id) WHERE i.withdrawn_at IS NULL',
    )
    .pluck();
  let line = newLine();
  watch = (from, to) => {
    for (let at = Math.ceil((from + 1) / minute) * minute; at <= to; at += minute) {
      reader.set(at);
      const { shown, at: oldest } = look.get() ?? { shown: 0, at: null };
      line.minutes += 1;
      if (oldest !== null) line.oldest_ms = Math.max(line.oldest_ms, at - oldest);
      line.shown_least = Math.min(line.shown_least, shown);
      line.shown_most = Math.max(line.shown_most, shown);
    }
  };
  const start = clock.now();
  const record = { compared: 0, differing: 0, behind: 0, stamp_off_ms: 0 };
  const away = outages(harness, options.days);
  let changes = 0;
  sandbox.setFaultShare(0.2);
  for (let passed = 1; passed <= options.days * 24; passed += 1) {
    changes += change(sandbox.products(), passed);
    await sandbox.setReachable(away(passed) ? 'no' : 'yes');
    await harness.liveUntil(start + passed * hour);
    compareWithRecord();
    if (passed % 24 === 0)
      options.progress(`day ${passed / 24} of ${options.days}, ${Math.round((performance.now() - began) / 1000)} s`);
  }
  const bad: ImageLine = {
    what: `${options.days} days, a fifth of the answers failing, three outages of 2 d`,
    ...line,
  };
  line = newLine();
  await sandbox.setReachable('no');
  const silent = clock.now();
  for (let passed = 1; passed <= options.silent_days * 24; passed += 1) await harness.liveUntil(silent + passed * hour);
  const dead: ImageLine = { what: `${options.silent_days} days without any answer`, ...line };
  const takedowns = reader.db.prepare<[], number>('SELECT count(*) FROM _image_takedown').pluck().get() ?? 0;
  return {
    lines: [bad, dead],
    unlimited_ms: clock.now() - (unlimited.get() ?? clock.now()),
    ...record,
    changes,
    takedowns,
    seconds: (performance.now() - began) / 1000,
  };

  /** What is shown of each product is what its newest answer brought, image by image, credit by credit. */
  function compareWithRecord(): void {
    reader.set(clock.now());
    const shown = new Map(everything.all().map((row) => parse(row.shown)));
    for (const id of served.ids()) {
      const newest = served.reads(id).at(-1);
      if (newest === undefined) continue;
      const { rows, at } = shown.get(id) ?? { rows: [], at: null };
      record.compared += newest.images.length;
      const found = lines(rows);
      if (lines(newest.images.map(({ key, credit }) => [key, credit])) !== found) record.differing += 1;
      const now = sandbox.world.find(id)?.images ?? [];
      if (lines(now.map(({ name, credit }) => [name, credit])) !== found) record.behind += 1;
      if (at !== null) record.stamp_off_ms = Math.max(record.stamp_off_ms, Math.abs(newest.at - at));
    }
  }
}

/** Three outages of two days, one in each third of the time, each from when the list is about to be walked: the worst moment. */
function outages({ wiring, clock }: VirtualHarness, days: number): (hours: number) => boolean {
  const { primary } = walkKinds(wiring.ports.policy.extent);
  const begun: number[] = [];
  return (hours) => {
    const last = begun.at(-1) ?? Number.NEGATIVE_INFINITY;
    if (hours < last + 48) return true;
    const { due_at } = wiring.mirror.records.find({ ...primary, product_id: 0 }) ?? { due_at: 0 };
    if (begun.length === 3 || hours < (begun.length * days * 24) / 3 || due_at > clock.now() + hour) return false;
    begun.push(hours);
    return true;
  };
}

interface Row {
  readonly shown: string;
}

const rowsOf = `SELECT json_array(product_id, json_group_array(json_array(image_key, credit)), min(verified_at)) AS shown
  FROM images GROUP BY product_id`;

function parse(text: string): [number, { rows: [string, string | null][]; at: number }] {
  const [id, rows, at] = JSON.parse(text) as [number, [string, string | null][], number];
  return [id, { rows, at }];
}

function lines(images: readonly (readonly [string, string | null])[]): string {
  return images
    .map(([key, credit]) => `${key} ${credit}`)
    .sort()
    .join('\n');
}

function newLine() {
  return { minutes: 0, oldest_ms: 0, shown_least: Number.POSITIVE_INFINITY, shown_most: 0 };
}

/** A lean catalogue has one image a product: three let one go without the product losing all. */
function furnish(product: SandboxProduct, seed: number): void {
  product.images = Array.from({ length: perProduct }, (_, index) => ({
    name: hex(32, seed, product.id, index, 'story'),
    credit: `Photo: ${index}`,
    alt_text: null,
  }));
}

const kept = new WeakMap<SandboxProduct, SandboxImage>();

/** Each hour a product loses an image or gets it back, and another's credit changes. Returns how many changes that were. */
function change(products: readonly SandboxProduct[], hours: number): number {
  const one = products[(hours * 7) % products.length];
  const other = products[(hours * 11) % products.length];
  if (one === undefined || other === undefined) return 0;
  const away = kept.get(one);
  if (away === undefined) {
    const image = one.images.shift();
    if (image !== undefined) kept.set(one, image);
  } else {
    one.images.push(away);
    kept.delete(one);
  }
  const credited = other.images[hours % other.images.length];
  if (credited !== undefined) credited.credit = hours % 5 === 0 ? null : `Photo: <b>${hours}</b>`;
  return 2;
}
