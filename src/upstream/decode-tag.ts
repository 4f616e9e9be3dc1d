import type { Tag } from '../domain/catalogue/tag.ts';
import { identifier } from '../domain/values/identifier.ts';
import type { ReadRows } from './adapter/service-asker.ts';
import { decodePage, type Page } from './decode-product.ts';
import { members, text, WrongShape } from './shape.ts';

/** Decodes a page of the list of tags. */
export function decodeTagPage(list: ReadRows): Page<Tag> {
  return decodePage(list, decodeTag);
}

function decodeTag(json: unknown): Tag {
  const tag = members(json, 'the tag');
  const tag_id = identifier(tag.id);
  if (tag_id === null) throw new WrongShape(`tag id ${JSON.stringify(tag.id)} is no usable identifier`);
  return {
    tag_id,
    name: text(tag.name) || null,
    type_name: text(tag.type_name) || null,
    type_group_name: text(tag.type_group_name) || null,
    document: JSON.stringify(tag),
  };
}
