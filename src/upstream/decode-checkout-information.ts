import type { CheckoutInformation, SharedMembers } from '../domain/catalogue/checkout-information.ts';
import { missing, WrongShape } from '../domain/service/shape.ts';
import { checkoutShape, informationShape } from '../domain/service/shapes.ts';
import { UnreadMembers } from '../domain/service/unread.ts';
import type { Members } from '../domain/values/members.ts';

/** Returns which of the undeclared members of an answer are not the product's own. */
type SharedIn = (undeclared: Members) => SharedMembers;
const none: SharedIn = () => ({ common: [], unsure: [] });

/** Members that are about the product, also where all products have the same value. */
const payload = new Set([
  ...Object.keys(checkoutShape.members),
  ...[
    'starting_point',
    'usage',
    'pre_purchase',
    'post_purchase',
    'included',
    'excluded',
    'whats_included',
    'whats_excluded',
  ],
]);

/**
 * Decodes the checkout information of a product (specification §2); an answer without either flag has the wrong shape.
 * So has one whose texts cannot be read: they must be shown before a sale, and the earlier ones stay.
 */
export function decodeCheckoutInformation(row: Members, sharedIn: SharedIn = none): CheckoutInformation {
  if (row.has_timeslots == null && row.has_dynamic_pricing == null)
    throw missing(row, 'has_timeslots or has_dynamic_pricing');
  const [unread, texts] = [new UnreadMembers(), new UnreadMembers()];
  const { additional_information, ...flags } = checkoutShape.read(row, unread);
  if (additional_information === null && row.additional_information != null)
    throw new WrongShape('additional_information of the checkout information is no object');
  const information = informationShape.read(additional_information ?? {}, texts);
  const [unreadable] = texts.examples ?? [];
  if (unreadable !== undefined) throw new WrongShape(`${unreadable[0]} is ${unreadable[1].example}, no text`);
  const { common, unsure } = sharedIn(Object.fromEntries(Object.entries(row).filter(([name]) => !payload.has(name))));
  const shared = common.length + unsure.length === 0 ? {} : { shared: { common, unsure } };
  return { ...flags, ...information, document: JSON.stringify(row), ...shared, unread: unread.examples };
}
