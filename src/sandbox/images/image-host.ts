import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../clock.ts';
import { listen } from '../listen.ts';
import { jpeg } from './jpeg.ts';

export interface SandboxImageHostOptions {
  readonly clock: Clock;
  readonly seed: number;
  readonly host?: string;
  readonly port?: number;
  /** Milliseconds between the two parts in which each file is sent; if absent, files are sent at once. */
  readonly halves_ms?: number;
  /** Called for each request for an image. */
  readonly asked?: (request: { readonly key: string; readonly headers: IncomingMessage['headers'] }) => void;
}

/** The fault in the answers for one image. */
export type ImageTrouble =
  | { readonly kind: 'status'; readonly status: number; readonly retry_after?: string }
  /** Sends one byte at a time, `ms` milliseconds apart. */
  | { readonly kind: 'drip'; readonly ms: number }
  /** Sends a JPEG of `bytes` bytes, with or without its length in the headers. */
  | { readonly kind: 'huge'; readonly bytes: number; readonly length: 'announced' | 'unannounced' }
  /** Sends another kind of file, with its correct content type or the given one. */
  | { readonly kind: 'html' | 'svg' | 'text'; readonly type?: string }
  | { readonly kind: 'redirect'; readonly to: string }
  /**
   * Sends half of the file. `truncated`: the connection breaks. `half`: the answer ends normally without a length, so
   * that nothing shows that bytes are missing.
   */
  | { readonly kind: 'truncated' | 'half' };

/** The host of the images named by the catalogue. It needs no key, and has limits and faults of its own. */
export interface SandboxImageHost extends AsyncDisposable {
  /** The value for the sandbox option `image_origin`. */
  readonly url: string;
  /** Requests received, and bytes of bodies sent, since the start or the last `forget`. */
  requests(): number;
  bytes(): number;
  /** The number of answers "not modified" (304). */
  unchanged(): number;
  forget(): void;
  /** Serves other bytes under the same address from now on. */
  replace(key: string): void;
  withdraw(key: string, status?: 404 | 410): void;
  /** Sets the fault of an image; null removes it. */
  trouble(key: string, trouble: ImageTrouble | null): void;
}

const path = /^\/images\/content\/([0-9a-f]{32})\.jpg$/;
const started = 'Sat, 01 Aug 2026 10:00:00 GMT';
const wrong = {
  html: ['text/html; charset=utf-8', '<!doctype html><title>Sign in</title><p>Please sign in.</p>'],
  svg: [
    'image/svg+xml',
    '<svg xmlns="http://www.w3.org/2000/svg" width="500" height="500"><script>alert(document.cookie)</script></svg>',
  ],
  text: ['text/plain', 'no such image'],
} as const;

/** Starts the host. Throws (74) if the port is taken. */
export async function startImageHost(options: SandboxImageHostOptions): Promise<SandboxImageHost> {
  const { clock, seed, host = '127.0.0.1' } = options;
  const editions = new Map<string, { edition: number; modified: string }>();
  const troubles = new Map<string, ImageTrouble>();
  let counts = { requests: 0, bytes: 0, unchanged: 0 };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    counts.requests += 1;
    const url = new URL(request.url ?? '/', 'http://images');
    const key = path.exec(url.pathname)?.[1];
    if (key !== undefined) options.asked?.({ key, headers: request.headers });
    if (key === undefined || request.method !== 'GET') return send(response, 404, { 'content-type': 'text/plain' }, '');
    const { edition, modified } = editions.get(key) ?? { edition: 0, modified: started };
    const [width, height] = [sizeOf(url, 'w'), sizeOf(url, 'h')];
    const body = jpeg(seed, { key, width, height, edition });
    const trouble = troubles.get(key);
    const etag = `"${hash('sha256', body)}"`;
    const headers = { 'content-type': 'image/jpeg', etag, 'last-modified': modified, 'cache-control': 'max-age=86400' };
    if (trouble !== undefined) return spoilt(request, response, trouble, headers, body);
    if (request.headers['if-none-match'] === etag) {
      counts.unchanged += 1;
      return send(response, 304, headers, null);
    }
    if (options.halves_ms === undefined) return send(response, 200, headers, body);
    response.writeHead(200, { ...headers, 'content-length': String(body.length) });
    write(response, body.subarray(0, body.length >> 1));
    await clock.sleep(options.halves_ms);
    write(response, body.subarray(body.length >> 1));
    response.end();
  }

  async function spoilt(
    request: IncomingMessage,
    response: ServerResponse,
    trouble: ImageTrouble,
    headers: Record<string, string>,
    body: Buffer,
  ): Promise<void> {
    switch (trouble.kind) {
      case 'status': {
        const wait = trouble.retry_after === undefined ? {} : { 'retry-after': trouble.retry_after };
        return send(response, trouble.status, { 'content-type': 'text/plain', ...wait }, 'no');
      }
      case 'redirect':
        return send(response, 302, { location: trouble.to }, null);
      case 'html':
      case 'svg':
      case 'text': {
        const [type, text] = wrong[trouble.kind];
        return send(response, 200, { 'content-type': trouble.type ?? type }, text);
      }
      case 'truncated':
      case 'half': {
        const length =
          trouble.kind === 'truncated' ? { 'content-length': String(body.length) } : { connection: 'close' };
        response.writeHead(200, { ...headers, ...length });
        const part = body.subarray(0, body.length >> 1);
        counts.bytes += part.length;
        if (trouble.kind === 'half') return void response.end(part);
        return void response.write(part, () => response.destroy());
      }
      case 'drip':
        response.writeHead(200, { ...headers, 'content-length': String(body.length) });
        for (const byte of body) {
          if (response.destroyed) return;
          write(response, Buffer.of(byte));
          await clock.sleep(trouble.ms);
        }
        return void response.end();
      case 'huge': {
        const length = trouble.length === 'announced' ? { 'content-length': String(trouble.bytes) } : {};
        response.writeHead(200, { ...headers, ...length });
        return pour(request, response, body, trouble.bytes);
      }
    }
  }

  /** Sends bytes as fast as the client takes them, until all are sent or the client has gone. */
  async function pour(request: IncomingMessage, response: ServerResponse, head: Buffer, bytes: number): Promise<void> {
    const gone = new AbortController();
    request.socket.once('close', () => gone.abort());
    const block = Buffer.alloc(64 * 1024, 0x20);
    let more = write(response, head);
    for (let sent = head.length; sent < bytes && !gone.signal.aborted; sent += block.length) {
      if (!more) await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
      more = write(response, block.subarray(0, Math.min(block.length, bytes - sent)));
    }
    response.end();
  }

  function write(response: ServerResponse, part: Buffer): boolean {
    if (response.destroyed) return true;
    counts.bytes += part.length;
    return response.write(part);
  }

  function send(
    response: ServerResponse,
    status: number,
    headers: Record<string, string>,
    body: Buffer | string | null,
  ) {
    const bytes = Buffer.from(body ?? '');
    counts.bytes += bytes.length;
    response.writeHead(status, body === null ? headers : { ...headers, 'content-length': String(bytes.length) });
    response.end(bytes);
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await listen(server, options.port ?? 0, host);
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://${host}:${port}`,
    requests: () => counts.requests,
    bytes: () => counts.bytes,
    unchanged: () => counts.unchanged,
    forget: () => {
      counts = { requests: 0, bytes: 0, unchanged: 0 };
    },
    replace: (key) => {
      const edition = (editions.get(key)?.edition ?? 0) + 1;
      editions.set(key, { edition, modified: new Date(clock.now()).toUTCString() });
    },
    withdraw: (key, status = 404) => {
      troubles.set(key, { kind: 'status', status });
    },
    trouble: (key, trouble) => {
      if (trouble === null) troubles.delete(key);
      else troubles.set(key, trouble);
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function sizeOf(url: URL, side: 'w' | 'h'): number {
  return Math.min(4000, Math.max(1, Number(url.searchParams.get(side)) || 500));
}
