import type { Tag } from '../domain/catalogue/tag.ts';
import { tagShape } from '../domain/service/shapes.ts';
import { UnreadMembers } from '../domain/service/unread.ts';
import type { ReadRows } from './adapter/service-asker.ts';
import { decodePage, type Page } from './decode-product.ts';

/** Decodes a page of the list of tags. */
export function decodeTagPage(list: ReadRows): Page<Tag> {
  return decodePage(list, (row) => {
    const unread = new UnreadMembers();
    const { id: tag_id, name, type_name, type_group_name } = tagShape.read(row, unread);
    return {
      tag_id,
      name: name || null,
      type_name: type_name || null,
      type_group_name: type_group_name || null,
      document: JSON.stringify(row),
      unread: unread.examples,
    };
  });
}
