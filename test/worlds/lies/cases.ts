import { roll } from '../../../src/sandbox/random.ts';
import type { FaultRule } from '../../../src/sandbox/rough/faults.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { SandboxProduct } from '../../../src/sandbox/world/catalogue.ts';
import type { Bounds } from './judge.ts';

/*
 * Every answer that removes data, as something that happens at the service: the code that reads it and the code
 * that judges it (judge.ts) are told nothing but what the service says, and what was so.
 */

/** The service at the beginning of a case, and what a case does with it. */
export interface CaseScene {
  readonly sandbox: Sandbox;
  /** Products on sale, in an order drawn by the seed. */
  readonly products: readonly SandboxProduct[];
  /** Has something happen so many hours after the beginning. */
  at(hours: number, act: () => void): void;
  /** Somebody asks for everything anew. */
  sweep(): void;
}

export interface Case {
  readonly name: string;
  /** How many products the service has. */
  readonly products: number;
  readonly hours: number;
  readonly bounds: Bounds;
  /** Changes the service before the mirror is filled, which the case begins with; else it begins with a filled mirror. */
  before?(sandbox: Sandbox): void;
  begin(scene: CaseScene): void;
}

const hour = 3_600_000;
const day = 24;
/** Enough that a whole catalogue is one: at least 60 records of each kind. */
const many = 90;

/** How long a read may take by its cadence. A median of 6.4 h was simulated at a cadence of 6 h, of 24 h at one of 24. */
const byItsRead = { 'near dates': 6.4, 'near price': 6.4, 'far dates': 24, 'far price': 24 };
/** An edit is held for 5 minutes, announced, and read. */
const announced = { texts: 0.5 };
const lateBy = (near: number) => ({ 'near dates': near, 'far dates': near + day });

/** Of each product: the limit is a tenth, and what was believed below it lasts until the next read. */
function tenthOf(hours: number): Bounds['wrong'] {
  const [near, far] = [(hours + 6) / 10, (hours + day) / 10];
  return {
    'near dates': near,
    'near price': near,
    'far dates': far,
    'far price': far,
    status: far,
    texts: far,
    variants: far,
  };
}

/**
 * Something that the service says and that is not so, for some hours. Beside it small changes go on: `late` bounds those
 * that the lie does not hide.
 */
function lie(
  name: string,
  { hours, sweep = false, late = announced }: { hours: number; sweep?: boolean; late?: Bounds['late'] },
  ...faults: readonly FaultRule[]
): Case {
  return {
    name,
    products: many,
    hours: hours + 14,
    bounds: { late, wrong: tenthOf(hours) },
    begin: (scene) => {
      everyDay(scene);
      scene.at(1, () => {
        for (const fault of faults) scene.sandbox.faults.add({ until_ms: hours * hour, ...fault });
        if (sweep) scene.sweep();
      });
    },
  };
}

/** Something that is so from one moment on, of a share of the products. */
function truth(
  name: string,
  late: Bounds['late'],
  begin: (scene: CaseScene) => void,
  { products = many, hours = 36 }: { products?: number; hours?: number } = {},
): Case {
  return { name, products, hours, bounds: { late, wrong: {} }, begin };
}

/** Each hour a text is edited, which is announced, and a price rises a little, which is not. */
function everyDay({ at, products, sandbox }: CaseScene): void {
  for (const [index, product] of products.slice(-8).entries())
    at(index + 0.5, () => {
      sandbox.world.edit(product.id, { field: 'must_know', value: `As of hour ${index}.` });
      multiply([product], () => 1.05);
    });
}

const shareOf = (products: readonly SandboxProduct[], share: number) =>
  products.slice(0, Math.round(products.length * share));

/** Takes products off sale, and nothing announces it. */
function close(products: readonly SandboxProduct[]): void {
  for (const product of products) Object.assign(product, { status: 'unavailable', reason: 'temporary_closure' });
}

function open(products: readonly SandboxProduct[]): void {
  for (const product of products) Object.assign(product, { status: 'available', reason: null });
}

function multiply(products: readonly SandboxProduct[], factor: (product: SandboxProduct) => number): void {
  for (const product of products) product.price = Math.round(product.price * factor(product));
}

/** Closes a share without a word. */
const closing = (name: string, share: number, near: number) =>
  truth(name, lateBy(near), ({ at, products }) => at(1, () => close(shareOf(products, share))), { hours: 40 });

/** Closes all of a small catalogue for a day. */
const closingAll = (count: number) =>
  truth(
    `all of ${count} products close for a day`,
    { 'near dates': 10 },
    ({ at, products }) => {
      at(1, () => close(products));
      at(1 + day, () => open(products));
    },
    { products: count, hours: 36 },
  );

const status = (status: number, path: string, headers: Record<string, string> = {}): FaultRule => ({
  kind: 'status',
  status,
  path,
  headers,
});

/** Product of every generated catalogue that no other one precedes. */
const first = 703_295;

const sweep = { hours: 1, sweep: true };
const throttled = { hours: 12, sweep: true, late: { ...byItsRead, ...announced } };

export const cases: readonly Case[] = [
  // Section 1.
  lie('no dates, one sweep', sweep, { kind: 'no-dates' }),
  lie('all off sale, one sweep', sweep, { kind: 'off-sale' }),
  lie('prices × 0.01, one sweep', sweep, { kind: 'prices', factor: 0.01 }),
  lie('prices × 100, one sweep', sweep, { kind: 'prices', factor: 100 }),
  lie('prices in USD, one sweep', sweep, { kind: 'currency', currency: 'USD' }),
  lie(
    'no texts and no variants, one sweep',
    { ...sweep, late: byItsRead },
    { kind: 'no-texts' },
    { kind: 'no-variants' },
  ),
  lie('all off sale for 25 seconds', sweep, { kind: 'off-sale', until_ms: 25_000 }),
  refused('checkout information of one product refused', status(401, `/${first}/checkout_information`)),
  refused('the list of experiences refused', status(401, '^/v2/experiences')),
  lie('one product throttled, with Retry-After', throttled, status(429, `/${first}/`, { 'retry-after': '3600' })),
  lie('one product throttled', throttled, status(429, `/${first}/`)),
  // Section 5.
  lie('no dates for 1 h', { hours: 1 }, { kind: 'no-dates' }),
  lie('no dates for 5 h', { hours: 5 }, { kind: 'no-dates' }),
  lie('no dates for 30 h', { hours: 30 }, { kind: 'no-dates' }),
  lie(
    'a third of the answers without dates for 30 h',
    { hours: 30 },
    { kind: 'no-dates', of: 'answers', share: 1 / 3 },
  ),
  lie('no dates for 30 h, now and then', { hours: 30 }, { kind: 'no-dates', flap_ms: 5 * 60_000 }),
  lie('prices × 0.01 for 1 h', { hours: 1 }, { kind: 'prices', factor: 0.01 }),
  lie('prices × 0.01 for 30 h', { hours: 30 }, { kind: 'prices', factor: 0.01 }),
  // Section 4.
  truth('a strike closes 8 % within an hour', lateBy(6.4), ({ at, products }) =>
    shareOf(products, 0.08).forEach((product, index) => void at(1 + index / 8, () => close([product]))),
  ),
  truth('12 % close as announced', { 'near dates': 0.5, 'far dates': 0.5 }, ({ at, products, sandbox }) =>
    at(1, () => {
      for (const { id } of shareOf(products, 0.12)) sandbox.world.disable(id, { expected_reopening: 'within_month' });
    }),
  ),
  truth('a date of nearly every product sells out', byItsRead, ({ at, products, sandbox }) =>
    at(1, () => {
      for (const product of products) {
        const sold = sandbox.world.days(product, ...nearDates(sandbox.world.clock.now()), 'EUR');
        if (sold[2] !== undefined) product.sold_out.add(sold[1]?.date ?? '');
      }
    }),
  ),
  closing('15 % close without a word', 0.15, 7.9),
  closing('40 % close without a word', 0.4, 9.2),
  closing('60 % close without a word', 0.6, 8.9),
  truth('a sale week: 20 % off 30 % of the products', byItsRead, ({ at, products }) =>
    at(1, () => multiply(shareOf(products, 0.3), () => 0.8)),
  ),
  truth('a new year’s list: 3 to 6 % more', byItsRead, ({ at, products }) =>
    at(1, () => multiply(products, ({ id }) => 1.03 + 0.03 * roll(1, id, 'list'))),
  ),
  truth('a currency moves by 4 %', byItsRead, ({ at, products }) => at(1, () => multiply(products, () => 1.04))),
  {
    ...truth('a season is released in a night', byItsRead, ({ at, products }) =>
      at(2, () => {
        for (const product of products) product.sold_out.clear();
      }),
    ),
    before: ({ world, products }) => {
      for (const product of products())
        for (const { date } of world.days(product, ...farDates(world.clock.now()), 'EUR')) product.sold_out.add(date);
    },
  },
  truth(
    'prices × 2.2 for 60 %',
    { 'near price': 31 },
    ({ at, products }) => at(1, () => multiply(shareOf(products, 0.6), () => 2.2)),
    { hours: 48 },
  ),
  closingAll(1),
  closingAll(5),
  closingAll(20),
];

/** A first fill during which something is refused: it delays nothing else. */
function refused(name: string, fault: FaultRule): Case {
  return {
    name,
    products: many,
    hours: 4,
    bounds: { late: { 'near dates': 1, 'far dates': 1, texts: 1, variants: 1 }, wrong: {} },
    before: ({ faults }) => faults.add(fault),
    begin: () => undefined,
  };
}

const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10);
const ahead = (now: number, from: number, to: number): readonly [string, string] => [
  dateOf(now + from * day * hour),
  dateOf(now + to * day * hour),
];

/** Dates of one answer each, the near ones and later ones, for three days from `now` on. */
export const nearDates = (now: number) => ahead(now, 4, 27);
export const farDates = (now: number) => ahead(now, 36, 58);
