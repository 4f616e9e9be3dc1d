import type { Instant } from '../kernel/clock.ts';
import { type Bound, pick, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { type InboxTables, query } from './tables.ts';

/** A reported order as the inbox stores it: hashes that identify it, and none of its contents. */
export type ReportedOrder = Readonly<Omit<InboxTables['told_order'], 'order_number'>>;

const columns = ['order_number', 'id_sha256', 'contents_sha256', 'told_at'] as const;

/**
 * The orders reported with an id. Two files cannot commit together. So an order is recorded here first, with a number
 * above all orders that the mirror has counted (`counted`). The mirror then stores that number with its counts. If a
 * kill comes between the two, or the mirror is restored from an older copy, the number here is above the mirror's: the
 * order counts as never reported.
 */
export class ReportedOrders extends Store<Writes> {
  readonly #find = this.db.value(({ id_sha256, counted }: Bound<{ id_sha256: string; counted: number }>) =>
    query
      .selectFrom('told_order')
      .select('contents_sha256')
      .where('id_sha256', '=', id_sha256)
      .where('order_number', '<=', counted),
  );
  readonly #forget = this.db.change(({ counted }: Bound<{ counted: number }>) =>
    query.deleteFrom('told_order').where('order_number', '>', counted),
  );
  readonly #add = this.db.change((order: Bound<InboxTables['told_order']>) =>
    query.insertInto('told_order').values(pick(order, columns)),
  );
  readonly #prune = this.db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('told_order').where('told_at', '<', before),
  );

  /** Returns `contents_sha256` of the order with this id; null: none was counted, as far as orders are kept. */
  find(id_sha256: string, counted: number): string | null {
    return this.#find({ id_sha256, counted });
  }

  /** Records an order. Returns its number. */
  note(order: ReportedOrder, counted: number): number {
    const order_number = counted + 1;
    this.db.transaction(() => {
      this.#forget({ counted });
      this.#add({ ...order, order_number });
    });
    return order_number;
  }

  /** Deletes the orders reported before an instant. Returns their number. */
  prune(before: Instant): number {
    return this.db.transaction(() => this.#prune({ before }));
  }
}
