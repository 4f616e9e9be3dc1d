import type { CheckoutInformation } from '../domain/catalogue/checkout-information.ts';
import { missing, WrongShape } from '../domain/service/shape.ts';
import { checkoutShape, informationShape } from '../domain/service/shapes.ts';
import { UnreadMembers } from '../domain/service/unread.ts';
import type { Members } from '../domain/values/members.ts';

/**
 * Decodes the checkout information of a product (specification §2); an answer without either flag has the wrong shape.
 * So has one whose texts cannot be read: they must be shown before a sale, and the earlier ones stay.
 */
export function decodeCheckoutInformation(row: Members): CheckoutInformation {
  if (row.has_timeslots == null && row.has_dynamic_pricing == null)
    throw missing(row, 'has_timeslots or has_dynamic_pricing');
  const [unread, texts] = [new UnreadMembers(), new UnreadMembers()];
  const { additional_information, ...flags } = checkoutShape.read(row, unread);
  if (additional_information === null && row.additional_information != null)
    throw new WrongShape('additional_information of the checkout information is no object');
  const information = informationShape.read(additional_information ?? {}, texts);
  const [unreadable] = texts.examples ?? [];
  if (unreadable !== undefined) throw new WrongShape(`${unreadable[0]} is ${unreadable[1].example}, no text`);
  return { ...flags, ...information, document: JSON.stringify(row), unread: unread.examples };
}
