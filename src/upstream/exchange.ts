import type { Dispatcher } from 'undici';
import { type Head, tooLarge } from './response.ts';

interface Asked {
  readonly request: Dispatcher.DispatchOptions;
  readonly signal: AbortSignal;
  /** Called when there is a connection for it, right before it is written; returns why it must not be, or null. */
  starts(): Error | null;
  /** Called when the head of the answer is there; returns how many bytes of its body are read at most. */
  begins(head: Head): number;
}

/**
 * Sends a request and collects its answer; rejects with what ended it, a `TooLarge` among them, or the signal's reason.
 * Without a stream between the connection and the parts of the body, which costs a third of a small answer.
 */
export function exchange(
  dispatcher: Dispatcher,
  { request, signal, starts, begins }: Asked,
): Promise<readonly Buffer[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly Buffer[]>();
  const parts: Buffer[] = [];
  let underWay: Dispatcher.DispatchController | null = null;
  let left = 0;
  let most = 0;
  const stop = () => {
    underWay?.abort(signal.reason);
    reject(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  dispatcher.dispatch(request, {
    onRequestStart: (controller) => {
      const refused = signal.aborted ? signal.reason : starts();
      if (refused === null) underWay = controller;
      else controller.abort(refused);
    },
    onResponseStart: (_, statusCode, headers) => {
      if (statusCode < 200) return;
      most = begins({ statusCode, headers });
      left = most;
    },
    onResponseData: (controller, part) => {
      left -= part.length;
      if (left < 0) controller.abort(tooLarge(most));
      else parts.push(part);
    },
    onResponseEnd: () => {
      signal.removeEventListener('abort', stop);
      resolve(parts);
    },
    onResponseError: (_, error) => {
      signal.removeEventListener('abort', stop);
      reject(error);
    },
  });
  return promise;
}
