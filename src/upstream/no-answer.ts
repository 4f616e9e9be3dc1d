import { errors } from 'undici';
import { DeadlineExceeded } from '../clock.ts';
import { failed, type Outcome } from './outcome.ts';
import { TooLarge, transportError } from './response.ts';

const tlsCodes = /^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|EPROTO$)/;
const brokenCodes: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/** Returns why a call ended without an answer. Messages are ours: undici's may carry the whole URL. */
export function noAnswer(error: unknown, reason: unknown, answering: boolean): Outcome {
  if (reason instanceof DeadlineExceeded) return failed('deadline', reason.message);
  if (error instanceof TooLarge) return failed('too-large', error.message);
  const { cause, code, unreachable } = transportError(error);
  const { syscall, message = '' } = cause as NodeJS.ErrnoException;
  if (unreachable !== null) return { kind: 'unreachable', ...unreachable };
  if (code === 'ETIMEDOUT' && syscall === 'connect')
    return { kind: 'unreachable', code: 'connect-timeout', message: 'no connection in time' };
  if (tlsCodes.test(code) || message.includes('before secure TLS connection'))
    return { kind: 'unreachable', code: 'tls', message: `TLS fails (${code})` };
  if (error instanceof errors.HeadersTimeoutError) return failed('deadline', 'no answer in time');
  if (error instanceof errors.BodyTimeoutError) return failed('deadline', 'the body stalled');
  if (error instanceof errors.HeadersOverflowError) return failed('too-large', "the answer's headers are too large");
  if (error instanceof errors.InvalidArgumentError) return failed('not-sendable', 'the request cannot be sent');
  if (error instanceof errors.ClientDestroyedError || error instanceof errors.ClientClosedError)
    return failed('closed', 'the client is closed');
  // The other side ended in good order, but before the end of what it announced.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || (answering && code === 'UND_ERR_SOCKET'))
    return failed('truncated', 'the body is shorter than announced');
  if (brokenCodes.has(code)) return failed('reset', 'the connection broke before the answer was whole');
  return failed('http', `the answer is no HTTP (${code || (cause as Error).name})`);
}
