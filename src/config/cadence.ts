import { z } from 'zod';
import { imageLimitMs } from '../domain/catalogue/image.ts';
import type { ProductResource } from '../domain/schedule/resources.ts';
import { duration, durationIfSet, printDuration } from './units.ts';
import { always, areDistinct, flag, ids, plainText, section, whole, wholeIn } from './values.ts';

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
  middle: section({ days: whole(31, ...daysAhead), every: duration('12h', tier) }).describe('Up to a month ahead.'),
  far: section({ every: duration('24h', tier) }).describe('The rest of the horizon.'),
  floor: duration('15m', { min: '1m', max: '6h' }).describe(
    'Adaptive scheduling reads nothing again earlier than this.',
  ),
}).superRefine((value, context) => {
  const [near, middle, horizon] = [value.near?.days, value.middle?.days, value.horizon];
  const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path, 'days'], message });
  // What is no number has a problem of its own.
  if (typeof middle !== 'number') return;
  if (typeof near === 'number' && near >= middle)
    refuse('near', `is too far ahead; expected fewer than middle.days (${middle})`);
  if (typeof horizon === 'number' && middle > horizon)
    refuse('middle', `is beyond the horizon; expected at most ${horizon}`);
}, always);

/** `cadence`: how old each fact may become before it is read again. */
export const cadence = section({
  products: duration('7d', monthly).describe('The list walk: prices, images and sale status of everything.'),
  product_detail: duration('28d', { min: '1h', max: '90d' }).describe(
    'The single-product read, where the profile has it.',
  ),
  checkout_information: duration('7d', monthly).describe('Rules, identification, flags.'),
  variants: duration('7d', monthly).describe('Names and rules of tickets; prices change less than once a month.'),
  experiences: duration('7d', monthly).describe('Which products belong to which venue.'),
  dynamic_pricing: section({
    products: duration('1d', monthly),
    checkout_information: duration('1d', monthly),
  }).describe('For products with dynamic pricing.'),
  covered: section({
    checkout_information: duration('28d', monthly),
    variants: duration('28d', monthly),
  }).describe('For products that a working, trusted subscription covers.'),
  images: duration('7d', imageLimit).describe('When images are confirmed; none is shown after 14 days.'),
  availability: availability.describe('Dates, timeslots and prices, by how far ahead they lie.'),
});

const everyIfSet = z.strictObject({ every: durationIfSet(tier) }, { error: 'expected keys and values' }).optional();

/** What a category may say of cadences: of everything that is read product by product, and of the list. */
const ownCadences = {
  products: durationIfSet(monthly),
  product_detail: durationIfSet({ min: '1h', max: '90d' }),
  checkout_information: durationIfSet(monthly),
  variants: durationIfSet(monthly),
  images: durationIfSet(imageLimit),
  availability: z
    .strictObject({ near: everyIfSet, middle: everyIfSet, far: everyIfSet }, { error: 'expected keys and values' })
    .optional(),
} satisfies Readonly<Record<ProductResource | 'products' | 'images', z.ZodType>>;

const category = z.strictObject(
  {
    name: plainText().describe('Its name in figures and explanations.'),
    match: z
      .strictObject(
        {
          product_ids: ids().optional(),
          experience_ids: ids().optional(),
          city_ids: ids().optional(),
          tag_ids: ids().optional(),
          supplier: plainText().optional(),
          dynamic_pricing: flag(true).unwrap().optional(),
          top_sellers: wholeIn(1, 1_000_000).optional().describe('This many of the best-selling products.'),
        },
        { error: 'expected keys and values' },
      )
      .refine((match) => Object.keys(match).length > 0, {
        error: 'matches everything; expected at least one condition',
      })
      .describe('A product belongs to the category if all of these hold.'),
    weight: z
      .number({ error: 'expected a number above 0' })
      .positive({ error: 'expected a number above 0' })
      .optional()
      .describe('How much harm a stale product of the category does; 1 is usual.'),
    cadence: z
      .strictObject(ownCadences, { error: 'expected keys and values' })
      .optional()
      .describe('Where its cadence differs from that of everything else.'),
    horizon: wholeIn(...daysAhead).optional(),
  },
  { error: 'expected keys and values' },
);

/** `categories`: parts of the catalogue with a cadence of their own. */
export const categories = z
  .array(category, { error: 'expected a list of categories' })
  .refine((list) => areDistinct(list.map(({ name }) => name)), { error: 'expected each name once' })
  .prefault([]);
