import { gunzipSync } from 'node:zlib';
import { type Failed, failed } from './outcome.ts';

/**
 * Returns a body as it was before it was encoded, of at most `max_bytes`; a `failed` outcome (`too-large`, `truncated`,
 * `bad-encoding`) where it is none. Synchronous: for bodies of this size that costs less than a hand-over to another
 * thread (performance.md section 4).
 */
export function inflate(body: Buffer, encoding: string | undefined, max_bytes: number): Buffer | Failed {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return body;
  if (name !== 'gzip') return failed('bad-encoding', 'the body is encoded in a way that was not asked for');
  try {
    return gunzipSync(body, { maxOutputLength: max_bytes });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      return failed('too-large', `the body inflates to more than ${max_bytes} bytes`);
    if (code === 'Z_BUF_ERROR') return failed('truncated', 'the body ends within its gzip');
    return failed('bad-encoding', 'the body is not the gzip it claims to be');
  }
}
