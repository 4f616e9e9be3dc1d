import type { Instant } from '../clock.ts';
import { asItCame } from './stored-body.ts';
import type { DeliveryState, InboxTables } from './tables.ts';

/** A delivery received at a callback address. Instants are epoch milliseconds. */
export interface Received {
  readonly received_at: Instant;
  readonly subscription_id: string;
  readonly epoch: number;
  /** The caller's address, as seen through the trusted proxies. */
  readonly peer: string;
  readonly content_type: string | null;
  /** Bytes received: more than `body` has if it is truncated. */
  readonly length: number;
  readonly truncated: boolean;
  readonly body: Buffer;
}

/** A delivery that several instances know under one number. */
export interface Numbered extends Received {
  /** Ascending in the order of arrival, and never used again. */
  readonly delivery_id: number;
}

export interface Delivery extends Numbered {
  /** Hash of `body`, in hex. */
  readonly sha256: string;
  readonly state: DeliveryState;
  /** The reason for its state; null while it waits. */
  readonly reason: string | null;
  readonly settled_at: Instant | null;
  /** The number of the delivery that this one repeats on request; null: it is no copy. */
  readonly replay_of: number | null;
  /** True: its body was removed to stay within the budget. Its hash and length are kept. */
  readonly body_gone: boolean;
}

export type ListedDelivery = Omit<Delivery, 'body'>;

type Row = InboxTables['delivery'];

/** The columns of a row without its body, which lists do not read. */
export const listed = [
  'delivery_id', 'received_at', 'subscription_id', 'epoch', 'peer', 'content_type', 'length', 'truncated', 'sha256', 'state',
  'reason', 'settled_at', 'replay_of', 'coding',
] as const; // biome-ignore format: a list of columns

export function deliveryOf(row: Row): Delivery {
  return { ...listedDeliveryOf(row), body: asItCame(row) };
}

export function listedDeliveryOf({ coding, truncated, ...row }: Omit<Row, 'body'>): ListedDelivery {
  return { ...row, truncated: truncated === 1, body_gone: coding === 0 };
}
