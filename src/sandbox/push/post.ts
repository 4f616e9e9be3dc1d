import { request as plain } from 'node:http';
import { request as secure } from 'node:https';

const mostBytes = 64 * 1024;

/** Posts a body to an address and returns the status; rejects where no status came. */
export type Post = (url: string, body: string, signal: AbortSignal) => Promise<number>;

/**
 * Posts JSON once, over a connection of its own, and returns the status. The body of the answer is thrown away, a
 * redirect is not followed. Rejects where no status came: no connection, or the signal.
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
  // What goes wrong after the status changes nothing any more.
  request.on('error', (error) => (status === null ? reject(error) : resolve(status)));
  request.end(body);
  return promise;
}
