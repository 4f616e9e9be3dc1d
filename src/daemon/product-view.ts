import { listedAtMost } from '../admin/page/memory.ts';
import type { ProductView } from '../admin/page/product.ts';
import type { ShownReads } from '../mirror/catalogue/shown.ts';
import type { ChangeFeed } from '../mirror/changes/change-feed.ts';
import { explainProduct } from '../sync/reports/explain.ts';
import type { Wiring } from './wiring.ts';

/** The most dates that people are shown: two weeks in two currencies. */
const datesAtMost = 28;

/** Reads the data that the page shows about a product; null: it is not mirrored. */
export function productView(
  {
    ports,
    feed,
    shown,
  }: Pick<Wiring, 'ports'> & { readonly feed: Pick<ChangeFeed, 'newestOf'>; readonly shown: ShownReads },
  product_id: number,
): ProductView | null {
  const explanation = explainProduct(ports, product_id);
  if (explanation === null) return null;
  return {
    explanation,
    days: shown.days(product_id, explanation.today, datesAtMost),
    images: shown.images(product_id),
    changes: feed.newestOf(product_id, listedAtMost),
  };
}
