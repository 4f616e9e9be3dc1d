import type { OfferFacts, OptionalPath } from '../../domain/schedule/offer.ts';
import { optionalPathOf } from '../../domain/schedule/offer.ts';
import type { Resource } from '../../domain/schedule/resources.ts';
import type { Database } from '../../sqlite/database-file.ts';

/** A path that the service does not have. */
export interface NotOffered {
  readonly path: OptionalPath;
  readonly since: number;
  readonly asked_at: number;
}

/** Which optional paths the service has. Every function that writes runs inside the caller's transaction. */
export interface OfferTable {
  find(path: OptionalPath): OfferFacts;
  /** Whether the path of a resource is asked as usual. */
  isOffered(path: OptionalPath): boolean;
  offers(resource: Resource): boolean;
  /** An answer shows that it exists; returns whether it counted as not offered. */
  answered(path: OptionalPath, at: number): boolean;
  /** It answered 404 or 405, which decides nothing yet. */
  refused(path: OptionalPath, at: number): void;
  /** It counts as not offered, as of now; returns whether that is new. */
  notOffered(path: OptionalPath, at: number): boolean;
  /** Nothing is known of it: the configuration does not ask for it any more. */
  forget(path: OptionalPath): void;
  /** Those that are not offered, by name. */
  missing(): NotOffered[];
}

const nothing: OfferFacts = { answered_at: null, refused_at: null, not_offered_at: null, asked_at: null };

export function offerTable(db: Database): OfferTable {
  const one = db.prepare<[string], OfferFacts>(
    'SELECT answered_at, refused_at, not_offered_at, asked_at FROM offer WHERE path = ?',
  );
  const without = db
    .prepare<[string], number>('SELECT 1 FROM offer WHERE path = ? AND not_offered_at IS NOT NULL')
    .pluck();
  const answered = db.prepare(
    `INSERT INTO offer (path, answered_at) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET answered_at = excluded.answered_at, refused_at = NULL, not_offered_at = NULL, asked_at = NULL`,
  );
  const refused = db.prepare(
    `INSERT INTO offer (path, refused_at) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET refused_at = COALESCE(refused_at, excluded.refused_at)`,
  );
  const notOffered = db.prepare<{ path: string; at: number }>(
    `INSERT INTO offer (path, refused_at, not_offered_at, asked_at) VALUES (@path, @at, @at, @at)
     ON CONFLICT DO UPDATE SET not_offered_at = COALESCE(not_offered_at, @at), asked_at = @at`,
  );
  const forget = db.prepare<[string]>('DELETE FROM offer WHERE path = ?');
  const missing = db.prepare<[], NotOffered>(
    'SELECT path, not_offered_at AS since, asked_at FROM offer WHERE not_offered_at IS NOT NULL ORDER BY path',
  );
  const isOffered = (path: OptionalPath) => without.get(path) === undefined;
  return {
    find: (path) => one.get(path) ?? nothing,
    isOffered,
    offers: (resource) => {
      const path = optionalPathOf(resource);
      return path === null || isOffered(path);
    },
    answered: (path, at) => {
      const was = isOffered(path);
      answered.run(path, at);
      return !was;
    },
    refused: (path, at) => {
      refused.run(path, at);
    },
    notOffered: (path, at) => {
      const was = isOffered(path);
      notOffered.run({ path, at });
      return was;
    },
    forget: (path) => {
      forget.run(path);
    },
    missing: () => missing.all(),
  };
}
