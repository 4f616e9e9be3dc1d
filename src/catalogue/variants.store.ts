import type { Pricing } from '../dates/days.store.ts';
import { type ChangeTable, FeedingStore, type FoundBy } from '../feed/changes.store.ts';
import type { Instant } from '../kernel/clock.ts';
import { type Bound, listed, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { lacksMembers, mergeDocuments } from '../kernel/values/exact-json.ts';
import { variants as variantsOfContract } from '../mirror/contract/sale.ts';
import { dropBy, query, upsert } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { mayReplace } from '../schedule/record.rules.ts';
import { factsOf, membersOf } from './document-facts.store.ts';
import type { Variant, VariantGroup } from './variant.rules.ts';

type Row = Tables['_variant'];

/** The read that brought the variants (one of two kinds), its product, and the instant at which it was sent. */
export interface VariantRead extends FoundBy {
  readonly source: 'variants' | 'availability';
  readonly product_id: number;
  readonly language: string;
  readonly stale_at: Instant;
  /** Groups as named by the answer. Absent if the answer does not name any. */
  readonly groups?: readonly VariantGroup[];
}

/** Columns that are shown as the document has them: those that are declared with a path in it, but for the key. */
const { variant_id: _, ...declared } = variantsOfContract.columns;
type Fact = Exclude<keyof Row & keyof typeof declared, (typeof variantKey)[number] | `${string}_at` | 'document'>;
const facts = Object.fromEntries(
  Object.entries(declared).filter(([, { from }]) => from !== undefined),
) as unknown as Pick<typeof declared, Fact>;
const factNames = Object.keys(facts) as Fact[];

const variantKey = ['product_id', 'language', 'variant_id'] as const;
const said = [
  'variants_document', 'availability_document', 'merged_document', ...factNames, 'checked_at', 'changed_at', 'stale_at', 'held_at',
] as const; // biome-ignore format: a list of columns

/** The variants of products. */
export class VariantTables extends FeedingStore {
  readonly #groups = new VariantGroups(this.db);
  readonly #primary = this.db.value(() => query.selectFrom('_mirror').select('language'));
  readonly #ofProduct = this.db.rows(({ product_id, language }: Bound<{ product_id: number; language: string }>) =>
    query.selectFrom('_variant').selectAll().where('product_id', '=', product_id).where('language', '=', language),
  );
  readonly #put = this.db.change(upsert('_variant', variantKey, said));
  readonly #drop = this.db.change(dropBy('_variant', variantKey));
  /** The same bytes came again. */
  readonly confirm = this.db.change(({ product_id, language, sent_at, stale_at }: Bound<VariantRead>) =>
    query
      .updateTable('_variant')
      .set({ checked_at: sent_at, stale_at, held_at: null })
      .where('product_id', '=', product_id)
      .where('language', '=', language)
      .where('variants_document', 'is not', null),
  );
  readonly #owner = this.db.value(({ variant_ids, product_id }: Bound<{ variant_ids: string; product_id: number }>) =>
    query
      .selectFrom('_variant as v')
      .select('v.product_id')
      .where('v.variant_id', 'in', listed<number>(variant_ids))
      .where('v.product_id', '<>', product_id)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('_variant as own')
              .select('own.variant_id')
              .where('own.product_id', '=', product_id)
              .whereRef('own.variant_id', '=', 'v.variant_id'),
          ),
        ),
      )
      .limit(1),
  );
  readonly #pricing: Pricing;

  constructor(db: Writes, changes: ChangeTable, pricing: Pricing) {
    super(db, changes);
    this.#pricing = pricing;
  }

  /**
   * Stores what one read says of a product's variants. `listed` are the ids that this source still speaks of: another
   * one loses the source's document, and goes when it has none left. Where somebody else may buy one now, the dates of the
   * product are priced again. Returns whether anything changed.
   */
  store(read: VariantRead, variants: readonly Variant[], listed: ReadonlySet<number>): boolean {
    const { product_id, language, sent_at } = read;
    const column = `${read.source}_document` as const;
    const rows = new Map(this.#ofProduct({ product_id, language }).map((row) => [row.variant_id, row]));
    const documents = new Map(variants.map(({ variant_id, document }) => [variant_id, document]));
    const changed: number[] = [];
    let retyped = false;
    for (const variant_id of new Set([...rows.keys(), ...documents.keys()])) {
      const row = rows.get(variant_id) ?? empty(product_id, language, variant_id, sent_at);
      // Of what only availability has said so far there is no newer read of the variants.
      const isRead = row.variants_document !== null;
      if (isRead && !mayReplace(row.checked_at, sent_at) && read.source === 'variants') continue;
      const before = row[column];
      const document = documents.get(variant_id) ?? (listed.has(variant_id) ? before : null);
      if (document === before && !(read.source === 'variants' && document !== null)) continue;
      const next = merged({ ...row, [column]: document });
      const other = document !== before;
      if (other) changed.push(variant_id);
      retyped ||= next.variant_type !== row.variant_type;
      if (next.variants_document === null && next.availability_document === null)
        this.#drop({ product_id, language, variant_id });
      else this.#put({ ...next, ...stamps(read, row, other) });
    }
    const isPrimary = this.#primary() === language;
    // Their names are shown in the primary language.
    const renamed = this.#groups.store(read, isPrimary ? (read.groups ?? []) : []);
    const variant_ids = [...new Set([...changed, ...renamed])];
    // A group is called the same in all languages.
    const of = renamed.length > 0 ? {} : { language };
    const found = { product_id, kind: 'variants_changed', ...of, detail: { variant_ids } } as const;
    if (variant_ids.length > 0) this.changes.add(found, read);
    // Prices go by whom variants are for in the primary language.
    if (retyped && isPrimary) this.#pricing.again(product_id, read);
    return variant_ids.length > 0;
  }

  /** Takes what the source said of variants that it no longer speaks of. Returns whether there was any. */
  forget(read: VariantRead, listed: ReadonlySet<number>): boolean {
    return this.store(read, [], listed);
  }

  /** Returns the variants that the variants read of a record has brought, each with its type as shown. */
  ofRead({ product_id, edition: language }: { readonly product_id: number; readonly edition: string }): Row[] {
    return this.#ofProduct({ product_id, language }).filter(({ variants_document }) => variants_document !== null);
  }

  /** Returns a product that has one of some variants that this product lacks; null: there is none. */
  otherOwner(variant_ids: readonly number[], product_id: number): number | null {
    return this.#owner({ variant_ids: JSON.stringify(variant_ids), product_id });
  }
}

/** Names of the groups of a product's variants. A group that an answer does not name keeps its name. */
class VariantGroups extends Store<Writes> {
  readonly #ofProduct = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('_variant_group').selectAll().where('product_id', '=', product_id),
  );
  readonly #put = this.db.change(upsert('_variant_group', ['product_id', 'group_id'], ['name', 'read_at']));
  readonly #grouped = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_variant')
      .select(['variant_id', 'group_ids'])
      .where('product_id', '=', product_id)
      .where('group_ids', 'is not', null),
  );

  /** Returns the variants whose groups have another name now, in any language. */
  store({ product_id, sent_at }: VariantRead, groups: readonly VariantGroup[]): number[] {
    const known = new Map(this.#ofProduct({ product_id }).map((row) => [row.group_id, row]));
    const renamed = groups.filter(({ group_id, name }) => {
      const before = known.get(group_id);
      return before?.name !== name && mayReplace(before?.read_at ?? null, sent_at);
    });
    for (const group of renamed) this.#put({ product_id, ...group, read_at: sent_at });
    if (renamed.length === 0) return [];
    const ids = new Set(renamed.map(({ group_id }) => group_id));
    const members = this.#grouped({ product_id }).filter(({ group_ids }) =>
      (JSON.parse(group_ids ?? '[]') as number[]).some((id) => ids.has(id)),
    );
    return [...new Set(members.map(({ variant_id }) => variant_id))];
  }
}

/** Only a variants read sets `checked_at`. For a variant that only availability has, the view asks the spans. */
function stamps({ source, sent_at, stale_at }: VariantRead, row: Row, changed: boolean) {
  const changed_at = changed ? sent_at : row.changed_at;
  return source === 'variants'
    ? { checked_at: sent_at, stale_at, held_at: null, changed_at }
    : { checked_at: row.checked_at, stale_at: row.stale_at, held_at: row.held_at, changed_at };
}

function empty(product_id: number, language: string, variant_id: number, at: Instant): Row {
  return {
    product_id,
    language,
    variant_id,
    variants_document: null,
    availability_document: null,
    merged_document: null,
    ...factsOf({}, facts),
    checked_at: at,
    changed_at: at,
    stale_at: at,
    held_at: null,
  };
}

/** The variants read decides, availability enriches: members that only availability has are added. */
function merged(row: Row): Row {
  const { variants_document: above, availability_document: below } = row;
  const needed = above !== null && below !== null && lacksMembers(above, below);
  const merged_document = needed ? mergeDocuments(below, above) : null;
  const [first, second] = [above, below].map((document) => factsOf(membersOf(document), facts));
  const filled = factNames.map((name) => [name, first?.[name] ?? second?.[name] ?? null]);
  return { ...row, merged_document, ...(Object.fromEntries(filled) as Pick<Row, Fact>) };
}
