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

/** Returns a body as it is stored: compressed where that makes it smaller. */
export function stored(body: Buffer): StoredBody {
  if (body.length < compressedFrom) return { coding: null, body };
  const compressed = zstdCompressSync(body, fast);
  return compressed.length < body.length ? { coding: 1, body: compressed } : { coding: null, body };
}

/** Returns a body as it came; empty where it is gone. */
export function asItCame({ coding, body }: StoredBody): Buffer {
  return coding === 1 ? zstdDecompressSync(body, { maxOutputLength: largest }) : body;
}
