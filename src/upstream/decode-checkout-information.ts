import type { CheckoutInformation } from '../domain/catalogue/checkout-information.ts';
import { isMembers } from '../domain/values/members.ts';
import { answered, flag, text, WrongShape } from './shape.ts';

/**
 * Decodes the checkout information of a product (specification §2); an answer without either flag has the wrong shape.
 */
export function decodeCheckoutInformation(json: unknown): CheckoutInformation {
  const { success: _, ...rest } = answered(json);
  const [has_timeslots, has_dynamic_pricing] = [flag(rest.has_timeslots), flag(rest.has_dynamic_pricing)];
  if (has_timeslots === null && has_dynamic_pricing === null)
    throw new WrongShape('has_timeslots and has_dynamic_pricing are missing');
  const information = isMembers(rest.additional_information) ? rest.additional_information : {};
  return {
    has_timeslots,
    has_dynamic_pricing,
    must_know: text(information.must_know),
    good_to_know: text(information.good_to_know),
    document: JSON.stringify(rest),
  };
}
