import { hash } from 'node:crypto';
import type { Instant } from '../../clock.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { Sync } from '../records/context.ts';
import type { CheckDesk } from './check.ts';
import { type OrderNoted, type OrderReport, orderAndRecheck, reportOrder } from './orders.ts';

/** An order with the id under which it counts once. */
export interface IdentifiedOrder extends OrderReport {
  /** The storefront's identifier of one attempt at an order. Null: each report counts. */
  readonly order_id?: string | null;
}

/** Stores the reported orders by id. They are kept in the inbox database: the mirror holds no orders. */
export interface OrderLedger {
  find(id_sha256: string, counted: number): string | null;
  note(order: { id_sha256: string; contents_sha256: string; told_at: Instant }, counted: number): number;
}

/** The result of a report that may be a repetition. */
export interface OrderCounted extends OrderNoted {
  /** True: it was counted before, so this report had no effect. */
  readonly repeated: boolean;
}

/** Milliseconds for which ids are kept: longer than dates can be ordered ahead, and longer than any checkout retries. */
export const orderMemoryMs = 400 * 24 * 60 * 60 * 1000;

/**
 * Counts an order once, however often it is sent. An order whose id was counted before is answered as `repeated`, even
 * if its date has passed. Throws `order-differs` if the same id comes with other contents, and all errors of
 * `reportOrder`.
 */
export function countOnce(
  sync: Sync,
  ledger: OrderLedger,
  order: IdentifiedOrder,
  work: (take: (() => number) | null) => OrderNoted = (take) => reportOrder(sync, order, take),
): OrderCounted {
  const { order_id = null } = order;
  if (order_id === null) return { ...work(null), repeated: false };
  const counted = sync.mirror.lastOrder();
  const id_sha256 = hash('sha256', order_id);
  const contents_sha256 = hash('sha256', contentsOf(order_id, order));
  const known = ledger.find(id_sha256, counted);
  if (known === null) {
    const told_at = sync.clock.now();
    const take = () => ledger.note({ id_sha256, contents_sha256, told_at }, counted);
    return { ...work(take), repeated: false };
  }
  if (known !== contents_sha256)
    throw new CataloguedError('order-differs', 'an order with this id was reported before, with other contents', {
      exitCode: exitCodes.usage,
      hint: 'use a new id for each order and each attempt at one',
    });
  return { due: 0, mirror: null, repeated: true };
}

/** Does the same as `countOnce` in a daemon, which reads the dates of a failed order again at once. */
export function countOnceAndRecheck(
  desk: CheckDesk,
  ledger: OrderLedger,
  order: IdentifiedOrder,
  signal: AbortSignal,
): OrderCounted {
  return countOnce(desk.sync, ledger, order, (take) => orderAndRecheck(desk, order, signal, take));
}

/** Returns the whole report as one text, with the id, so that hashes of equal orders differ. */
function contentsOf(id: string, { product_id, date, time = null, quantity, outcome, code }: OrderReport): string {
  return JSON.stringify([id, product_id, date, time, quantity, outcome, code]);
}
