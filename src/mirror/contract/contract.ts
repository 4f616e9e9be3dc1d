import { availabilityDays, availabilitySlots, bookableDays } from './dates.ts';
import {
  availabilityErrorRate,
  changes,
  currencies,
  freshness,
  languages,
  mirrorInfo,
  policies,
  subscriptions,
} from './mirror.ts';
import {
  alternatives,
  cities,
  countries,
  experiences,
  productExperiences,
  productPrices,
  products,
  productTags,
  tags,
  withdrawnProducts,
} from './products.ts';
import { checkoutInformation, experienceImages, images, variants } from './sale.ts';

/** The contract that is declared here: raised with every addition. */
export const contractVersion = 2;

/** Every table and view of the contract, in the order of the reference. */
export const contract = {
  products,
  product_prices: productPrices,
  product_tags: productTags,
  tags,
  product_experiences: productExperiences,
  experiences,
  experience_images: experienceImages,
  cities,
  countries,
  withdrawn_products: withdrawnProducts,
  alternatives,
  checkout_information: checkoutInformation,
  variants,
  images,
  availability_days: availabilityDays,
  availability_slots: availabilitySlots,
  bookable_days: bookableDays,
  languages,
  currencies,
  changes,
  policies,
  freshness,
  subscriptions,
  availability_error_rate: availabilityErrorRate,
  mirror_info: mirrorInfo,
};
