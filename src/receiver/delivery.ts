import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Instant } from '../kernel/clock.ts';
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

/** Encoding of a stored body: null: as received; 1: zstd; 0: removed, and only its hash, length and instants are left. */
type StoredBody = Pick<Row, 'coding' | 'body'>;

/**
 * The least bytes of a body that is compressed. A smaller one takes a page of the file either way, and compressing it
 * takes as long as storing it.
 */
const compressedFrom = 4096;
/** The most bytes of a body. No received body is larger, and a damaged one is not inflated beyond it. */
const largest = 16 * 1024 * 1024;
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Spare bytes of a buffer: a buffer that is exactly full would be followed by a second one. */
const spare = 64;

/** Returns a body as it is stored: compressed if that makes it smaller. */
export function stored(body: Buffer): StoredBody {
  if (body.length < compressedFrom) return { coding: null, body };
  // One buffer with room for all of it. By default there are many, which are then copied into another one.
  const compressed = zstdCompressSync(body, { ...fast, chunkSize: body.length + spare });
  return compressed.length < body.length ? { coding: 1, body: compressed } : { coding: null, body };
}

/** Returns a body as received; empty if it was removed. `length`: its length as received, as far as known. */
function asItCame({ coding, body, length }: Row): Buffer {
  if (coding !== 1) return body;
  const chunkSize = Math.min(length + spare, largest);
  return zstdDecompressSync(body, { maxOutputLength: largest, chunkSize });
}
