import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import type { Clock } from '../kernel/clock.ts';

/** Answer from our own public address. `message` never contains the address. */
export interface SelfTestAnswer {
  readonly result: 'passed' | 'failed';
  readonly message: string;
  /** True if anything answered: a network may not let a machine reach its own public address. */
  readonly answered: boolean;
}

export interface SelfTestOptions {
  /** Well formed, but not in use by anyone. */
  readonly token: string;
  readonly public_url: string;
  readonly clock: Clock;
  readonly deadline_ms: number;
  /** The body of the receiver's 404; null: any 404 passes. */
  readonly refusal: string | null;
}

/** More than this is not our 404. */
const mostBytes = 4096;

/**
 * Posts to our own public address as a stranger would: the receiver, and nobody before it, must answer its 404. Not
 * through the limiter: the service is not asked.
 */
export async function selfTest(options: SelfTestOptions, signal: AbortSignal): Promise<SelfTestAnswer> {
  const { token, public_url, clock, deadline_ms, refusal } = options;
  using deadline = clock.deadline(deadline_ms, signal);
  try {
    const { status, body } = await post(`${public_url.replace(/\/+$/, '')}/${token}`, deadline.signal);
    if (status !== 404) return failed(`it answers ${status} where the receiver answers 404`, 'answered');
    if (refusal !== null && body !== refusal)
      return failed('another program than the receiver answers 404', 'answered');
    return { result: 'passed', message: 'the receiver answers', answered: true };
  } catch (error) {
    signal.throwIfAborted();
    const { code } = error as NodeJS.ErrnoException;
    return failed(
      deadline.signal.aborted ? 'no answer in time' : `it cannot be reached (${code ?? 'no HTTP'})`,
      'silent',
    );
  }
}

function failed(message: string, heard: 'answered' | 'silent'): SelfTestAnswer {
  return { result: 'failed', message, answered: heard === 'answered' };
}

function post(url: string, signal: AbortSignal): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const send = url.startsWith('https:') ? secure : plain;
  const headers = { 'content-type': 'application/json', 'content-length': 2 };
  const call = send(url, { method: 'POST', headers, signal, agent: false }, (response) => {
    let body = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      body += chunk;
      if (body.length > mostBytes) response.destroy();
    });
    response.on('close', () => resolve({ status: response.statusCode ?? 0, body }));
    response.on('error', () => undefined);
  });
  call.on('error', reject);
  call.end('{}');
  return promise;
}
