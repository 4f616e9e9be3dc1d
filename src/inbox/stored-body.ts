import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** Encoding of a stored body: null: as received; 1: zstd; 0: removed, and only its hash, length and instants are left. */
export type Coding = null | 1 | 0;

export interface StoredBody {
  readonly coding: Coding;
  readonly body: Buffer;
}

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
export function asItCame({ coding, body, length }: StoredBody & { readonly length: number }): Buffer {
  if (coding !== 1) return body;
  const chunkSize = Math.min(length + spare, largest);
  return zstdDecompressSync(body, { maxOutputLength: largest, chunkSize });
}
