import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type HttpRead, httpReads } from '../storefront/http/reads.ts';
import type { Operation } from './api/operation.ts';
import { readRequest } from './request.ts';

/** The mirror as it is read over HTTP. */
export interface MirrorReads {
  /** Answers a call of the reader in a thread of its own: JSON with public columns only. */
  represent(call: { readonly name: HttpRead; readonly asked: readonly unknown[] }): Promise<{
    readonly body: string | Buffer;
    readonly etag: string;
    /** Seconds since 1970 of which it is, and until which a cache may keep it. */
    readonly at: number;
    readonly holds_until: number;
  }>;
}

/** The most bytes, and the most answers, that wait for clients to read them. */
const unsentAtMost = { bytes: 64 * 1024 * 1024, answers: 1000 } as const;

/**
 * The answers that their clients have not read yet. Beyond a limit the oldest ones are cut, so that slow readers take
 * neither the memory nor the connections of checks.
 */
export class UnsentAnswers {
  readonly #most: { readonly bytes: number; readonly answers: number };
  /** Bytes of each, the oldest first. */
  readonly #open = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(most: { readonly bytes: number; readonly answers: number } = unsentAtMost) {
    this.#most = most;
  }

  add(response: ServerResponse, bytes: number): void {
    // A client that has left already: its `close` does not come again.
    if (response.destroyed) return;
    this.#open.set(response, bytes);
    this.#bytes += bytes;
    response.once('close', () => this.#remove(response));
    for (const oldest of this.#open.keys()) {
      if (this.#bytes <= this.#most.bytes && this.#open.size <= this.#most.answers) break;
      this.#remove(oldest);
      oldest.destroy();
    }
  }

  #remove(response: ServerResponse): void {
    this.#bytes -= this.#open.get(response) ?? 0;
    this.#open.delete(response);
  }
}

interface Parsed {
  readonly path: { readonly id: number } | undefined;
  readonly query: Readonly<Record<string, unknown>>;
}

const nothing = Buffer.from('null');

/** Adds the route of one of the reader's functions. Answers carry how long they may be kept, and an ETag. */
export function readRoute(
  app: FastifyInstance,
  { name, path, operation }: { readonly name: HttpRead; readonly path: string; readonly operation: Operation },
  { reads, unsent }: { readonly reads: MirrorReads; readonly unsent: UnsentAnswers },
): void {
  const read: { readonly path: string; readonly second?: string } = httpReads[name];
  const argumentsOf = (request: FastifyRequest): readonly unknown[] => {
    // Safe cast: the schemas of the operation have parsed both.
    const { path, query } = readRequest(operation, request) as unknown as Parsed;
    const { [read.second ?? '']: second, ...options } = query;
    return [...(path === undefined ? [] : [path.id]), ...(read.second === undefined ? [] : [second]), options];
  };
  app.get(path, async (request: FastifyRequest<{ Params: { id?: string } }>, reply: FastifyReply) => {
    reply.header('vary', varying);
    const { body: said, etag, at, holds_until } = await reads.represent({ name, asked: argumentsOf(request) });
    const body = Buffer.isBuffer(said) ? said : Buffer.from(said);
    const missing = operation.missing?.(request.params.id ?? '');
    if (body.equals(nothing) && missing !== undefined)
      return reply.code(404).header('cache-control', 'no-store').send(missing);
    // Without must-revalidate a cache that does not reach the daemon may go on showing an image beyond its last day. A
    // max-age would begin again in each cache that sends its own Date: nginx does.
    reply.header('cache-control', 'public, must-revalidate');
    reply.header('date', httpDate(at)).header('expires', httpDate(holds_until));
    const known = knownTag(request.headers['if-none-match'], etag);
    reply.header('etag', known ?? `"${etag}"`);
    if (known !== null) return reply.code(304).send();
    unsent.add(reply.raw, body.length);
    return reply.type('application/json; charset=utf-8').send(body);
  });
}

/** The request headers by which answers differ. */
export const varying = 'Origin, Authorization';

function httpDate(seconds: number): string {
  return new Date(1000 * seconds).toUTCString();
}

/** Returns the tag by which a client names this answer, as it will find it again; null: it has another one, or none. */
function knownTag(asked: string | undefined, etag: string): string | null {
  if (asked?.trim() === '*') return `"${etag}"`;
  const tags = asked?.matchAll(/(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g) ?? [];
  for (const [tag, opaque = ''] of tags) if (opaque.replace(compressed, '') === etag) return tag.replace('W/', '');
  return null;
}

/** Endings that Apache and Caddy give to the tag of what they have compressed; nginx marks it as weak. */
const compressed = /-(?:gzip|br|zstd)$/;
