import type { CheckoutInformation } from '../../domain/catalogue/checkout-information.ts';
import { mayReplace } from '../../domain/schedule/record.ts';
import type { Database } from '../../sqlite/database-file.ts';
import { prepare, namedUpsert as upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

type Row = Tables['checkout_information_read'];

export interface CheckoutInformationRead {
  readonly product_id: number;
  readonly language: string;
  readonly sent_at: number;
  readonly stale_at: number;
  readonly now: number;
}

/** What a sale needs to know, by product and language. Functions run inside the caller's transaction. */
export interface CheckoutInformationTable {
  /** Returns whether it changed. */
  store(read: CheckoutInformationRead, information: CheckoutInformation): boolean;
  /** The same bytes came again. */
  confirm(read: CheckoutInformationRead): void;
}

export function checkoutInformationTable(db: Database): CheckoutInformationTable {
  const one = db.prepare<[number, string], Row>(
    'SELECT * FROM checkout_information_read WHERE product_id = ? AND language = ?',
  );
  const put = prepare<Row>(
    db,
    upsert(
      'checkout_information_read',
      ['product_id', 'language'],
      [
        'has_timeslots',
        'has_dynamic_pricing',
        'must_know',
        'good_to_know',
        'document',
        'checked_at',
        'changed_at',
        'stale_at',
      ],
    ),
  );
  const mark = db.prepare<CheckoutInformationRead>(
    `UPDATE checkout_information_read SET checked_at = @sent_at, stale_at = @stale_at
     WHERE product_id = @product_id AND language = @language AND (checked_at <= @sent_at OR checked_at > @now)`,
  );
  return {
    store: ({ product_id, language, sent_at, stale_at, now }, information) => {
      const row = one.get(product_id, language);
      if (row !== undefined && !mayReplace(row.checked_at, sent_at, now)) return false;
      const changed = row?.document !== information.document;
      put.run({
        ...information,
        product_id,
        language,
        has_timeslots: bit(information.has_timeslots),
        has_dynamic_pricing: bit(information.has_dynamic_pricing),
        checked_at: sent_at,
        changed_at: changed ? sent_at : (row?.changed_at ?? sent_at),
        stale_at,
      });
      return changed;
    },
    confirm: ({ product_id, language, sent_at, stale_at, now }) => {
      mark.run({ product_id, language, sent_at, stale_at, now });
    },
  };
}

function bit(flag: boolean | null): 0 | 1 | null {
  return flag === null ? null : flag ? 1 : 0;
}
