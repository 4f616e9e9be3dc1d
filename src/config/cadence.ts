import { z } from 'zod';
import { imageLimitMs } from '../domain/catalogue/image.ts';
import {
  coveredResources,
  dynamicResources,
  resources,
  textResources,
  type UntieredResource,
  untieredResources,
} from '../domain/schedule/resources.ts';
import { duration, durationIfSet, optionalDuration, printDuration } from './units.ts';
import {
  always,
  alwaysOfList,
  eachOnce,
  flag,
  ids,
  plainText,
  refuse,
  section,
  structure,
  whole,
  wholeIn,
} from './values.ts';

const monthly = { min: '1h', max: '28d' } as const;
/** Images are not shown after 14 days without a confirmation (specification §8): no configuration can loosen that. */
const imageLimit = { min: '1h', max: printDuration(imageLimitMs), maxIs: 'the hard limit' };
const tier = { min: '1m', max: '28d' } as const;
const daysAhead = [1, 365] as const;

const availability = section({
  horizon: whole(92, ...daysAhead).describe("Days from the venue's today."),
  near: section({ days: whole(14, ...daysAhead), every: duration('6h', tier) }).describe(
    'The dates most likely to sell out.',
  ),
  middle: section({ days: whole(31, ...daysAhead), every: duration('12h', tier) }).describe(
    'Up to a month ahead. Those in one request with near dates are read as often as near dates; this says when they are stale.',
  ),
  far: section({ every: duration('24h', tier) }).describe('The rest of the horizon, or up to beyond.days.'),
  beyond: section({ days: whole(92, ...daysAhead), every: optionalDuration(tier) }).describe(
    'The dates from beyond.days on; null: they are far dates.',
  ),
}).superRefine((value, context) => {
  const [near, middle, horizon] = [value.near?.days, value.middle?.days, value.horizon];
  // A value that is not a number has its own problem message.
  if (typeof middle !== 'number') return;
  if (typeof near === 'number' && near >= middle)
    refuse(context, ['near', 'days'], `is too far ahead; expected fewer than middle.days (${middle})`);
  if (typeof value.beyond?.days === 'number' && middle >= value.beyond.days)
    refuse(context, ['beyond', 'days'], `is not beyond the middle dates; expected more than middle.days (${middle})`);
  if (typeof horizon === 'number' && middle > horizon)
    refuse(context, ['middle', 'days'], `is beyond the horizon; expected at most ${horizon}`);
}, always);

/** Returns a key of each of these names. */
function keyed<Name extends string, Key>(
  names: readonly Name[],
  key: (name: Name) => Key,
): Readonly<Record<Name, Key>> {
  return Object.fromEntries(names.map((name) => [name, key(name)])) as Record<Name, Key>;
}

/** Returns the shortest and the longest cadence that a resource may have. */
function limitsOf(resource: UntieredResource) {
  return { ...monthly, max: printDuration(resources[resource].cadence.longest) };
}

/** `cadence`: how old each fact may become before it is read again. */
export const cadence = section({
  ...keyed(untieredResources, (name) => {
    const { every, about } = resources[name].cadence;
    return duration(printDuration(every), limitsOf(name)).describe(about);
  }),
  dynamic_pricing: section(keyed(['products', ...dynamicResources] as const, () => duration('1d', monthly))).describe(
    'For products with dynamic pricing.',
  ),
  covered: section(keyed(coveredResources, () => duration('28d', monthly))).describe(
    'For products that a working, trusted subscription covers.',
  ),
  images: duration('7d', imageLimit).describe('When images are confirmed; none is shown after 14 days.'),
  availability: availability.describe('Dates, timeslots and prices, by how far ahead they lie.'),
});

const everyIfSet = structure({ every: durationIfSet(tier) }).optional();

/** Cadences that a category may set: those of everything read per product, and of the list. */
const ownCadences = {
  ...keyed(['products', ...textResources] as const, (name) => durationIfSet(limitsOf(name))),
  images: durationIfSet(imageLimit),
  availability: structure({ near: everyIfSet, middle: everyIfSet, far: everyIfSet, beyond: everyIfSet }).optional(),
};

const category = structure({
  name: plainText().describe('Its name in figures and explanations.'),
  match: structure({
    product_ids: ids().optional(),
    experience_ids: ids().optional(),
    city_ids: ids().optional(),
    tag_ids: ids().optional(),
    supplier: plainText().optional(),
    dynamic_pricing: flag(true).unwrap().optional(),
    top_sellers: wholeIn(1, 1_000_000).optional().describe('This many of the best-selling products.'),
  })
    .refine((match) => Object.keys(match).length > 0, {
      error: 'matches everything; expected at least one condition',
    })
    .describe('A product belongs to the category if all of these hold.'),
  weight: z
    .number({ error: 'expected a number above 0' })
    .positive({ error: 'expected a number above 0' })
    .optional()
    .describe('How much harm a stale product of the category does; 1 is usual.'),
  cadence: structure(ownCadences).optional().describe('Where its cadence differs from that of everything else.'),
  horizon: wholeIn(...daysAhead).optional(),
});

/** `categories`: parts of the catalogue with a cadence of their own. */
export const categories = z
  .array(category, { error: 'expected a list of categories' })
  .superRefine(eachOnce('name'), alwaysOfList)
  .prefault([]);
