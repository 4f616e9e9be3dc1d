import { request as plain } from 'node:http';
import { request as secure } from 'node:https';

const mostBytes = 64 * 1024;

/** Posts a body to an address and returns the status. Rejects if no status came. */
export type Post = (url: string, body: string, signal: AbortSignal) => Promise<number>;

/**
 * Posts JSON once, over a new connection, and returns the status. Discards the body of the answer and follows no
 * redirect. Rejects if no status came: the connection failed, or the signal aborted.
 */
export async function postJson(url: string, body: string, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const send = url.startsWith('https:') ? secure : plain;
  let status: number | null = null;
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'catalogued-sandbox',
  };
  const request = send(url, { method: 'POST', agent: false, signal, headers }, (response) => {
    status = response.statusCode ?? null;
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > mostBytes) request.destroy();
    });
    response.on('error', () => undefined);
    response.on('close', () => resolve(response.statusCode ?? 0));
  });
  // Errors after the status no longer matter.
  request.on('error', (error) => (status === null ? reject(error) : resolve(status)));
  request.end(body);
  return promise;
}
