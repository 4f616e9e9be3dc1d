import { changedFields } from '../feed/change.rules.ts';
import { FeedingStore, type FoundBy } from '../feed/changes.store.ts';
import type { Instant } from '../kernel/clock.ts';
import { type Bound, type RawBuilder, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { checkoutInformation } from '../mirror/contract/sale.ts';
import { query } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { mayReplace } from '../schedule/record.rules.ts';
import { type CheckoutInformation, documentToStore } from './checkout-information.rules.ts';
import { factsOf, membersOf } from './document-facts.store.ts';

type Row = Tables['checkout'];

export interface CheckoutInformationRead extends FoundBy {
  readonly product_id: number;
  readonly language: string;
  readonly stale_at: Instant;
}

/** Texts that are shown as they were sent. One that is none is not shown; of the others it fails the read. */
const { pre_purchase, usage, included, excluded, post_purchase } = checkoutInformation.columns;
const shownTexts = { pre_purchase, usage, included, excluded, post_purchase };

const said = [
  'has_timeslots', 'has_dynamic_pricing', 'must_know', 'good_to_know', 'pre_purchase', 'usage', 'included', 'excluded', 'post_purchase',
  'document', 'checked_at', 'changed_at', 'stale_at', 'held_at',
] as const; // biome-ignore format: a list of columns
const columns = ['product_id', 'language', 'language_shown', ...said, 'shown'] as const;
type Own = Pick<Row, 'product_id' | 'language' | (typeof said)[number]>;

/** Information needed to sell a product, by product and language. */
export class CheckoutInformationTable extends FeedingStore {
  readonly #one = this.db.row(({ product_id, language }: Bound<{ product_id: number; language: string }>) =>
    query
      .selectFrom('checkout')
      .selectAll()
      .where('product_id', '=', product_id)
      .where('language', '=', language)
      .where('language_shown', '=', language),
  );
  readonly #put = this.db.change((bound: Bound<Own>) => {
    const values = columns.map((name) =>
      name === 'shown' ? isShown(bound.language) : bound[name === 'language_shown' ? 'language' : name],
    );
    return sql`insert into checkout (${names(columns)}) select ${sql.join(values)} from _product p where p.product_id = ${bound.product_id}
      on conflict do update set ${taken}`;
  });
  readonly #copy = this.db.change(({ product_id, language }: Bound<{ product_id: number; language: string }>) =>
    copies(sql`r.product_id = ${product_id} and r.language = ${language}`),
  );
  /** The same bytes came again. */
  readonly confirm = this.db.change(({ product_id, language, sent_at, stale_at }: Bound<CheckoutInformationRead>) =>
    query
      .updateTable('checkout')
      .set({ checked_at: sent_at, stale_at, held_at: null })
      .where('product_id', '=', product_id)
      .where('language_shown', '=', language),
  );

  /** Returns whether the information changed. */
  store(read: CheckoutInformationRead, information: CheckoutInformation): boolean {
    const { product_id, language, sent_at, stale_at } = read;
    const row = this.#one({ product_id, language });
    if (row !== null && !mayReplace(row.checked_at, sent_at)) return false;
    const document = documentToStore(information, row?.document ?? null);
    const changed = row?.document !== document;
    this.#put({
      ...information,
      ...factsOf(membersOf(information.document), shownTexts),
      document,
      product_id,
      language,
      has_timeslots: bit(information.has_timeslots),
      has_dynamic_pricing: bit(information.has_dynamic_pricing),
      checked_at: sent_at,
      changed_at: changed ? sent_at : (row?.changed_at ?? sent_at),
      stale_at,
      held_at: null,
    });
    this.#copy({ product_id, language });
    const fields = row === null ? [] : changedFields(row.document, document);
    if (changed) this.changes.add({ product_id, kind: 'checkout_changed', language, detail: { fields } }, read);
    return changed;
  }

  /** Returns the stored document of a record; null: there is none. */
  document({ product_id, edition }: { readonly product_id: number; readonly edition: string }): string | null {
    return this.#one({ product_id, language: edition })?.document ?? null;
  }
}

/** Copies of the primary language's reads in other languages. */
export class CheckoutFallbacks extends Store<Writes> {
  readonly #changes = [
    sql`delete from checkout where language_shown <> language`,
    sql`update checkout as r set shown = not shown from _product p
      where p.product_id = r.product_id and shown <> ${isShown(sql`r.language`)}`,
    copies(sql`true`),
  ].map((change) => this.db.change(() => change));

  /** Makes them from scratch. */
  makeAgain(): void {
    for (const change of this.#changes) change();
  }
}

/**
 * Copies reads in the primary language into the mirrored languages that have none of their own. `language_shown` is the language of
 * the read, so that one statement marks a read and its copies.
 */
function copies(which: RawBuilder<unknown>) {
  const values = columns.map((name) => {
    if (name === 'language') return sql`l.language`;
    if (name === 'shown') return sql`p.withdrawn_at is null`;
    return sql.ref(`r.${name === 'language_shown' ? 'language' : name}`);
  });
  return sql`insert into checkout (${names(columns)}) select ${sql.join(values)}
    from _mirror m
    cross join checkout r on r.language = m.language
    cross join _product p on p.product_id = r.product_id
    cross join languages l on l.language <> m.language
    where ${which}
    on conflict do update set ${taken} where language_shown <> language`;
}

/** A read is shown where its language is mirrored and its product visible. */
function isShown(language: RawBuilder<unknown>) {
  return sql`(p.withdrawn_at is null and ${language} in (select l.language from languages l))`;
}

const names = (of: readonly string[]) => sql.join(of.map((name) => sql.ref(name)));
const taken = sql.join(columns.slice(2).map((name) => sql`${sql.ref(name)} = excluded.${sql.ref(name)}`));

function bit(flag: boolean | null): 0 | 1 | null {
  return flag === null ? null : flag ? 1 : 0;
}
