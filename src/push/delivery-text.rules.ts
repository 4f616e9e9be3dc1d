import { gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

/** The most bytes of a delivery, as it is sent and as it is inflated. */
export const longestDelivery = 1024 * 1024;

/** Reason why a delivery has no text. */
export type NoText = 'not-utf8' | 'bad-encoding' | 'inflates-too-long' | 'encoded-twice';

/**
 * Returns the text of a delivery. Recognises gzip and deflate by their bytes, because some senders name no encoding. What
 * is still compressed when it was inflated is refused.
 */
export function deliveryText(body: Uint8Array): { readonly text: string } | { readonly none: NoText } {
  const inflate = isGzip(body) ? gunzipSync : isZlib(body) ? inflateSync : null;
  if (inflate === null) return utf8(body) ?? inflated(inflateRawSync, body, 'not-utf8');
  const whole = inflated(inflate, body, 'bad-encoding');
  // Text may begin like deflate.
  return 'none' in whole && whole.none === 'bad-encoding' ? (utf8(body) ?? whole) : whole;
}

type Inflate = (body: Uint8Array, options: { readonly maxOutputLength: number }) => Uint8Array;

function inflated(inflate: Inflate, body: Uint8Array, otherwise: NoText): ReturnType<typeof deliveryText> {
  try {
    const inner = inflate(body, { maxOutputLength: longestDelivery });
    return isGzip(inner) || isZlib(inner) ? { none: 'encoded-twice' } : (utf8(inner) ?? { none: 'not-utf8' });
  } catch (error) {
    return { none: (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'inflates-too-long' : otherwise };
  }
}

function isGzip(body: Uint8Array): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}

/** RFC 1950 section 2.2: the method is 8, and the two bytes of the header are a multiple of 31. */
function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && first >> 4 <= 7 && ((first << 8) | second) % 31 === 0;
}

function utf8(body: Uint8Array): { readonly text: string } | null {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(body) };
  } catch {
    return null;
  }
}
