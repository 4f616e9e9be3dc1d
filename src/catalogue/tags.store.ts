import { noProduct } from '../feed/change.rules.ts';
import type { ChangeTable, FoundBy } from '../feed/changes.store.ts';
import type { Instant } from '../kernel/clock.ts';
import { type Reads, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, dropBy, query, setBy, upsert } from '../mirror/sql/sql.ts';
import { mayReplace } from '../schedule/record.rules.ts';
import { type CompleteWalk, type DroppedByWalks, type IsUsable, ListAbsences } from './removals.store.ts';
import type { Tag } from './tag.rules.ts';

/** A read of the list of tags in a language. */
export interface TagsRead extends FoundBy {
  readonly language: string;
  readonly stale_at: Instant;
  readonly isUsable: IsUsable<Tag>;
}

/** Queries about tags. */
export class TagReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #count = this.db.value(() =>
    named()
      .clearSelect()
      .select((of) => of.fn.countAll<number>().as('all')),
  );

  /** Returns the number of tags in the primary language. */
  count(): number {
    return this.#count() ?? 0;
  }
}

/** Tags, and their names in each language. */
export class TagTables extends TagReads<Writes> implements DroppedByWalks {
  readonly #one = this.db.row(byKey('_tag', ['tag_id', 'language'], ['document', 'checked_at', 'changed_at']));
  readonly #put = this.db.change(
    upsert(
      '_tag',
      ['tag_id', 'language'],
      ['name', 'type_name', 'type_group_name', 'document', 'checked_at', 'changed_at', 'stale_at'],
    ),
  );
  readonly #outdate = this.db.change(setBy('_tag', ['tag_id', 'language'], ['stale_at']));
  readonly #drop = this.db.change(dropBy('_tag', ['tag_id']));
  readonly #absences = new ListAbsences(this.db, 'tags', named);
  readonly #changes: ChangeTable;

  constructor(db: Writes, changes: ChangeTable) {
    super(db);
    this.#changes = changes;
  }

  /** Returns whether any of them changed. */
  store(tags: readonly Tag[], read: TagsRead): boolean {
    const tag_ids = tags.filter((tag) => this.#store(tag, read)).map(({ tag_id }) => tag_id);
    if (tag_ids.length === 0) return false;
    this.#changes.add(
      { product_id: noProduct, kind: 'tags_changed', language: read.language, detail: { tag_ids } },
      read,
    );
    return true;
  }

  #store(tag: Tag, { language, sent_at, stale_at, isUsable }: TagsRead): boolean {
    const { tag_id } = tag;
    const row = this.#one({ tag_id, language });
    if (row !== null && !mayReplace(row.checked_at, sent_at)) return false;
    if (!isUsable(tag, row !== null)) {
      this.#outdate({ tag_id, language, stale_at: sent_at });
      return false;
    }
    const isChanged = row?.document !== tag.document;
    const changed_at = isChanged ? sent_at : row.changed_at;
    this.#put({ ...tag, language, checked_at: sent_at, changed_at, stale_at });
    return isChanged;
  }

  dropMissing(walk: CompleteWalk, by: FoundBy) {
    const { missing, ids } = this.#absences.gone(walk, this.count());
    for (const tag_id of ids) this.#drop({ tag_id });
    if (ids.length > 0)
      this.#changes.add({ product_id: noProduct, kind: 'tags_changed', detail: { tag_ids: ids } }, by);
    return { missing, dropped: ids.length };
  }
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
