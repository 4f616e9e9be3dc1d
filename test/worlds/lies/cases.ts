import { roll } from '../../../src/sandbox/random.ts';
import type { FaultRule } from '../../../src/sandbox/rough/faults.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { SandboxProduct } from '../../../src/sandbox/world/catalogue.ts';
import type { Subject } from '../../../src/trust/claims.rules.ts';
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
  /** A person approves what is held. */
  approve(): void;
}

export interface Case {
  readonly name: string;
  /** For the report alone. */
  readonly kind: 'lie' | 'truth';
  /** How many products the service has. */
  readonly products: number;
  readonly hours: number;
  readonly bounds: Bounds;
  /** True: the service has all dates of a usual calendar, which take longer to read; else only some. */
  readonly dense?: boolean;
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
    'near times': near,
    types: far,
    zone: far,
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
  {
    hours,
    sweep = false,
    late = announced,
    dense = false,
    tells,
  }: { hours: number; sweep?: boolean; dense?: boolean; late?: Bounds['late']; tells?: readonly Subject[] },
  ...faults: readonly FaultRule[]
): Case {
  return {
    name,
    kind: 'lie',
    products: dense ? 66 : many,
    dense,
    hours: hours + 14,
    bounds: { late, wrong: tells === undefined ? tenthOf(hours) : shownOf(hours, tells), ...(tells && { tells }) },
    begin: (scene) => {
      everyDay(scene);
      scene.at(1, () => {
        for (const fault of faults) scene.sandbox.faults.add({ until_ms: hours * hour, ...fault });
        if (sweep) scene.sweep();
      });
    },
  };
}

/** What is shown although the service is wrong, because it does little harm: reported while it lasts, and until the next read. */
function shownOf(hours: number, tells: readonly Subject[]): Bounds['wrong'] {
  const isPrices = tells.some((subject) => subject.endsWith('prices'));
  const all = hours + day;
  return isPrices ? { 'near price': all, 'far price': all } : {};
}

/** Something that is so from one moment on, of a share of the products. */
function truth(
  name: string,
  late: Bounds['late'],
  begin: (scene: CaseScene) => void,
  { products = many, hours = 36 }: { products?: number; hours?: number } = {},
): Case {
  return { name, kind: 'truth', products, hours, bounds: { late, wrong: {} }, begin };
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

/** Moves products to another time zone. */
function moveZone(products: readonly SandboxProduct[]): void {
  for (const product of products) Object.assign(product, { place: { ...product.place, zone: 'Atlantic/Azores' } });
}

/** Sells out the dates of products whose position the test picks. */
function sellOut({ world }: Sandbox, products: readonly SandboxProduct[], picks: (index: number) => boolean): void {
  const now = world.clock.now();
  for (const product of products)
    for (const { date } of world.days(product, ...ahead(now, 0, 92), 'EUR'))
      if (picks(Math.round((Date.parse(date) - now) / (day * hour)))) product.sold_out.add(date);
}

/** Products that are closed, on sale for some hours, and closed again: how they closed is known, so nothing is held. */
function reopened(count: number, hours: number): Case {
  const name = `${count} closed products are shown on sale for ${hours} h, then closed again`;
  const late = { 'near dates': 1, 'far dates': 1, status: 1 };
  return {
    ...truth(
      name,
      late,
      ({ at, sandbox, sweep }) => {
        const closed = sandbox
          .products()
          .filter(({ reason }) => reason === 'temporary_closure')
          .slice(0, count);
        at(4, () => {
          open(closed);
          sweep();
        });
        at(4 + hours, () => {
          close(closed);
          sweep();
        });
      },
      { hours: hours + 20 },
    ),
    before: ({ products }) =>
      close(
        products()
          .filter(({ status }) => status === 'available')
          .slice(0, count),
      ),
  };
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
const everywhere = (member: string, text: string): FaultRule => ({ kind: 'one-value', member, text });
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
  // Section 6: parts.
  lie('answers cut to three dates, one sweep', { ...sweep, dense: true }, { kind: 'cut-dates' }),
  lie('answers cut to three dates for 30 h', { hours: 30, dense: true }, { kind: 'cut-dates' }),
  lie(
    'a third of the answers cut to three dates for 5 h',
    { hours: 5, dense: true },
    { kind: 'cut-dates', of: 'answers', share: 1 / 3 },
  ),
  lie('no weekends, one sweep', { ...sweep, dense: true }, { kind: 'no-weekends' }),
  lie('no weekends for 5 h', { hours: 5, dense: true }, { kind: 'no-weekends' }),
  lie('one time a date, one sweep', { ...sweep, dense: true }, { kind: 'cut-times' }),
  lie('one time a date for 30 h', { hours: 30, dense: true }, { kind: 'cut-times' }),
  lie('one time a date for 5 h, now and then', { hours: 5, dense: true }, { kind: 'cut-times', flap_ms: 20 * 60_000 }),
  lie('answers cut to twelve dates, one sweep', { ...sweep, dense: true }, { kind: 'cut-dates', left: 12 }),
  lie('one variant a product, one sweep', { ...sweep, dense: true, late: byItsRead }, { kind: 'one-variant' }),
  lie('one variant a product for 12 h', { hours: 12, dense: true }, { kind: 'one-variant' }),
  lie('texts cut to four characters, one sweep', { ...sweep, late: byItsRead }, { kind: 'cut-texts' }),
  lie('texts cut to four characters for 12 h', { hours: 12 }, { kind: 'cut-texts' }),
  // Alike.
  lie('prices × 0.6, one sweep', sweep, { kind: 'prices', factor: 0.6 }),
  lie('prices × 0.6 for 30 h', { hours: 30 }, { kind: 'prices', factor: 0.6 }),
  lie('prices × 1.9, one sweep', sweep, { kind: 'prices', factor: 1.9 }),
  lie('prices × 1.9 for 5 h, now and then', { hours: 5 }, { kind: 'prices', factor: 1.9, flap_ms: 20 * 60_000 }),
  lie('every price 0.01, one sweep', sweep, { kind: 'prices', amount: 0.01 }),
  lie('prices × 1.08 for 12 h', { hours: 12, tells: ['alike-near-prices'] }, { kind: 'prices', factor: 1.08 }),
  lie('titles TEST, one sweep', { ...sweep, tells: ['alike-titles'] }, everywhere('title', 'TEST')),
  lie('taglines TEST, one sweep', { ...sweep, tells: ['alike-texts'] }, everywhere('tagline', 'TEST')),
  lie('one image for all, one sweep', { ...sweep, tells: ['alike-images'] }, { kind: 'one-image' }),
  lie('must-know texts TEST, one sweep', { ...sweep, late: byItsRead }, everywhere('must_know', 'TEST')),
  lie(
    'must-know texts another one, one sweep',
    { ...sweep, late: byItsRead },
    everywhere('must_know', 'No dogs, ever.'),
  ),
  lie('zones UTC, one sweep', sweep, everywhere('timezone', 'UTC')),
  lie('zones UTC for 5 h', { hours: 5 }, everywhere('timezone', 'UTC')),
  lie('variant types other, one sweep', { ...sweep, late: byItsRead }, everywhere('variant_type', 'other')),
  lie('variant types other for 12 h', { hours: 12 }, everywhere('variant_type', 'other')),
  // Foreign.
  lie('dates of one product under a fifth of the others, one sweep', sweep, { kind: 'another-product', share: 0.2 }),
  lie(
    'dates of one product under a fifth of the others for 5 h',
    { hours: 5 },
    { kind: 'another-product', share: 0.2 },
  ),
  lie('dates of one product under half of the others for 12 h', { hours: 12 }, { kind: 'another-product', share: 0.5 }),
  lie('dates of one product under three others, one sweep', sweep, { kind: 'another-product', share: 0.03 }),
  // The way back.
  reopened(18, 2),
  reopened(40, 12),
  // Truths of section 6.
  truth('a third of the products lose half of their dates', lateBy(12), ({ at, products, sandbox }) =>
    at(1, () => sellOut(sandbox, shareOf(products, 0.33), (index) => index % 2 === 0)),
  ),
  truth('15 % of the products lose most of their dates', lateBy(12), ({ at, products, sandbox }) =>
    at(1, () => sellOut(sandbox, shareOf(products, 0.15), (index) => index % 10 !== 0)),
  ),
  truth('three holidays on which all are closed', byItsRead, ({ at, products, sandbox }) =>
    at(1, () => sellOut(sandbox, products, (index) => index >= 10 && index < 12)),
  ),
  truth('20 % off all products of a partner with 8', byItsRead, ({ at, products }) =>
    at(1, () => multiply(products.slice(0, 8), () => 0.8)),
  ),
  truth('a sale: 20 % off 60 % of the products', { 'near price': 10, 'far price': 34 }, ({ at, products }) =>
    at(1, () => multiply(shareOf(products, 0.6), () => 0.8)),
  ),
  truth('prices of each product moved by a ratio of its own', byItsRead, ({ at, products }) =>
    at(1, () => multiply(products, ({ id }) => 0.7 + 0.6 * roll(1, id, 'repriced'))),
  ),
  truth('must-know texts all written anew', { texts: 26 }, ({ at, products, sandbox }) =>
    at(1, () => {
      for (const { id } of products)
        sandbox.world.edit(id, { field: 'must_know', value: `Bring a photo ID to the entrance of hall ${id}.` });
    }),
  ),
  truth('a brand behind all titles', { status: 0 }, ({ at, products }) =>
    at(1, () => {
      for (const product of products) product.title = `${product.title} by Sandbox`;
    }),
  ),
  truth('all texts translated anew', { texts: 26 }, ({ at, products, sandbox }) =>
    at(1, () => {
      for (const product of products) {
        const { id, title } = product;
        const edit = (field: 'description' | 'must_know' | 'good_to_know', value: string) =>
          sandbox.world.edit(id, { field, value });
        Object.assign(product, { title: `Eintritt: ${title}`, tagline: `Alles über ${title}` });
        edit('description', `Eine Führung durch ${title}.`);
        edit('must_know', `Ein Ausweis ist am Eingang von Halle ${id} zu zeigen.`);
        edit('good_to_know', `Halle ${id} ist beheizt.`);
      }
    }),
  ),
  truth('a city of 8 products changes its zone', { zone: 24 }, ({ at, products }) =>
    at(1, () => moveZone(products.slice(0, 8))),
  ),
  truth(
    'a country of half of the products changes its zone, approved after 3 h',
    { zone: 28 },
    ({ at, products, sweep, approve }) => {
      at(1, () => {
        moveZone(shareOf(products, 0.5));
        sweep();
      });
      at(4, approve);
    },
  ),
  truth(
    'a price list in new units, approved after 3 h',
    { 'near price': 4, 'far price': 28 },
    ({ at, products, sweep, approve }) => {
      at(1, () => {
        multiply(products, () => 100);
        sweep();
      });
      at(4, approve);
    },
  ),
  closingAll(1),
  closingAll(5),
  closingAll(20),
];

export function caseOf(name: string): Case {
  const found = cases.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no case ${name}`);
  return found;
}

/** A first fill during which something is refused: it delays nothing else. */
function refused(name: string, fault: FaultRule): Case {
  return {
    name,
    kind: 'lie',
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
