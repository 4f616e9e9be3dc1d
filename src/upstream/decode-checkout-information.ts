import type { CheckoutInformation } from '../domain/catalogue/checkout-information.ts';
import { isMembers } from '../domain/values/members.ts';
import { answered, flag, missing, text } from './shape.ts';

/**
 * Decodes the checkout information of a product (specification §2); an answer without either flag has the wrong shape.
 */
export function decodeCheckoutInformation(json: unknown): CheckoutInformation {
  const { success: _, ...rest } = answered(json);
  const [has_timeslots, has_dynamic_pricing] = [flag(rest.has_timeslots), flag(rest.has_dynamic_pricing)];
  if (has_timeslots === null && has_dynamic_pricing === null)
    throw missing(rest, 'has_timeslots or has_dynamic_pricing');
  const information = isMembers(rest.additional_information) ? rest.additional_information : {};
  return {
    has_timeslots,
    has_dynamic_pricing,
    must_know: text(information.must_know),
    good_to_know: text(information.good_to_know),
    document: JSON.stringify(rest),
  };
}
