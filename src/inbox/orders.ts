import type { Instant } from '../clock.ts';
import { type Bound, pick, type Writes } from '../sqlite/statements.ts';
import { type InboxTables, query } from './tables.ts';

/** An order as the inbox keeps it: what tells it from others, and nothing of it. */
export type ToldOrder = Readonly<Omit<InboxTables['told_order'], 'order_number'>>;

const columns = ['order_number', 'id_sha256', 'contents_sha256', 'told_at'] as const;

/**
 * Which orders were told of under an id. Two files cannot commit as one: an order is noted here first, under a number above
 * all that the mirror has counted (`counted`), and the mirror notes that number with its counts. What a kill leaves between
 * the two, or a mirror that was restored lacks, has a number above it, and is as good as never told.
 */
export interface ToldOrders {
  /** Null: none with this id was counted, as far as is kept. */
  find(id_sha256: string, counted: number): Pick<ToldOrder, 'contents_sha256'> | null;
  /** Returns its number. */
  note(order: ToldOrder, counted: number): number;
  /** Forgets those told of before then. */
  prune(before: Instant): number;
}

export function toldOrders(db: Writes): ToldOrders {
  const find = db.rows(({ id_sha256, counted }: Bound<{ id_sha256: string; counted: number }>) =>
    query
      .selectFrom('told_order')
      .select('contents_sha256')
      .where('id_sha256', '=', id_sha256)
      .where('order_number', '<=', counted),
  );
  const forget = db.change(({ counted }: Bound<{ counted: number }>) =>
    query.deleteFrom('told_order').where('order_number', '>', counted),
  );
  const add = db.change((order: Bound<InboxTables['told_order']>) =>
    query.insertInto('told_order').values(pick(order, columns)),
  );
  const prune = db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('told_order').where('told_at', '<', before),
  );
  return {
    find: (id_sha256, counted) => find.get({ id_sha256, counted }) ?? null,
    note: (order, counted) => {
      const order_number = counted + 1;
      db.transaction(() => {
        forget.run({ counted });
        add.run({ ...order, order_number });
      });
      return order_number;
    },
    prune: (before) => db.transaction(() => prune.run({ before }).changes),
  };
}
