import { pick, roll, sequence } from '../../src/sandbox/random.ts';
import type { Quirks } from '../../src/sandbox/rough/quirks.ts';
import { type EventName, ofImageFiles, rare, subjects } from './events.ts';
import type { WorldOptions } from './world.ts';

/** Days ahead: what the comparison of a virtual harness expects. */
export const horizon = 92;

/** One thing that happens. What it does exactly follows from `draw` alone, so that a plan can lose others. */
export interface PlannedEvent {
  /** Seconds since the mirror was filled; less than nothing: before it is. */
  readonly at: number;
  readonly what: EventName;
  readonly draw: number;
}

/** In which world it happens. */
export interface Setting {
  readonly products: number;
  readonly days: number;
  readonly scheduling: 'adaptive' | 'fixed';
  /** Every cadence; covered products' are twice that. */
  readonly every_hours: number;
  /** How often the list is walked, which then nothing waits for; 0: like everything else. */
  readonly list_days: number;
  /** Minutes from one tick to the next while nothing happens; a daemon's are seconds. */
  readonly step_minutes: number;
  readonly hold_minutes: number;
  readonly batch: 'what is ripe' | 'one product';
  readonly gone: 404 | 410;
  readonly share: number;
  readonly audit: number;
  readonly rotate_days: number;
  /** Whether the files of images are fetched too. */
  readonly files: boolean;
  /** Whether dates have no times, and a product one option and one image. */
  readonly lean: boolean;
  /** Days ahead whose dates are read. */
  readonly horizon: number;
  readonly languages: readonly string[];
  readonly currencies: readonly string[];
  /** Products that are not mirrored. */
  readonly excluded: readonly number[];
  /** Whether the daemon subscribes to notifications. */
  readonly notified: boolean;
  /** What the service is like from the beginning to the end. */
  readonly quirks: Partial<Quirks>;
}

/** Everything that a run does: the same plan leaves the same bytes. */
export interface Plan {
  readonly seed: number;
  readonly setting: Setting;
  readonly events: readonly PlannedEvent[];
}

/** The setting in which nothing is special: what a plan is shrunk towards. */
export const plain: Setting = {
  products: 4,
  days: 1,
  scheduling: 'fixed',
  every_hours: 12,
  list_days: 0,
  step_minutes: 10,
  hold_minutes: 5,
  batch: 'what is ripe',
  gone: 404,
  share: 0,
  audit: 0,
  rotate_days: 30,
  files: false,
  lean: true,
  horizon,
  languages: ['en'],
  currencies: ['EUR'],
  excluded: [],
  notified: true,
  quirks: {},
};

/** What a service may always be like, without a condition that tells of it; what ends with the faults is an event. */
const lasting: { readonly [Name in keyof Quirks]?: readonly Quirks[Name][] } = {
  cached_ms: [6_000],
  date_order: ['shuffled', 'repeated'],
  faults: [
    [{ kind: 'status', status: 503, of: 'answers', share: 0.01 }],
    [{ kind: 'status', status: 503, of: 'answers', share: 0.03 }],
    [{ kind: 'reset', of: 'answers', share: 0.01 }],
  ],
  limit: [30],
  endpoints: ['specification'],
  unrated: ['zero'],
  images_null: [0.1],
  page_size: ['ignored'],
  list_order: ['shifting'],
  counters: ['differing'],
  clock_skew_ms: [45_000],
  slow_ms: [200],
  escapes: [0.1],
};

/**
 * Draws a plan, of a week unless said otherwise. Half of all kinds of events are left out of
 * each seed (swarm testing): what always happens hides what needs its absence.
 */
export function planOf(seed: number, days = 7): Plan {
  const chance = sequence(seed);
  const among = <Item>(...items: readonly Item[]) => pick(items, chance());
  const quirks = quirksOf(seed, chance() < 0.4 ? 0 : 0.2);
  const setting: Setting = {
    ...plain,
    products: 3 + Math.floor(chance() * 5),
    days,
    scheduling: among('adaptive', 'fixed'),
    every_hours: among(4, 6, 12, 24),
    // Without a read of the single product the list alone says what is on sale.
    list_days: quirks.endpoints === 'specification' ? 0 : among(0, 7),
    step_minutes: among(20, 30, 60),
    hold_minutes: among(1, 5, 15),
    batch: among('what is ripe', 'one product'),
    gone: among(404, 410),
    share: among(0, 0, 0.25),
    audit: among(0, 0.01),
    rotate_days: among(1, 30),
    files: roll(seed, 'files', 'setting') < 0.12,
    quirks,
  };
  const drawn = subjects.flatMap((kinds, subject) =>
    roll(seed, subject, 'subject') < 0.25 ? [] : kinds.filter((kind) => roll(seed, kind, 'kind') < 0.6),
  );
  const kinds = setting.files ? [...drawn, ...ofImageFiles] : drawn;
  const count = kinds.length === 0 ? 0 : Math.round(setting.days * among(4, 10, 20));
  const seconds = setting.days * 86_400;
  const events = Array.from({ length: count }, (_, index) => {
    const what = heavier(kinds, chance);
    const early = what === 'killed' && chance() < 0.2;
    return {
      at: early ? -1 : Math.floor(chance() * seconds),
      what,
      draw: Math.floor(roll(seed, index, 'draw') * 2 ** 31),
    };
  });
  return { seed, setting, events: events.sort((one, other) => one.at - other.at) };
}

/** What is heavy happens a tenth as often. */
function heavier(kinds: readonly EventName[], chance: () => number): EventName {
  const kind = pick(kinds, chance());
  return rare.has(kind) && chance() > 0.15 ? pick(kinds, chance()) : kind;
}

export function quirksOf(seed: number, share: number): Partial<Quirks> {
  const drawn = Object.entries(lasting).filter(([name]) => roll(seed, name, 'quirk') < share);
  return Object.fromEntries(drawn.map(([name, values]) => [name, pick<unknown>(values, roll(seed, name, 'value'))]));
}

/** The world of a plan. */
export function worldOf({ seed, setting }: Plan): WorldOptions {
  const { products, lean, batch, gone, quirks, hold_minutes } = setting;
  const sandbox = { products, lean, batch, gone, quirks, hold_ms: hold_minutes * 60_000, counts: 'none' } as const;
  return { seed, sandbox, config: configOf(setting) };
}

function configOf(setting: Setting): Record<string, unknown> {
  const every = `${setting.every_hours}h`;
  const list = setting.list_days === 0 ? every : `${setting.list_days}d`;
  const each = { products: list, checkout_information: every };
  return {
    service: {
      languages: setting.languages,
      currencies: setting.currencies,
      select: { exclude_product_ids: setting.excluded },
      profile: { authorization: { header: null }, notifications: { hold: `${setting.hold_minutes}m`, retries: '15m' } },
    },
    scheduling: setting.scheduling,
    budget: { requests_per_second: 50, concurrency: 4, share: setting.share, audit: setting.audit },
    receiver: { rotate_every: `${setting.rotate_days}d`, grace: '12h' },
    rows: { publish: true },
    ...(setting.notified ? {} : { subscriptions: [] }),
    ...(setting.files ? { images: { files: true, sizes: ['small'] } } : {}),
    cadence: {
      ...each,
      product_detail: every,
      variants: every,
      experiences: every,
      tags: every,
      images: every,
      dynamic_pricing: each,
      covered: { checkout_information: `${2 * setting.every_hours}h`, variants: `${2 * setting.every_hours}h` },
      availability: {
        horizon: setting.horizon,
        near: { days: Math.min(14, Math.floor(setting.horizon / 2)), every },
        middle: { days: Math.min(31, setting.horizon), every },
        far: { every },
      },
    },
  };
}
