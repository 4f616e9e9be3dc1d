import type { Resource } from '../../domain/schedule/resources.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { Tables } from '../sql/tables.ts';

export interface WalkKey {
  readonly resource: Resource;
  readonly edition: string;
}

export type WalkState = Omit<Tables['walk'], 'resource' | 'edition'>;

/** Walks over paged lists, one page at a time. Every function runs inside the caller's transaction. */
export interface WalkTable {
  find(key: WalkKey): WalkState | null;
  /** Begins at page 1 again, as attempt number `attempt`; the first attempt forgets the rows of the walk before. */
  begin(key: WalkKey, started_at: number, attempt: number): WalkState;
  /** Notes the rows of a page, and goes on to the next one; returns how many rows this walk has met before. */
  turn(key: WalkKey, walk: WalkState, ids: readonly number[]): number;
  /** How many different rows this attempt has met, and how many all its attempts together. */
  rows(key: WalkKey, attempt: number): { attempt: number; all: number };
  /** Ends the walk. Only a complete one says anything about what is absent. */
  end(key: WalkKey, completed_at: number | null): void;
}

export function walkTable(db: Database): WalkTable {
  const one = db.prepare<[string, string], WalkState>(
    'SELECT started_at, next_page, attempt, repeated, completed_at FROM walk WHERE resource = ? AND edition = ?',
  );
  const put = db.prepare(
    `INSERT INTO walk (resource, edition, started_at, next_page, attempt, repeated, completed_at) VALUES (@resource, @edition, @started_at, 1, @attempt, 0, NULL)
     ON CONFLICT (resource, edition) DO UPDATE SET started_at = @started_at, next_page = 1, attempt = @attempt, repeated = 0`,
  );
  const forget = db.prepare<[string, string]>('DELETE FROM walk_row WHERE resource = ? AND edition = ?');
  const note = db.prepare<[string, string, number, number]>(
    `INSERT INTO walk_row (resource, edition, id, attempt) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET attempt = excluded.attempt WHERE attempt <> excluded.attempt`,
  );
  const advance = db.prepare<[number, number, string, string]>(
    'UPDATE walk SET next_page = ?, repeated = repeated + ? WHERE resource = ? AND edition = ?',
  );
  const count = db.prepare<[number, string, string], { attempt: number; all: number }>(
    'SELECT COALESCE(sum(attempt = ?), 0) AS attempt, count(*) AS "all" FROM walk_row WHERE resource = ? AND edition = ?',
  );
  const finish = db.prepare<[number | null, string, string]>(
    'UPDATE walk SET next_page = 0, completed_at = COALESCE(?, completed_at) WHERE resource = ? AND edition = ?',
  );

  const find = ({ resource, edition }: WalkKey) => one.get(resource, edition) ?? null;
  return {
    find,
    begin: (key, started_at, attempt) => {
      if (attempt === 1) forget.run(key.resource, key.edition);
      put.run({ ...key, started_at, attempt });
      return find(key) as WalkState;
    },
    turn: ({ resource, edition }, { next_page, attempt }, ids) => {
      const repeated = ids.reduce(
        (sum, id) => sum + (note.run(resource, edition, id, attempt).changes === 0 ? 1 : 0),
        0,
      );
      advance.run(next_page + 1, repeated, resource, edition);
      return repeated;
    },
    rows: ({ resource, edition }, attempt) => count.get(attempt, resource, edition) ?? { attempt: 0, all: 0 },
    end: ({ resource, edition }, completed_at) => {
      finish.run(completed_at, resource, edition);
    },
  };
}
