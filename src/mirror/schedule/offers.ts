import type { Instant } from '../../clock.ts';
import type { OfferFacts, OptionalPath } from '../../domain/schedule/offer.ts';
import { optionalPathOf } from '../../domain/schedule/offer.ts';
import type { Resource } from '../../domain/schedule/resources.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/** A path that the service does not have. */
export interface NotOffered {
  readonly path: OptionalPath;
  readonly since: number;
  readonly asked_at: number;
}

/** Optional paths that the service has. */
export interface OfferReads {
  find(path: OptionalPath): OfferFacts;
  /** Returns whether the path of a resource is requested as usual. */
  isOffered(path: OptionalPath): boolean;
  offers(resource: Resource): boolean;
  /** Returns those that are not offered, by name. */
  missing(): (NotOffered & Pick<OfferFacts, 'answered_at'>)[];
}

export interface OfferTable extends OfferReads {
  /** An answer shows that it exists; returns whether it counted as not offered. */
  answered(path: OptionalPath, at: Instant): boolean;
  /** It answered 404 or 405, which decides nothing yet. */
  refused(path: OptionalPath, at: Instant): void;
  /** It counts as not offered, as of now; returns whether that is new. */
  notOffered(path: OptionalPath, at: Instant): boolean;
  /** Nothing is known of it: the configuration does not ask for it any more. */
  forget(path: OptionalPath): void;
}

const nothing: OfferFacts = { answered_at: null, refused_at: null, not_offered_at: null, asked_at: null };

type OfPath = { path: OptionalPath };

export function offerReads(db: Reads): OfferReads {
  const one = db.rows(({ path }: Bound<OfPath>) =>
    query
      .selectFrom('_offer')
      .select(['answered_at', 'refused_at', 'not_offered_at', 'asked_at'])
      .where('path', '=', path),
  );
  const missing = db.rows(() =>
    query
      .selectFrom('_offer')
      .select(['path', 'not_offered_at as since', 'asked_at', 'answered_at'])
      .where('not_offered_at', 'is not', null)
      .orderBy('path')
      .$narrowType<{ since: Instant; asked_at: Instant }>(),
  );
  const find = (path: OptionalPath) => one.get({ path }) ?? nothing;
  const isOffered = (path: OptionalPath) => find(path).not_offered_at === null;
  return {
    find,
    isOffered,
    offers: (resource) => {
      const path = optionalPathOf(resource);
      return path === null || isOffered(path);
    },
    missing: () => missing.all(),
  };
}

export function offerTable(db: Writes): OfferTable {
  const reader = offerReads(db);
  type At = OfPath & { at: Instant };
  const answered = db.change(({ path, at }: Bound<At>) =>
    query
      .insertInto('_offer')
      .values({ path, answered_at: at })
      .onConflict((known) =>
        known.column('path').doUpdateSet({ answered_at: at, refused_at: null, not_offered_at: null, asked_at: null }),
      ),
  );
  const refused = db.change(({ path, at }: Bound<At>) =>
    query
      .insertInto('_offer')
      .values({ path, refused_at: at })
      .onConflict((known) =>
        known.column('path').doUpdateSet(({ fn }) => ({ refused_at: fn.coalesce('_offer.refused_at', at) })),
      ),
  );
  const notOffered = db.change(({ path, at }: Bound<At>) =>
    query
      .insertInto('_offer')
      .values({ path, refused_at: at, not_offered_at: at, asked_at: at })
      .onConflict((known) =>
        known
          .column('path')
          .doUpdateSet(({ fn }) => ({ not_offered_at: fn.coalesce('_offer.not_offered_at', at), asked_at: at })),
      ),
  );
  const forget = db.change(({ path }: Bound<OfPath>) => query.deleteFrom('_offer').where('path', '=', path));
  return {
    ...reader,
    answered: (path, at) => {
      const was = reader.isOffered(path);
      answered.run({ path, at });
      return !was;
    },
    refused: (path, at) => {
      refused.run({ path, at });
    },
    notOffered: (path, at) => {
      const was = reader.isOffered(path);
      notOffered.run({ path, at });
      return was;
    },
    forget: (path) => {
      forget.run({ path });
    },
  };
}
