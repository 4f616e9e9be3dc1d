import type { Instant } from '../clock.ts';
import { asItCame } from './stored-body.ts';
import type { DeliveryState, InboxTables } from './tables.ts';

/** What came to a callback address. Instants are epoch milliseconds. */
export interface Received {
  readonly received_at: Instant;
  readonly subscription_id: string;
  readonly epoch: number;
  /** The caller's address, behind the proxies that are believed. */
  readonly peer: string;
  readonly content_type: string | null;
  /** Bytes that came: more than `body` has where it is truncated. */
  readonly length: number;
  readonly truncated: boolean;
  readonly body: Buffer;
}

/** One that several instances know under one number. */
export interface Numbered extends Received {
  /** Ascending in the order of arrival, and never used again. */
  readonly delivery_id: number;
}

export interface Delivery extends Numbered {
  /** Of `body`, in hex. */
  readonly sha256: string;
  readonly state: DeliveryState;
  /** Why it was settled so; null while it waits. */
  readonly reason: string | null;
  readonly settled_at: Instant | null;
  /** The delivery that this one repeats because a person asked for it. */
  readonly replay_of: number | null;
  /** Whether its body had to go, to stay within the budget: its hash and length are left. */
  readonly body_gone: boolean;
}

export type ListedDelivery = Omit<Delivery, 'body'>;

type Row = InboxTables['delivery'];

/** The columns of a row but for its body, which lists do not read. */
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
