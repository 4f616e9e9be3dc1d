import type { Experience } from '../domain/catalogue/experience.ts';
import type { MayPublish } from '../domain/push/public-address.ts';
import { members, WrongShape } from '../domain/service/shape.ts';
import { experienceShape } from '../domain/service/shapes.ts';
import { UnreadMembers } from '../domain/service/unread.ts';
import type { Members } from '../domain/values/members.ts';
import { pageAddress } from '../domain/values/page-address.ts';
import type { ReadRows } from './adapter/service-asker.ts';
import { amountsOf, decodeImages, decodePage, type Page, placed, priceOf, rated } from './decode-product.ts';

/** Decodes a page of the experience list. */
export function decodeExperiencePage(list: ReadRows, currency: string, mayPublish: MayPublish): Page<Experience> {
  return decodePage(list, (row) => decodeExperience(members(row, 'the experience'), currency, mayPublish));
}

function decodeExperience(json: Members, currency: string, mayPublish: MayPublish): Experience {
  const unread = new UnreadMembers();
  const read = experienceShape.read(json, unread, amountsOf(json, currency));
  if (read.images === null && json.images != null) throw new WrongShape('images of the experience is no list');
  const { images, ...rest } = json;
  const { address } = json;
  return {
    experience_id: read.id,
    title: read.title,
    tagline: read.tagline || null,
    description: read.description || null,
    url: pageAddress(json.experience_url),
    address: words(address) ?? words(read.address?.street) ?? words(read.address?.address),
    city_name: words(read.address?.city_name),
    country_name: words(read.address?.country_name),
    ...placed(read.geolocation, unread),
    ...rated(read.ratings, unread),
    from_price: priceOf(read.from_price),
    product_ids: read.product_ids ?? [],
    // If null or missing, the known ones stay until their 14 days are over. An image with a refused address is left out
    // without a report.
    images: read.images === null ? null : decodeImages(read.images, mayPublish, unread).images,
    document: JSON.stringify(rest),
    unread: unread.examples,
  };
}

function words(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
