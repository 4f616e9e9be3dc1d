import type { Instant } from '../../clock.ts';
import { type OfferFacts, type OptionalPath, optionalPathOf, type RefusalOf } from '../../domain/schedule/offer.ts';
import type { Resource } from '../../domain/schedule/resources.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import { query, upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

/** A path that the service does not have, or that the key may not read. */
export interface NotOffered {
  readonly path: OptionalPath;
  readonly since: number;
  readonly asked_at: number;
  readonly refusal: RefusalOf;
}

/** Optional paths that the service has. */
export interface OfferReads {
  find(path: OptionalPath): Pick<Tables['_offer'], keyof OfferFacts>;
  /** Returns whether records of the path exist: it is not refused, or the key could read it before. */
  isOffered(path: OptionalPath): boolean;
  offers(resource: Resource): boolean;
  /** Returns those that are not offered, by name. */
  missing(): (NotOffered & Pick<OfferFacts, 'answered_at'>)[];
}

export interface OfferTable extends OfferReads {
  /** Records an answer that shows that the path exists. */
  answered(path: OptionalPath, at: Instant): void;
  /** It was refused, which decides nothing yet. */
  refused(path: OptionalPath, at: Instant): void;
  /** It counts as not offered, as of now; returns whether that is new. */
  notOffered(path: OptionalPath, at: Instant, refusal: RefusalOf): boolean;
  /** Nothing is known of it: the configuration does not ask for it any more. */
  forget(path: OptionalPath): void;
}

const facts = ['answered_at', 'refused_at', 'not_offered_at', 'asked_at', 'refusal'] as const;
const nothing = { answered_at: null, refused_at: null, not_offered_at: null, asked_at: null, refusal: 'path' as const };

type OfPath = { path: OptionalPath };

export function offerReads(db: Reads): OfferReads {
  const one = db.rows(({ path }: Bound<OfPath>) => query.selectFrom('_offer').select(facts).where('path', '=', path));
  const missing = db.rows(() =>
    query
      .selectFrom('_offer')
      .select(['path', 'not_offered_at as since', 'asked_at', 'answered_at', 'refusal'])
      .where('not_offered_at', 'is not', null)
      .orderBy('path')
      .$narrowType<{ since: Instant; asked_at: Instant }>(),
  );
  const find = (path: OptionalPath) => one.get({ path }) ?? nothing;
  const isOffered = (path: OptionalPath) => {
    const { not_offered_at, answered_at, refusal } = find(path);
    return not_offered_at === null || (refusal === 'key' && answered_at !== null);
  };
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
  const { find, ...reads } = offerReads(db);
  const put = db.change(upsert('_offer', ['path'], facts));
  const forget = db.change(({ path }: Bound<OfPath>) => query.deleteFrom('_offer').where('path', '=', path));
  return {
    ...reads,
    find,
    answered: (path, at) => {
      put.run({ path, ...nothing, answered_at: at });
    },
    refused: (path, at) => {
      const known = find(path);
      put.run({ path, ...known, refused_at: known.refused_at ?? at });
    },
    notOffered: (path, at, refusal) => {
      const { answered_at, refused_at, not_offered_at } = find(path);
      const since = { refused_at: refused_at ?? at, not_offered_at: not_offered_at ?? at };
      put.run({ path, answered_at, ...since, asked_at: at, refusal });
      return not_offered_at === null;
    },
    forget: (path) => {
      forget.run({ path });
    },
  };
}
