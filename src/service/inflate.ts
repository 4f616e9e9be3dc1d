import { gunzipSync } from 'node:zlib';
import { type Failed, failed } from './outcome.ts';
import { whole } from './response.ts';

/**
 * Returns a body as it was before it was encoded, of at most `max_bytes`; a `failed` outcome (`too-large`, `truncated`,
 * `bad-encoding`) where it is none. Synchronous: for bodies of this size that costs less than a hand-over to another
 * thread.
 */
export function inflate(
  parts: readonly Buffer[],
  encoding: string | undefined,
  max_bytes: number,
): readonly Buffer[] | Failed {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return parts;
  // RFC 9110 section 8.4.1.3: x-gzip is another name of it.
  if (name !== 'gzip' && name !== 'x-gzip')
    return failed('bad-encoding', 'the service answers in an encoding that was not asked for');
  try {
    const body = whole(parts);
    return [gunzipSync(body, { maxOutputLength: max_bytes, chunkSize: chunkOf(body) })];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      return failed('too-large', `the body inflates to more than ${max_bytes} bytes`);
    if (code === 'Z_BUF_ERROR') return failed('truncated', 'the body ends within its gzip');
    return failed('bad-encoding', 'the service answers with gzip that cannot be read');
  }
}

/** Sizes between which an inflated body is given one piece of memory, instead of pieces that are put together. */
const [leastChunk, mostChunk] = [16 * 1024, 1024 * 1024];

/** As much as the body says at its end that it inflates to, and a byte: a full piece asks for another. */
function chunkOf(body: Buffer): number {
  const said = body.length < 4 ? 0 : body.readUInt32LE(body.length - 4);
  return said > mostChunk ? leastChunk : Math.max(said + 1, leastChunk);
}
