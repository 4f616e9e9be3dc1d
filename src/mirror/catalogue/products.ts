import type { Instant } from '../../clock.ts';
import { isConverted, noRate, rateDifference } from '../../domain/catalogue/converted-price.ts';
import type { ProductEntry } from '../../domain/catalogue/product.ts';
import type { Looks } from '../../domain/schedule/signal.ts';
import type { Bound, Writes } from '../../sqlite/statements.ts';
import type { ChangeTable } from '../changes/changes.ts';
import type { ClosureTable } from '../push/closures.ts';
import { query } from '../sql/sql.ts';
import type { ImageLedger } from './images.ts';
import type { ProductRead, StoredProduct } from './product/entry.ts';
import { productPrices } from './product/prices.ts';
import { type ProductReads, productReads } from './product/reads.ts';
import { type ProductRows, productRows } from './product/rows.ts';
import type { ShownProducts } from './product/shown.ts';
import { noTextChange, productTexts, type TextChange } from './product/texts.ts';
import type { SearchTable } from './search.ts';
import type { ZoneTable } from './zones.ts';

/** Products with their texts, prices, tags and images. */
export interface ProductTables extends ProductReads, Pick<ProductRows, 'close'> {
  store(entry: ProductEntry, read: ProductRead): StoredProduct;
  /** Records that price or sale status differ between two reads of its list entry: its dates may have changed too. */
  signalled(product_id: number, looks: { readonly [Name in keyof Looks]: Instant }): void;
}

/** The tables that products are stored beside. */
export interface ProductPorts {
  readonly changes: ChangeTable;
  readonly closures: ClosureTable;
  readonly shown: ShownProducts;
  readonly search: SearchTable;
  readonly images: ImageLedger;
  readonly zones: Pick<ZoneTable, 'add' | 'ofSlots' | 'ofCity'>;
}

export function productTables(db: Writes, ports: ProductPorts): ProductTables {
  const { changes } = ports;
  const reads = productReads(db);
  const rows = productRows(db, ports);
  const texts = productTexts(db, ports);
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
      return {
        outcome: 'late',
        ...kept,
        detail_doubted: false,
        repriced: false,
        by_rate: false,
        fields: [],
        before_at: null,
      };
    const earlier = changes.added();
    const rate = isConverted(entry.document, currency)
      ? rateDifference(reads.said({ ...read, product_id: entry.product_id }).document, entry.document, currency)
      : noRate;
    const primarily = language === primary.language && currency === primary.currency;
    const { differing: columns, ...status } = primarily
      ? rows.store(entry, read)
      : { outcome: 'unchanged' as const, ...kept, differing: [] };
    // A further language brings texts in the primary currency, a further currency prices in the primary language.
    const text =
      currency === primary.currency && read.onlySaleAndImages !== true ? texts.store(entry, read) : noTextChange;
    // A withdrawn product is not shown, and `product_returned` reports all of one that comes back.
    const known = row === null || row.withdrawn_at !== null ? 'added' : 'known';
    const price =
      language === primary.language && read.onlySaleAndImages !== true && prices.store(entry, read, known, rate.prices);
    const told = changes.added() > earlier;
    if (known === 'known')
      tellFields([...new Set([...text.differing, ...columns])].sort(), { entry, read, text, told });
    const outcome = status.outcome === 'unchanged' && (text.changed || price) ? 'changed' : status.outcome;
    const { before_at } = text;
    const by_rate = rate.alone && status.outcome === 'unchanged';
    const fields = rate.alone ? [] : text.fields;
    const detail_doubted = text.changed && source === 'list' && !rate.alone;
    return { ...status, outcome, detail_doubted, repriced: price && !rate.prices, by_rate, fields, before_at };
  }

  /**
   * Reports fields that differ, if no other entry of the change feed does. Fields that a first read brings are reported
   * only once the mirror is filled.
   */
  function tellFields(
    fields: readonly string[],
    { entry, read, text, told }: { entry: ProductEntry; read: ProductRead; text: TextChange; told: boolean },
  ): void {
    const again = text.fields.length > 0;
    const first = changes.tellsFirstReads() && (fields.length > 0 || (text.changed && !told));
    const { product_id } = entry;
    const { language } = read;
    if (again || first) changes.add({ product_id, kind: 'product_changed', language, detail: { fields } }, read);
  }

  const signal = db.change(
    ({ product_id, at, before_at }: Bound<{ product_id: number; at: Instant; before_at: Instant }>) =>
      query
        .updateTable('_product')
        .set({ signal_at: at, signal_before_at: before_at })
        .where('product_id', '=', product_id),
  );
  return {
    ...reads,
    store,
    close: rows.close,
    signalled: (product_id, looks) => {
      signal.run({ product_id, ...looks });
    },
  };
}
