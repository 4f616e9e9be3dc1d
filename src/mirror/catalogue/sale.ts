import type { Instant } from '../../clock.ts';
import type { ProductEntry } from '../../domain/catalogue/product.ts';
import { type ClosureVerdict, judge } from '../../domain/sale/closure.ts';
import { type ChangeTable, FeedingStore, type FoundBy } from '../changes/changes.ts';
import type { ClosureTable, StoredClosure } from '../push/closures.ts';
import { byKey, dropBy, insertOf } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import type { ProductRead, StoredProduct } from './product-reads.ts';

/** Without what is computed, and what is no part of a read. */
export type Product = Omit<
  Tables['_product'],
  | 'sellable'
  | 'shut'
  | 'category'
  | 'sold'
  | 'sold_at'
  | 'asked'
  | 'asked_at'
  | 'covered'
  | 'dates_off_at'
  | `signal_${string}`
>;

type OffSale =
  | 'disabled_reason'
  | 'disabled_source'
  | 'expected_reopening'
  | 'alternative_product_id'
  | 'closure_unconfirmed';

/**
 * Returns why a product is off sale: by the read, in whose silence the notification's words stand; or by the
 * notification alone.
 */
export function offSale(entry: ProductEntry, closure: StoredClosure | null): Pick<Product, OffSale> {
  const disabled = entry.sale_status === 'disabled';
  const closed = closure !== null && closure.confirmed_at === null && closure.applied_at !== null;
  const words = disabled || closed ? closure : null;
  return {
    disabled_reason: (disabled ? entry.disabled_reason : null) ?? words?.reason ?? null,
    disabled_source: disabled ? 'read' : closed ? 'notification' : null,
    expected_reopening: (disabled ? entry.expected_reopening : null) ?? words?.expected_reopening ?? null,
    alternative_product_id: words?.alternative_product_id ?? null,
    closure_unconfirmed: closed ? 1 : 0,
  };
}

export function isOnSale({
  sale_status,
  closure_unconfirmed,
}: Pick<Product, 'sale_status' | 'closure_unconfirmed'>): boolean {
  return sale_status === 'enabled' && closure_unconfirmed === 0;
}

/** Returns what a read says of a product's sale beside the row before it. */
export function saleOf(row: Product | undefined, next: Product): StoredProduct['sale'] {
  if (!isOnSale(next)) return 'neither';
  return row !== undefined && !isOnSale(row) ? 'back' : 'on';
}

/** Reports to the change feed how a read changes a product's sale. Returns whether it did. */
export function tellSale(
  changes: ChangeTable,
  row: Product | undefined,
  next: Product,
  { title, read }: Pick<ProductEntry, 'title'> & { readonly read: ProductRead },
): boolean {
  const { product_id, disabled_reason: reason, expected_reopening } = next;
  if (row === undefined) {
    changes.add({ product_id, kind: 'product_added', detail: { title } }, read);
    return true;
  }
  const returned = row.withdrawn_at !== null;
  if (returned) changes.add({ product_id, kind: 'product_returned', detail: { withdrawn_at: row.withdrawn_at } }, read);
  if (isOnSale(row) === isOnSale(next)) return returned;
  if (isOnSale(next)) changes.add({ product_id, kind: 'sale_enabled', detail: {} }, read);
  else changes.add({ product_id, kind: 'sale_disabled', detail: { reason, expected_reopening } }, read);
  return true;
}

const instantOf = {
  confirmed: 'confirmed_at',
  'available-once': 'available_at',
  undone: 'ended_at',
  reopened: 'ended_at',
} as const satisfies Partial<Record<ClosureVerdict, string>>;

/** Notes what a read decides about a closure that is in force; returns the closure as it stands then, null where it is over. */
export function decideClosure(
  closures: ClosureTable,
  { product_id, sale_status: is }: Pick<ProductEntry, 'product_id' | 'sale_status'>,
  sent_at: Instant,
): StoredClosure | null {
  const closure = closures.inForce(product_id);
  if (closure === null) return null;
  const verdict = judge(closure, is, sent_at);
  if (verdict !== 'undecided') closures.mark(closure.closure_id, instantOf[verdict], sent_at);
  return closures.inForce(product_id);
}

/** A chain of recommendations is followed so far. */
const longestChain = 8;

/** Products that recommend others while they are closed: what can be had of a chain of recommendations is in `alternatives`. */
export class Recommending extends FeedingStore {
  readonly #direct = this.db.rows(byKey('_product', ['alternative_product_id'], ['product_id', 'withdrawn_at']));
  readonly #one = this.db.rows(
    byKey('_product', ['product_id'], ['sellable', 'withdrawn_at', 'closure_unconfirmed', 'alternative_product_id']),
  );
  readonly #stored = this.db.values(byKey('alternatives', ['product_id'], ['alternative_product_id']));
  readonly #drop = this.db.change(dropBy('alternatives', ['product_id']));
  readonly #add = this.db.change(insertOf('alternatives', ['product_id', 'alternative_product_id']));

  /** Handles a product that becomes or stops being available, or recommends another one. Reports those that lead to it. */
  changed(product_id: number, by: FoundBy): void {
    this.again(product_id);
    const met = new Set([product_id]);
    let last = [product_id];
    for (let depth = 0; depth < longestChain && last.length > 0; depth += 1) {
      const next = last
        .flatMap((alternative_product_id) => this.#direct.all({ alternative_product_id }))
        .filter((each) => !met.has(each.product_id));
      for (const { product_id: id, withdrawn_at } of next) {
        if (met.has(id)) continue;
        met.add(id);
        this.again(id);
        if (withdrawn_at === null && this.changes.tellsFirstReads())
          this.changes.add({ product_id: id, kind: 'product_changed', detail: { fields: ['alternatives'] } }, by);
      }
      last = next.map((each) => each.product_id);
    }
  }

  /** Recomputes the stored alternative of a product after a change in whether the product itself needs one. */
  again(product_id: number): void {
    const [before, after] = [this.#stored.get({ product_id }) ?? null, this.#resolved(product_id)];
    if (before === after) return;
    this.#drop.run({ product_id });
    if (after !== null) this.#add.run({ product_id, alternative_product_id: after });
  }

  /** Returns the first of a chain that can be had; null: none can, or the product needs none. */
  #resolved(product_id: number): number | null {
    const row = this.#one.get({ product_id });
    if (row === undefined || row.withdrawn_at !== null || row.sellable === 1 || row.closure_unconfirmed === 1)
      return null;
    let candidate = row.alternative_product_id;
    for (let depth = 0; depth < longestChain && candidate !== null; depth += 1) {
      const next = this.#one.get({ product_id: candidate });
      if (next?.sellable === 1) return candidate;
      candidate = next?.alternative_product_id ?? null;
    }
    return null;
  }
}
