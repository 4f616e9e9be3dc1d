import type { Experience } from '../domain/catalogue/experience.ts';
import type { MayPublish } from '../domain/push/public-address.ts';
import { members, WrongShape } from '../domain/service/shape.ts';
import { addressShape, experienceShape } from '../domain/service/shapes.ts';
import { UnreadMembers } from '../domain/service/unread.ts';
import type { Members } from '../domain/values/members.ts';
import { pageAddress } from '../domain/values/page-address.ts';
import type { ReadRows } from './adapter/service-asker.ts';
import { contextOf, decodeImages, decodePage, type Page, placed, rated } from './decode-product.ts';

/** Decodes a page of the experience list. */
export function decodeExperiencePage(list: ReadRows, currency: string, mayPublish: MayPublish): Page<Experience> {
  return decodePage(list, (row) => decodeExperience(members(row, 'the experience'), currency, mayPublish));
}

function decodeExperience(json: Members, currency: string, mayPublish: MayPublish): Experience {
  const unread = new UnreadMembers();
  const read = experienceShape.read(json, unread, contextOf(json, currency, mayPublish));
  if (read.images === null && json.images != null) throw new WrongShape('images of the experience is no list');
  const { images, ...rest } = json;
  const { street, city_name, country_name } = addressShape.read(read.address ?? {}, unread);
  return {
    experience_id: read.id,
    title: read.title,
    tagline: read.tagline || null,
    description: read.description || null,
    url: pageAddress(json.experience_url),
    address: street || null,
    city_name: city_name || null,
    country_name: country_name || null,
    ...placed(read.geolocation, unread),
    ...rated(read.ratings, unread),
    from_price: read.from_price,
    product_ids: read.product_ids ?? [],
    // If null or missing, the known ones stay until their 14 days are over.
    images: read.images === null ? null : decodeImages(read.images, mayPublish, unread).images,
    document: JSON.stringify(rest),
    unread: unread.examples,
  };
}
