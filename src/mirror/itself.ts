import type { Instant } from '../clock.ts';
import type { Bound, Writes } from '../sqlite/statements.ts';
import { query } from './sql/sql.ts';

/** Facts that the mirror records about itself. */
export interface MirrorItself {
  /** Returns the instant at which the newest stored read was sent; null if there is none. */
  lastReadAt(): number | null;
  filledAt(): number | null;
  /** Returns how far the inbox was applied: the number of a delivery, noted in the transaction of its effects. */
  lastDelivery(): number;
  noteDelivery(delivery_id: number): void;
  /** Returns how far the inbox's orders were counted: the number of one, noted in the transaction of its counts. */
  lastOrder(): number;
  noteOrder(order_number: number): void;
  /** Notes that every record has been read; returns whether that is new. */
  noteFilled(now: Instant): boolean;
  /** Commits a write that changes nothing: throws what any other write would throw now. */
  touch(): void;
}

type Number = Bound<{ number: number }>;

export function mirrorItself(db: Writes): MirrorItself {
  const noted = db.rows(() =>
    query.selectFrom('_mirror').select(['filled_at', 'last_delivery_id', 'last_order_number']),
  );
  const lastReadAt = db.values(() =>
    query.selectFrom('_record').select((of) => of.fn.max<number | null>('fetched_at').as('at')),
  );
  const filled = db.change(({ now }: Bound<{ now: Instant }>) =>
    query.updateTable('_mirror').set({ filled_at: now }).where('filled_at', 'is', null),
  );
  const delivery = db.change(({ number }: Number) => query.updateTable('_mirror').set({ last_delivery_id: number }));
  const order = db.change(({ number }: Number) => query.updateTable('_mirror').set({ last_order_number: number }));
  const touch = db.change(() => query.updateTable('_mirror').set((of) => ({ pair_id: of.ref('pair_id') })));
  return {
    lastReadAt: () => lastReadAt.get() ?? null,
    filledAt: () => noted.get()?.filled_at ?? null,
    lastDelivery: () => noted.get()?.last_delivery_id ?? 0,
    noteDelivery: (number) => {
      delivery.run({ number });
    },
    lastOrder: () => noted.get()?.last_order_number ?? 0,
    noteOrder: (number) => {
      order.run({ number });
    },
    noteFilled: (now) => filled.run({ now }).changes > 0,
    touch: () => {
      db.transaction(() => touch.run());
    },
  };
}
