import type { Instant } from '../../clock.ts';
import type { CheckoutInformation } from '../../domain/catalogue/checkout-information.ts';
import { changedFields } from '../../domain/changes/change.ts';
import { mayReplace } from '../../domain/schedule/record.ts';
import type { Bound, Writes } from '../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../changes/changes.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { showInOtherLanguages, upsertShown } from './fallbacks.ts';

type Row = Tables['checkout'];

export interface CheckoutInformationRead extends FoundBy {
  readonly product_id: number;
  readonly language: string;
  readonly stale_at: Instant;
  readonly now: Instant;
}

/** What a sale needs to know, by product and language. */
export interface CheckoutInformationTable {
  /** Returns whether it changed. */
  store(read: CheckoutInformationRead, information: CheckoutInformation): boolean;
  /** The same bytes came again. */
  confirm(read: CheckoutInformationRead): void;
  /** Returns the stored document of a record; null: there is none. */
  document(record: { readonly product_id: number; readonly edition: string }): string | null;
}

const columns = [
  'has_timeslots', 'has_dynamic_pricing', 'must_know', 'good_to_know', 'document', 'checked_at', 'changed_at', 'stale_at', 'held_at',
] as const; // biome-ignore format: a list of columns

export function checkoutInformationTable(db: Writes, changes: ChangeTable): CheckoutInformationTable {
  const one = db.rows(({ product_id, language }: Bound<Pick<Row, 'product_id' | 'language'>>) =>
    query
      .selectFrom('checkout')
      .selectAll()
      .where('product_id', '=', product_id)
      .where('language', '=', language)
      .where('language_shown', '=', language),
  );
  const put = db.change(upsertShown('checkout', ['product_id', 'language'], ['language_shown', ...columns]));
  const showElsewhere = showInOtherLanguages(db, 'checkout');
  const mark = db.change(({ product_id, language, sent_at, stale_at, now }: Bound<CheckoutInformationRead>) =>
    query
      .updateTable('checkout')
      .set({ checked_at: sent_at, stale_at, held_at: null })
      .where('product_id', '=', product_id)
      .where('language_shown', '=', language)
      .where((of) => of.or([of('checked_at', '<=', sent_at), of('checked_at', '>', now)])),
  );
  return {
    store: (read, information) => {
      const { product_id, language, sent_at, stale_at, now } = read;
      const row = one.get({ product_id, language });
      if (row !== undefined && !mayReplace(row.checked_at, sent_at, now)) return false;
      const changed = row?.document !== information.document;
      put.run({
        ...information,
        product_id,
        language,
        language_shown: language,
        has_timeslots: bit(information.has_timeslots),
        has_dynamic_pricing: bit(information.has_dynamic_pricing),
        checked_at: sent_at,
        changed_at: changed ? sent_at : (row?.changed_at ?? sent_at),
        stale_at,
        held_at: null,
      });
      showElsewhere({ product_id, language });
      const fields = row === undefined ? [] : changedFields(row.document, information.document);
      if (changed) changes.add({ product_id, kind: 'checkout_changed', language, detail: { fields } }, read);
      return changed;
    },
    confirm: (read) => {
      mark.run(read);
    },
    document: ({ product_id, edition: language }) => one.get({ product_id, language })?.document ?? null,
  };
}

function bit(flag: boolean | null): 0 | 1 | null {
  return flag === null ? null : flag ? 1 : 0;
}
