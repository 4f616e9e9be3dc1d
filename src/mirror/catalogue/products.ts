import type { ProductEntry } from '../../domain/catalogue/product.ts';
import type { Writes } from '../../sqlite/statements.ts';
import type { ChangeTable } from '../changes/changes.ts';
import type { ClosureTable } from '../push/closures.ts';
import { imageLedger } from './image-ledger.ts';
import type { ProductRead, StoredProduct } from './product/entry.ts';
import { productPrices } from './product/prices.ts';
import { type ProductReads, productReads } from './product/reads.ts';
import { type ProductRows, productRows } from './product/rows.ts';
import { noTextChange, productTexts } from './product/texts.ts';
import { searchTable } from './search.ts';

/** Products with their texts, prices, tags and images. */
export interface ProductTables extends ProductReads, Pick<ProductRows, 'close'> {
  store(entry: ProductEntry, read: ProductRead): StoredProduct;
}

export function productTables(db: Writes, changes: ChangeTable, closures: ClosureTable): ProductTables {
  const search = searchTable(db);
  const rows = productRows(db, { changes, closures, search, ledger: imageLedger(db) });
  const texts = productTexts(db, changes, search);
  const prices = productPrices(db, changes);

  function store(entry: ProductEntry, read: ProductRead): StoredProduct {
    const { source, language, currency, primary } = read;
    const row = rows.find(entry.product_id);
    const kept = {
      was: row?.sale_status ?? null,
      is: row?.sale_status ?? entry.sale_status,
      sale: 'neither' as const,
    };
    // Further editions only add to what a primary read has found.
    if ((language !== primary.language || currency !== primary.currency) && row === null)
      return { outcome: 'late', ...kept, detail_doubted: false, fields: [], before_at: null };
    const status =
      language === primary.language && currency === primary.currency
        ? rows.store(entry, read)
        : { outcome: 'unchanged' as const, ...kept };
    // A further language brings texts in the primary currency, a further currency prices in the primary language.
    const text = currency === primary.currency ? texts.store(entry, read) : noTextChange;
    const price = language === primary.language && prices.store(entry, read);
    const outcome = status.outcome === 'unchanged' && (text.changed || price) ? 'changed' : status.outcome;
    const { fields, before_at } = text;
    return { ...status, outcome, detail_doubted: text.changed && source === 'list', fields, before_at };
  }

  return { ...productReads(db), store, close: rows.close };
}
