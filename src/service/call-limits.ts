/** How long one call may take, and how large its answer may be. */
export interface CallLimits {
  readonly deadline_ms: number;
  readonly max_bytes: number;
}

const mebibyte = 1024 ** 2;

/**
 * Largest answers accepted, uncompressed. An answer has 58 kB on average. They bound memory:
 * a service with larger answers is asked for fewer rows (`page_size`) or dates (`days_per_request`).
 */
const maxBytes = { list: 32 * mebibyte, other: 4 * mebibyte };

/** Returns the limits of a page of a list and of any other call. The service needs longest for a page of 100 rows. */
export function callLimits(timeout: number): { readonly list: CallLimits; readonly other: CallLimits } {
  return {
    list: { deadline_ms: 3 * timeout, max_bytes: maxBytes.list },
    other: { deadline_ms: timeout, max_bytes: maxBytes.other },
  };
}

/**
 * Returns the limits of the stages of a call, in milliseconds of the machine's own time: to connect, from sending to the
 * first byte, and between two bytes. They end a dead call before its deadline. A handshake takes as long for a slow
 * service as for a fast one.
 */
export function stageLimits(timeout: number) {
  return { connect: Math.min(5000, timeout), headers: Math.ceil(timeout / 4), idle: Math.ceil(timeout / 6) };
}
