import type { ProductEntry } from '../../domain/catalogue/product.ts';
import type { Writes } from '../../sqlite/statements.ts';
import type { ChangeTable } from '../changes/changes.ts';
import type { ClosureTable } from '../push/closures.ts';
import type { ImageLedger } from './image-ledger.ts';
import type { ProductRead, StoredProduct } from './product/entry.ts';
import { productPrices } from './product/prices.ts';
import { type ProductReads, productReads } from './product/reads.ts';
import { type ProductRows, productRows } from './product/rows.ts';
import { noTextChange, productTexts } from './product/texts.ts';
import type { SearchTable } from './search.ts';

/** Products with their texts, prices, tags and images. */
export interface ProductTables extends ProductReads, Pick<ProductRows, 'close'> {
  store(entry: ProductEntry, read: ProductRead): StoredProduct;
}

/** The tables that products are stored beside. */
export interface ProductPorts {
  readonly changes: ChangeTable;
  readonly closures: ClosureTable;
  readonly search: SearchTable;
  readonly images: ImageLedger;
}

export function productTables(db: Writes, ports: ProductPorts): ProductTables {
  const { changes, search } = ports;
  const rows = productRows(db, ports);
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
