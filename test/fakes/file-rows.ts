import Database from 'better-sqlite3';
import type { RowSource } from '../../src/copies/follow/source.ts';
import { RowPages } from '../../src/feed/pages.store.ts';
import { publishCopy } from '../../src/kernel/sqlite/published-copy.ts';

/** A daemon's rows without a network between: of its file, so many at a time. */
export function fileRows(path: string, now: () => number, most = 300): RowSource {
  return {
    after: async (question) => {
      const db = new Database(path, { readonly: true });
      try {
        return new RowPages(db).after({ ...question, limit: Math.min(question.limit, most) }, now());
      } finally {
        db.close();
      }
    },
    copy: async (to) => {
      publishCopy(path, to, `${to}.made`, { mode: 0o600 });
      return now();
    },
  };
}
