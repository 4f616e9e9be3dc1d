import { listedAtMost } from '../admin/page/memory.ts';
import type { ProductView } from '../admin/page/product.ts';
import type { ShownReads } from '../mirror/catalogue/product-reads.ts';
import type { ChangeFeed } from '../mirror/changes/changes.ts';
import type { Sync } from '../sync/records/context.ts';
import { explainProduct } from '../sync/reports/explain.ts';

/** The most dates that people are shown: two weeks in two currencies. */
const datesAtMost = 28;

/** Reads the data that the page shows about a product; null: it is not mirrored. */
export function productView(
  sync: Sync,
  { feed, shown }: { readonly feed: ChangeFeed; readonly shown: ShownReads },
  product_id: number,
): ProductView | null {
  const explanation = explainProduct(sync, product_id);
  if (explanation === null) return null;
  return {
    explanation,
    days: shown.days(product_id, explanation.today, datesAtMost),
    images: shown.images(product_id),
    changes: feed.newestOf(product_id, listedAtMost),
  };
}
