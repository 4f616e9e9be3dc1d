import type { FileHandle } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';

/** A copy of one state of the mirror, to be sent. Closing its file removes it. */
export interface RowCopy {
  readonly file: FileHandle;
  readonly bytes: number;
  /** Epoch milliseconds: the copy has the mirror's state at that instant, or a newer one. */
  readonly published_at: number;
}

/** Adds `GET /v1/rows/copy`: sends the database file with which a follower begins. */
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
