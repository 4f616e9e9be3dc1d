import type { Database } from '../sqlite/database-file.ts';

/** An order as the inbox keeps it: what tells it from others, and nothing of it. */
export interface ToldOrder {
  readonly id_sha256: string;
  readonly contents_sha256: string;
  readonly told_at: number;
}

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
  prune(before: number): number;
}

export function toldOrders(db: Database): ToldOrders {
  const find = db.prepare<[string, number], Pick<ToldOrder, 'contents_sha256'>>(
    'SELECT contents_sha256 FROM told_order WHERE id_sha256 = ? AND order_number <= ?',
  );
  const forget = db.prepare<[number]>('DELETE FROM told_order WHERE order_number > ?');
  const add = db
    .prepare<ToldOrder & { counted: number }, number>(
      `INSERT INTO told_order (order_number, id_sha256, contents_sha256, told_at)
       VALUES (1 + @counted, @id_sha256, @contents_sha256, @told_at) RETURNING order_number`,
    )
    .pluck();
  const prune = db.prepare<[number]>('DELETE FROM told_order WHERE told_at < ?');
  return {
    find: (id_sha256, counted) => find.get(id_sha256, counted) ?? null,
    note: (order, counted) =>
      db
        .transaction(() => {
          forget.run(counted);
          const number = add.get({ ...order, counted });
          if (number === undefined) throw new Error('an inserted row has no number');
          return number;
        })
        .immediate(),
    prune: (before) => prune.run(before).changes,
  };
}
