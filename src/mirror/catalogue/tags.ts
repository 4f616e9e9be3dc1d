import type { Instant } from '../../clock.ts';
import type { Tag } from '../../domain/catalogue/tag.ts';
import { noProduct } from '../../domain/changes/change.ts';
import { mayReplace } from '../../domain/schedule/record.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../changes/changes.ts';
import { query, upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { type DroppedByWalks, type IsUsable, listAbsences } from './walked.ts';

/** Queries about tags. */
export interface TagReads {
  /** Returns the number of tags in the primary language. */
  count(): number;
}

/** A read of the list of tags in a language. */
export interface TagsRead extends FoundBy {
  readonly language: string;
  readonly stale_at: Instant;
  readonly isUsable: IsUsable<Tag>;
}

/** Tags, and their names in each language. */
export interface TagTables extends TagReads, DroppedByWalks {
  /** Returns whether any of them changed. */
  store(tags: readonly Tag[], read: TagsRead): boolean;
}

/** Selects the tags that the list in the primary language named. */
function named() {
  return query
    .selectFrom('_tag')
    .select('tag_id as id')
    .where(
      'language',
      '=',
      query.selectFrom('_mirror').select((of) => of.ref('language').$notNull().as('language')),
    );
}

export function tagReads(db: Reads): TagReads {
  const count = db.values(() =>
    named()
      .clearSelect()
      .select((of) => of.fn.countAll<number>().as('all')),
  );
  return { count: () => count.get() ?? 0 };
}

export function tagTables(db: Writes, { changes }: { readonly changes: ChangeTable }): TagTables {
  const one = db.rows(({ tag_id, language }: Bound<Pick<Tables['_tag'], 'tag_id' | 'language'>>) =>
    query
      .selectFrom('_tag')
      .select(['document', 'checked_at', 'changed_at'])
      .where('tag_id', '=', tag_id)
      .where('language', '=', language),
  );
  const put = db.change(
    upsert(
      '_tag',
      ['tag_id', 'language'],
      ['name', 'type_name', 'type_group_name', 'document', 'checked_at', 'changed_at', 'stale_at'],
    ),
  );
  const outdate = db.change(
    ({ tag_id, language, stale_at }: Bound<Pick<Tables['_tag'], 'tag_id' | 'language' | 'stale_at'>>) =>
      query.updateTable('_tag').set({ stale_at }).where('tag_id', '=', tag_id).where('language', '=', language),
  );
  const drop = db.change(({ tag_id }: Bound<Pick<Tables['_tag'], 'tag_id'>>) =>
    query.deleteFrom('_tag').where('tag_id', '=', tag_id),
  );
  const reads = tagReads(db);
  const absences = listAbsences(db, 'tags', named);

  function storeOne(tag: Tag, { language, sent_at, stale_at, isUsable }: TagsRead): boolean {
    const { tag_id } = tag;
    const row = one.get({ tag_id, language });
    if (row !== undefined && !mayReplace(row.checked_at, sent_at)) return false;
    if (!isUsable(tag, row !== undefined)) {
      outdate.run({ tag_id, language, stale_at: sent_at });
      return false;
    }
    const isChanged = row?.document !== tag.document;
    const changed_at = isChanged ? sent_at : row.changed_at;
    put.run({ ...tag, language, checked_at: sent_at, changed_at, stale_at });
    return isChanged;
  }

  return {
    ...reads,
    store: (tags, read) => {
      const changed = tags.filter((tag) => storeOne(tag, read)).map(({ tag_id }) => tag_id);
      if (changed.length === 0) return false;
      const detail = { tag_ids: changed };
      changes.add({ product_id: noProduct, kind: 'tags_changed', language: read.language, detail }, read);
      return true;
    },
    dropMissing: (walk, by) => {
      const { missing, ids } = absences.gone(walk, reads.count());
      for (const tag_id of ids) drop.run({ tag_id });
      if (ids.length > 0) changes.add({ product_id: noProduct, kind: 'tags_changed', detail: { tag_ids: ids } }, by);
      return { missing, dropped: ids.length };
    },
  };
}
