import type { FileHandle } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';

/** A copy of one state of the mirror, to be sent; closing it removes it. */
export interface RowCopy {
  readonly file: FileHandle;
  readonly bytes: number;
  /** Epoch milliseconds: it is as the mirror was then, or newer. */
  readonly published_at: number;
}

/** Adds `GET /v1/rows/copy`: the file that a follower begins with, as it is on the disk. */
export function rowCopyRoute(app: FastifyInstance, copy: () => Promise<RowCopy>): void {
  app.get('/v1/rows/copy', { exposeHeadRoute: false }, async (_, reply) => {
    const { file, bytes, published_at } = await copy();
    return reply
      .type('application/vnd.sqlite3')
      .header('content-length', bytes)
      .header('x-published-at', published_at)
      .send(file.createReadStream());
  });
}
