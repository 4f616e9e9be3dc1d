import type { CheckoutInformation } from '../domain/catalogue/checkout-information.ts';
import { isMembers, type Members } from '../domain/values/members.ts';
import { flag, missing, text } from './shape.ts';

/**
 * Decodes the checkout information of a product (specification §2); an answer without either flag has the wrong shape.
 */
export function decodeCheckoutInformation(row: Members): CheckoutInformation {
  const [has_timeslots, has_dynamic_pricing] = [flag(row.has_timeslots), flag(row.has_dynamic_pricing)];
  if (has_timeslots === null && has_dynamic_pricing === null)
    throw missing(row, 'has_timeslots or has_dynamic_pricing');
  const information = isMembers(row.additional_information) ? row.additional_information : {};
  return {
    has_timeslots,
    has_dynamic_pricing,
    must_know: text(information.must_know),
    good_to_know: text(information.good_to_know),
    document: JSON.stringify(row),
  };
}
