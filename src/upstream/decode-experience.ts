import type { Experience } from '../domain/catalogue/experience.ts';
import type { MayPublish } from '../domain/push/public-address.ts';
import { identifier } from '../domain/values/identifier.ts';
import { isMembers } from '../domain/values/members.ts';
import { pageAddress } from '../domain/values/page-address.ts';
import type { ReadRows } from './adapter/service-asker.ts';
import { decodeImages, decodePage, type Page, rated } from './decode-product.ts';
import { elements, measure, members, missing, money, text, WrongShape } from './shape.ts';

/** Decodes a page of the experience list. */
export function decodeExperiencePage(list: ReadRows, currency: string, mayPublish: MayPublish): Page<Experience> {
  return decodePage(list, (row) => decodeExperience(row, currency, mayPublish));
}

function decodeExperience(json: unknown, currency: string, mayPublish: MayPublish): Experience {
  const experience = members(json, 'the experience');
  const experience_id = identifier(experience.id);
  if (experience.id === undefined) throw missing(experience, 'id');
  if (experience_id === null)
    throw new WrongShape(`experience id ${JSON.stringify(experience.id)} is no usable identifier`);
  const { images, ...rest } = experience;
  const product_ids = elements(experience.product_ids ?? [], 'product_ids').map(identifier);
  const [address, place, ratings] = [experience.address, experience.geolocation, experience.ratings].map((value) =>
    isMembers(value) ? value : {},
  );
  const foreign = typeof experience.currency === 'string' && experience.currency.toUpperCase() !== currency;
  const from_price = foreign ? null : money(experience.from_price, currency);
  return {
    experience_id,
    title: text(experience.title),
    tagline: words(experience.tagline),
    description: words(experience.description),
    url: pageAddress(experience.experience_url),
    address: words(experience.address) ?? words(address?.street) ?? words(address?.address),
    city_name: words(address?.city_name),
    country_name: words(address?.country_name),
    latitude: measure(place?.lat),
    longitude: measure(place?.lng),
    ...rated(ratings ?? {}),
    from_price: from_price !== null && from_price < 0 ? null : from_price,
    product_ids: [...new Set(product_ids.filter((id) => id !== null))],
    // If null or missing, the known ones stay until their 14 days are over. An image with a refused address is left out
    // without a report.
    images: images == null ? null : decodeImages(elements(images, 'images'), mayPublish).images,
    document: JSON.stringify(rest),
  };
}

function words(value: unknown): string | null {
  return text(value) || null;
}
