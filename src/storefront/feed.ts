import { wholeNumber } from './arguments.ts';
import type { Connection } from './connection.ts';
import { CursorFromTheFuture, CursorTooOld } from './problems.ts';
import type { ViewRow } from './views.ts';

type Change = ViewRow<'changes'>;

/** What changed after a change, in order, and what to ask with next. */
export function feedOf(connection: Connection) {
  const ends = connection.query<[], { floor: number; newest: number }>(
    () =>
      'SELECT feed_floor_seq AS floor, max(feed_floor_seq, COALESCE((SELECT max(seq) FROM changes), 0)) AS newest FROM mirror_info',
  );
  const page = connection.query<[number, number], Change>(
    (columns) => `SELECT ${columns('changes', 'c')} FROM changes c WHERE c.seq > ? ORDER BY c.seq LIMIT ?`,
  );

  return (after: number, limit?: number): { changes: Change[]; next: number } => {
    const cursor = wholeNumber('after', after, { most: Number.MAX_SAFE_INTEGER });
    const most = wholeNumber('limit', limit, { least: 1, most: 10_000, absent: 1000 });
    return connection.transaction(() => {
      const { floor, newest } = ends.get([]) ?? { floor: 0, newest: 0 };
      if (cursor < floor) throw new CursorTooOld(cursor, floor, newest);
      if (cursor > newest) throw new CursorFromTheFuture(cursor, newest);
      const changes = page.all([cursor, most]);
      return { changes, next: changes.at(-1)?.seq ?? cursor };
    });
  };
}
