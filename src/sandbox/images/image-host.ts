import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../kernel/clock.ts';
import { listen } from '../listen.ts';
import { hex, roll } from '../random.ts';

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

/** The properties that make one file differ from the others. */
interface Picture {
  readonly key: string;
  readonly width: number;
  readonly height: number;
  /** The number of times the image was replaced. */
  readonly edition: number;
}

/**
 * Returns a JPEG that any program can show: a sky above a ground, in two colours of its own. Its comments bring it to a
 * few kilobytes, and hold the text that makes it unique.
 */
function jpeg(seed: number, { key, width, height, edition }: Picture): Buffer {
  const text = `sandbox ${key} ${width}x${height} edition ${edition} `;
  const filling = hex(2000 + 2 * Math.floor(roll(seed, key, width, 'length') * 6000), seed, key, width, edition);
  const [columns, rows] = [Math.ceil(width / 8), Math.ceil(height / 8)];
  const chance = (what: string) => roll(seed, key, edition, what);
  const ground = Math.floor(rows * (0.5 + 0.3 * chance('horizon')));
  // Brightness, and how blue and how red. No two differ by more than 127.
  const sky = [40 + chance('light') * 50, chance('blue') * 45, chance('red') * 60 - 40];
  const land = [-30 + chance('dark') * 60, -10 - chance('green') * 40, chance('earth') * 60 - 30];
  return Buffer.concat([
    Buffer.of(0xff, 0xd8),
    segment(0xe0, Buffer.from('4a46494600010100000100010000', 'hex')),
    segment(0xfe, Buffer.from(text + filling)),
    // Steps of one level of brightness.
    segment(0xdb, Buffer.concat([Buffer.of(0), Buffer.alloc(64, 8)])),
    segment(
      0xc0,
      Buffer.of(
        8,
        height >> 8,
        height & 0xff,
        width >> 8,
        width & 0xff,
        3,
        ...[1, 2, 3].flatMap((id) => [id, 0x11, 0]),
      ),
    ),
    // Differences of 0 (code 0) or of n bits (four bits, 7 + n). The other coefficients have a single code, "no more"
    // (code 0).
    segment(0xc4, Buffer.concat([Buffer.of(0x00, 1, 0, 0, 7), Buffer.alloc(12), Buffer.of(0, 1, 2, 3, 4, 5, 6, 7)])),
    segment(0xc4, Buffer.concat([Buffer.of(0x10, 1), Buffer.alloc(15), Buffer.of(0)])),
    segment(0xda, Buffer.of(3, 1, 0, 2, 0, 3, 0, 0, 63, 0)),
    scan(
      [sky, land].map((colour) => colour.map(Math.round)),
      columns * ground,
      columns * (rows - ground),
    ),
    Buffer.of(0xff, 0xd9),
  ]);
}

function segment(marker: number, payload: Buffer): Buffer {
  const length = payload.length + 2;
  return Buffer.concat([Buffer.of(0xff, marker, length >> 8, length & 0xff), payload]);
}

/** Encodes blocks of one colour, then of another: of each block the differences to the block before, two bits if none. */
function scan(colours: readonly (readonly number[])[], ...counts: readonly number[]): Buffer {
  let bits = '';
  let before: readonly number[] = [0, 0, 0];
  for (const [index, colour] of colours.entries()) {
    const count = counts[index] ?? 0;
    if (count === 0) continue;
    bits += colour.map((value, each) => difference(value - (before[each] ?? 0))).join('') + '000000'.repeat(count - 1);
    before = colour;
  }
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  const bytes = Buffer.alloc(padded.length / 8);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(padded.slice(at * 8, at * 8 + 8), 2);
  return stuffed(bytes);
}

/** Encodes one difference: the number of its bits, the bits (of a negative one inverted), and "no more". */
function difference(value: number): string {
  if (value === 0) return '00';
  const size = Math.abs(value).toString(2).length;
  const bits = value > 0 ? value : value + 2 ** size - 1;
  return `${(7 + size).toString(2).padStart(4, '0')}${bits.toString(2).padStart(size, '0')}0`;
}

/** Puts a zero behind each byte of ones, which otherwise would begin a marker. */
function stuffed(bytes: Buffer): Buffer {
  return Buffer.from(
    bytes.toString('hex').replace(/(..)/g, (byte) => (byte === 'ff' ? 'ff00' : byte)),
    'hex',
  );
}
