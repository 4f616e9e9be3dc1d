import { describe, expect, it } from 'vitest';
import { notifiedHarness } from '../fakes/notified-harness.ts';
import { someOf } from '../fakes/thorough.ts';
import { judge, otherThan } from './shapes/judge.ts';
import type { AnswerName } from './shapes/members.ts';
import { type Case, liveThrough, type Scope, type Target, type Trial } from './shapes/trial.ts';

/*
 * Ways to write a member otherwise than the sandbox does, each with the right reading: those of the issue on unreadable
 * answers, and more of each kind.
 */

/**
 * What a spelling means. `same`: another value, in the sandbox's spelling. `absent`: as if the member were left out.
 * `unreadable`: judged as such. `hidden`: the image is not shown. `told`: nothing changes, and the daemon says something.
 * `unchanged`: nothing changes.
 */
type Means = { readonly same: unknown } | 'absent' | 'unreadable' | 'hidden' | 'told' | 'unchanged' | Check;
type Check = (trial: Trial) => void;
type Spelling = readonly [value: unknown, means: Means, scopes?: readonly Scope[]];

const everywhere: readonly Scope[] = ['one', 'product', 'all'];
const same = (as: unknown): Means => ({ same: as });
const number = (count: number): Means => same(count);

const flags: readonly Spelling[] = [
  [1, same(true), everywhere],
  [0, same(false)],
  ['true', same(true), everywhere],
  ['false', same(false)],
  ['TRUE', same(true)],
  ['False', same(false)],
  ['yes', same(true)],
  ['No', same(false)],
];
const places: readonly Spelling[] = [
  ['0', number(0)],
  [0, number(0)],
  [-2, number(0)],
  ['-2', number(0)],
  ['7', number(7), everywhere],
  [JSON.rawJSON('7.0'), number(7)],
  [null, 'absent'],
  [7.5, 'unreadable'],
  ['7 left', 'unreadable', everywhere],
  ['many', 'unreadable', everywhere],
  [[7], 'unreadable'],
  [{ left: 7 }, 'unreadable', everywhere],
  [true, 'unreadable'],
  [1e21, 'unreadable'],
  [JSON.rawJSON('1e400'), 'unreadable'],
];
const limits: readonly Spelling[] = [
  ['0', number(0)],
  ['4', number(4), everywhere],
  [-1, 'unreadable', everywhere],
  ['-1', 'unreadable'],
  [null, 'absent'],
  ['unlimited', 'unreadable', everywhere],
  [2.5, 'unreadable'],
  [{ max: 4 }, 'unreadable'],
  [JSON.rawJSON('1e400'), 'unreadable'],
];
const money: readonly Spelling[] = [
  [39.989999999999995, same(39.99), everywhere],
  ['39.99', same(39.99), everywhere],
  ['39.990', same(39.99)],
  ['39', same(39)],
  [JSON.rawJSON('39.9900'), same(39.99)],
  [19.900000000000002, same(19.9)],
  [39.994, 'unreadable', everywhere],
  ['39.994', 'unreadable'],
  ['39,99', 'unreadable'],
  ['EUR 39.99', 'unreadable'],
  ['free', 'unreadable', everywhere],
  ['', 'unreadable'],
  [{ amount: 39.99, currency: 'EUR' }, 'unreadable', everywhere],
  [[39.99], 'unreadable'],
];

/** Returns the instant at which a date's time of day comes in a zone. */
function instantIn(zone: string, date: string, time: string): number {
  return Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(zone).epochMilliseconds;
}

function untilOf({ after, target: { product_id, date } }: Trial, time: string): unknown {
  return after.rows.slot_day?.get(`${product_id} ${date} EUR ${time}:00`)?.until;
}

const nextDay: Check = ({ after, target: { product_id, date, variant_id } }) => {
  const next = Temporal.PlainDate.from(date).add({ days: 1 }).toString();
  const slots = [...(after.rows.availability_slots?.keys() ?? [])].filter((key) => key.startsWith(`${product_id} `));
  expect(slots).toContain(`${product_id} ${next} EUR 00:00 ${variant_id}`);
  expect(slots.filter((key) => key.includes(' 24:00 '))).toEqual([]);
};

const zoneOf = ({ product_id }: Target, { before }: Trial) =>
  String(before.rows.products?.get(`${product_id} en`)?.timezone);

/** The slot's own zone decides when its time has come, and that it is not the product's is said. */
const decidesInKiritimati: Check = (trial) => {
  const { target, said } = trial;
  expect(zoneOf(target, trial)).not.toBe('Pacific/Kiritimati');
  expect(untilOf(trial, target.time)).toBe(instantIn('Pacific/Kiritimati', target.date, target.time));
  expect(said).not.toEqual([]);
};

/** An offset that is not the zone's is said; what is sold is sold no longer than by the zone. */
const toldOffset: Check = ({ said }) => expect(said).not.toEqual([]);

const times: readonly Spelling[] = [
  ['09:30:00', same('09:30'), everywhere],
  ['9:05', same('09:05'), everywhere],
  ['9:05:00', same('09:05')],
  ['12:01 AM', same('00:01')],
  ['11:59 PM', same('23:59'), everywhere],
  ['9:30 am', same('09:30')],
  ['12:00 PM', same('12:00')],
  ['09:30PM', same('21:30')],
  ['24:00', nextDay],
  ['09:30+13:00', toldOffset],
  ['25:30', 'unreadable', everywhere],
  ['09:60', 'unreadable'],
  ['13:00 PM', 'unreadable'],
  ['noon', 'unreadable', everywhere],
  [930, 'unreadable'],
  [{ hour: 9, minute: 30 }, 'unreadable'],
  ['whole_day', same('whole_day')],
];
const zones: readonly Spelling[] = [
  ['Pacific/Kiritimati', decidesInKiritimati, ['product']],
  ['europe/rome', same('Europe/Rome'), ['product', 'all']],
  ['EUROPE/ROME', same('Europe/Rome'), ['product']],
  ['Mars/Phobos', 'unreadable', everywhere],
  [2, 'unreadable', ['product']],
  [{ name: 'Europe/Rome' }, 'unreadable', ['product']],
  ['', 'absent', ['product']],
];
const rights: readonly Spelling[] = [
  [false, 'hidden', everywhere],
  ['no', 'hidden'],
  ['false', 'hidden'],
  [0, 'hidden'],
  [true, 'unchanged'],
  ['yes', 'unchanged'],
];
const credits: readonly Spelling[] = [
  [{ name: 'A. Example', license: 'CC BY 4.0' }, same('A. Example'), everywhere],
  [['A. Example', 'B. Example'], same('A. Example, B. Example')],
  [['A. Example'], same('A. Example')],
  [null, 'absent'],
  ['', 'absent'],
  [{ id: 7 }, 'unreadable'],
  [7, 'unreadable'],
  [true, 'unreadable'],
  [[{ id: 7 }], 'unreadable'],
];

/** Members, and their spellings. */
const table: readonly (readonly [AnswerName, path: string, spellings: readonly Spelling[]])[] = [
  ['availability', 'dates[].availability', places],
  ['availability', 'dates[].timeslots[].availability', places.filter((_, index) => index % 2 === 0)],
  ['availability', 'dates[].timeslots[].variants[].max_tickets', limits],
  ['availability', 'max_tickets_per_order', limits.slice(0, 6)],
  ['availability', 'dates[].timeslots[].time', times],
  ['availability', 'dates[].timeslots[].timezone', zones],
  ['availability', 'dates[].timeslots[].variants[].price_mediation.total_retail_price_incl_vat', money],
  ['availability', 'sales_enabled', [...flags.map(([value, means]): Spelling => [value, means, ['product']]), ['maybe', 'unreadable', ['product', 'all']], [2, 'unreadable', ['product']], [{}, 'unreadable', ['product', 'all']]]],
  ['checkout_information', 'has_timeslots', [...flags, ['sometimes', 'unreadable', everywhere], [[true], 'unreadable']]],
  ['product', 'product.price', money.slice(0, 8)],
  ['products', 'products[].tag_ids[]', [['39,99', 'unreadable'], ['x', 'unreadable', everywhere]]],
  ['experiences', 'experiences[].images[].large', [[{}, 'unreadable']]],
  ['experiences', 'experiences[].images[].status', [['featured', 'told', everywhere]]],
  ['product', 'product.images[].published', rights],
  ['product', 'product.images[].visible', rights.slice(1, 4)],
  ['product', 'product.images[].status', [['unpublished', 'hidden', everywhere], ['Withdrawn', 'hidden'], ['published', 'unchanged'], ['featured', 'told', everywhere]]],
  ['product', 'product.images[].credit', credits],
  ['product', 'product.images[].credits', [[null, 'unchanged']]],
  ['products', 'api_version', [[{ major: 2, minor: 8, patch: '0' }, 'unchanged', ['all']]]],
]; // biome-ignore format: a table

const cases = table.flatMap(([answer, path, spellings]) =>
  spellings.flatMap(([value, means, scopes = ['one']]) =>
    scopes.map((scope) => {
      const asked: Case = { answer, path, value, scope };
      return { name: `${path} ${JSON.stringify(value)}, in ${scope}`, asked, means };
    }),
  ),
);

/** Returns the first image of the target: the one that a case in one record changes. */
const imageOf = ({ before, target: { product_id } }: Trial) =>
  [...(before.rows.images?.values() ?? [])].find((image) => image.product_id === product_id && image.position === 0);

async function hold({ asked, means }: (typeof cases)[number]): Promise<void> {
  const trial = await liveThrough(asked);
  expect(trial.replaced).toBeGreaterThan(0);
  if (typeof means === 'function') return means(trial);
  if (means === 'unreadable') return void expect(judge(asked, trial, null)).toEqual([]);
  if (means === 'hidden') {
    const key = `${trial.target.product_id} ${imageOf(trial)?.image_key}`;
    expect(trial.before.rows.images?.has(key)).toBe(true);
    return void expect(trial.after.rows.images?.has(key)).toBe(false);
  }
  if (means === 'told' || means === 'unchanged') {
    expect(trial.after.rows).toEqual(trial.before.rows);
    return void (means === 'told' && expect(trial.said).not.toEqual([]));
  }
  const meant = await liveThrough({ ...asked, value: means === 'absent' ? undefined : means.same });
  expect(otherThan(meant, trial)).toEqual([]);
}

describe('another spelling of', () => {
  it.each(someOf(cases))('$name is read right', hold, 60_000);
});

describe('a subscription that the service calls', () => {
  const hour = 3_600_000;
  const words: readonly (readonly [word: unknown, relied: boolean])[] = [
    ['active', true],
    ['ACTIVE', true],
    [' Active ', true],
    ['DEGRADED', false],
    ['Failed', false],
    ['suspended', false],
    ['revoked', false],
    ['disabled', false],
    ['paused', false],
    ['pending', false],
    [7, false],
    [{ state: 'active' }, false],
  ];
  it.each(someOf(words))(
    '%j is relied on: %j',
    async (word, relied) => {
      await using test = await notifiedHarness();
      const { harness } = test;
      await test.live(hour, 600_000);
      const covered = () => harness.daemon.mirror.push.coverage.covered();
      expect(covered()).toBeGreaterThan(0);
      const { faults } = harness.sandbox;
      const lied = faults.lied.bind(faults);
      faults.lied = (method, address, body) =>
        address.includes('product-change-notification')
          ? JSON.stringify({ ...JSON.parse(lied(method, address, body)), status: word })
          : lied(method, address, body);
      await test.live(25 * hour, 1_800_000);
      expect(covered() > 0).toBe(relied);
    },
    60_000,
  );
});
