import { age, checkedAt, document, language, languageShown, productId } from './repeated.ts';
import { flag, hours, id, instant, integer, integers, json, table, text, texts, words } from './table.ts';

export const checkoutInformation = table(
  'checkout_information',
  { key: ['product_id', 'language'], rows: 'a product and language: what a sale needs to know' },
  {
    product_id: productId,
    language,
    language_shown: languageShown,
    has_timeslots: flag({ from: '$.has_timeslots', null: 'not sent' }, 'A time is chosen with the date.'),
    has_dynamic_pricing: flag({ from: '$.has_dynamic_pricing', null: 'not sent' }, 'Prices move often.'),
    must_know: text({ from: '$.additional_information.must_know', null: 'none' }, 'To be shown before the sale.'),
    good_to_know: text({ from: '$.additional_information.good_to_know', null: 'none' }, 'May be shown.'),
    pre_purchase: text(
      { from: '$.additional_information.pre_purchase', null: 'none' },
      'What to know before the purchase, beside must_know.',
    ),
    usage: text({ from: '$.additional_information.usage', null: 'none' }, 'How the ticket is used.'),
    included: text(
      { from: '$.additional_information.included', null: 'none' },
      'What the price includes; products.whats_included may say more.',
    ),
    excluded: text({ from: '$.additional_information.excluded', null: 'none' }, 'What the price does not include.'),
    post_purchase: text(
      { from: '$.additional_information.post_purchase', null: 'none' },
      'What happens after the purchase.',
    ),
    document,
    checked_at: checkedAt,
    ...age,
  },
);

export const variants = table(
  'variants',
  { key: ['product_id', 'language', 'variant_id'], rows: 'an option to buy, in a language' },
  {
    product_id: productId,
    language,
    language_shown: languageShown,
    variant_id: id({ from: '$.id' }, 'The variant.'),
    label: text({ from: '$.label', null: 'not sent' }, 'Its name.'),
    variant_type: text({ from: '$.variant_type', null: 'not sent' }, 'A word of the service: adult, child …'),
    description: text({ from: '$.description', null: 'not sent' }, 'Visitors or service that it is for.'),
    cancellation_policy: text(
      { from: '$.cancellation.policy', null: 'not sent' },
      'A word of the service, as in products; where it is sent, it holds for the variant.',
    ),
    cancellation_window: hours(
      { from: '$.cancellation.window', null: 'not sent' },
      'Before the point in time that cancellation_policy names.',
    ),
    source: words(
      ['variants', 'availability'],
      {},
      'What named it: the read of variants, or availability where that does not have it.',
    ),
    valid_with: integers(
      { from: '$.valid_with_variant_ids', null: 'not sent' },
      'The variant_ids that may be in one order with it (specification §2).',
    ),
    visitors_details: texts(
      { from: '$.requires_visitors_details', null: 'not sent' },
      'What each visitor has to give (full_name, passport_id …); no order of it goes without.',
    ),
    languages: texts({ from: '$.languages', null: 'not sent' }, 'The languages that it is offered in.'),
    group_ids: integers({ from: '$.group_ids', null: 'not sent' }, 'Its groups. Variants of one group are alike.'),
    group_names: json(
      { null: 'no name is known' },
      'An array of the names of its groups in the primary language, in the order of group_ids, null for one without a name. Default is how the service names no grouping.',
    ),
    document: json(
      {},
      'What the service sent, with members that no column shows: the read of variants over what availability adds.',
    ),
    checked_at: checkedAt,
    ...age,
  },
);

/** Columns of an image, wherever it belongs. */
const shownImage = {
  position: integer({}, 'Its place among the images that the service sent, from 0.'),
  image_key: text({}, 'The stable name of the asset.'),
  small_url: text({ from: '$.small', null: 'no such size' }, 'Address of the small size.'),
  medium_url: text({ from: '$.medium', null: 'no such size' }, 'Address of the medium size.'),
  large_url: text({ from: '$.large', null: 'no such size' }, 'Address of the large size.'),
  extra_large_url: text({ from: '$.extra_large', null: 'no such size' }, 'Address of the largest size.'),
  alt_text: text({ from: '$.alt_text', null: 'none' }, 'What it shows, for those who do not see it.'),
  credit: text({ from: '$.credit', null: 'none is asked for' }, 'Must be shown with the image.'),
};
const imageAge = {
  verified_at: instant({ byClock: true }, 'When the complete read that returned it was sent.'),
  expires_at: instant({ byClock: true }, 'From then on the row is gone.'),
  document,
};

export const experienceImages = table(
  'experience_images',
  {
    key: ['experience_id', 'position'],
    rows: 'an image of a venue that may be shown **now**: the last walk of the experiences returned it, less than 14 days ago',
  },
  { experience_id: id({}, 'The experience.'), ...shownImage, ...imageAge },
);

export const images = table(
  'images',
  {
    key: ['product_id', 'position'],
    rows: 'an image that may be shown **now**: returned by the last complete read, confirmed less than 14 days ago',
  },
  {
    product_id: productId,
    ...shownImage,
    file: text({ byClock: true, null: 'none kept' }, 'Path of a local copy within images.directory.'),
    ...imageAge,
  },
);
