import { z } from 'zod';
import { changeTypes } from '../domain/push/subscription.ts';
import { always, alwaysOfList, areDistinct, eachOnce, ids, oneOf, plainText } from './values.ts';

const subscriptionId = 'expected letters, digits, dots and dashes, at most 100';
const entities = 'expected mirrored, or a list of ids';
const subscription = z
  .strictObject(
    {
      id: z
        .string({ error: subscriptionId })
        .regex(/^[\w.-]{1,100}$/, { error: subscriptionId })
        .describe('A name of your choice.'),
      type: oneOf(['product_ids', 'experience_ids', 'products_i_sell']),
      entities: z
        .union([z.literal('mirrored'), ids().min(1, { error: entities })], { error: entities })
        .optional()
        .describe('Whose changes: every product or experience in the mirror, or these ids. Not with products_i_sell.'),
      categories: z
        .array(plainText(), { error: 'expected a list of names of categories' })
        .min(1, { error: 'expected at least one category' })
        .refine(areDistinct, { error: 'expected each category once' })
        .optional()
        .describe('With entities: mirrored, only products of these categories.'),
      city_ids: ids()
        .min(1, { error: 'expected at least one id' })
        .optional()
        .describe('Only products in these cities.'),
      country_ids: ids()
        .min(1, { error: 'expected at least one id' })
        .optional()
        .describe('Only products in these countries.'),
      change_types: z
        .array(oneOf(changeTypes), { error: 'expected a list of change types' })
        .min(1, { error: `expected at least one of ${changeTypes.join(', ')}` })
        .refine(areDistinct, { error: 'expected each change type once' })
        .default([...changeTypes]),
    },
    { error: 'expected keys and values' },
  )
  .superRefine(({ type, entities, ...subscription }, context) => {
    const refuse = (message: string, key = 'entities') => context.addIssue({ code: 'custom', path: [key], message });
    // Specification §2: required for two of the types, not to be provided for the third.
    if (type === 'products_i_sell' && entities !== undefined)
      refuse('is not allowed with products_i_sell, where the service keeps the list; expected none');
    if ((type === 'product_ids' || type === 'experience_ids') && entities === undefined)
      refuse(`is required with ${type}; expected mirrored, or a list of ids`);
    for (const key of ['categories', 'city_ids', 'country_ids'] as const)
      if (subscription[key] !== undefined && entities !== 'mirrored')
        refuse('narrows what is mirrored; expected it with entities: mirrored only', key);
  }, always);

/** The subscriptions that are declared. */
export const subscriptions = z
  .array(subscription, { error: 'expected a list of subscriptions' })
  .superRefine(eachOnce('id'), alwaysOfList)
  .default([]);
