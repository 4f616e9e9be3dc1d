import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** How a body is stored: null as it came, 1 zstd; 0: it is gone, only its hash, length and instants are left. */
export type Coding = null | 1 | 0;

export interface StoredBody {
  readonly coding: Coding;
  readonly body: Buffer;
}

/** A smaller one takes a page of the file either way, and compressing it as long as storing it. */
const compressedFrom = 4096;
/** No body that is received is larger; a damaged one is not inflated beyond it. */
const largest = 16 * 1024 * 1024;
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** What a buffer needs beyond what it is for: one that is full is followed by another. */
const spare = 64;

/** Returns a body as it is stored: compressed where that makes it smaller. */
export function stored(body: Buffer): StoredBody {
  if (body.length < compressedFrom) return { coding: null, body };
  // One buffer that has room for all of it: by default it is many, and then another one of all of them.
  const compressed = zstdCompressSync(body, { ...fast, chunkSize: body.length + spare });
  return compressed.length < body.length ? { coding: 1, body: compressed } : { coding: null, body };
}

/** Returns a body as it came; empty where it is gone. `length`: of what came, as far as that is known. */
export function asItCame({ coding, body, length }: StoredBody & { readonly length: number }): Buffer {
  if (coding !== 1) return body;
  const chunkSize = Math.min(length + spare, largest);
  return zstdDecompressSync(body, { maxOutputLength: largest, chunkSize });
}
