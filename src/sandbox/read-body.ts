import type { IncomingMessage } from 'node:http';

const mostBytes = 4 * 1024 * 1024;

/** Returns the whole body as text. A body of more than 4 MiB ends the connection. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
