import type { Instant } from '../kernel/clock.ts';
import { type Reads, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, dropBy, query, upsert } from '../mirror/sql/sql.ts';
import { type OptionalPath, optionalPathOf, type RefusalOf } from './offer.rules.ts';
import type { Resource } from './resources.rules.ts';

/** A path that the service does not have, or that the key may not read. */
export interface NotOffered {
  readonly path: OptionalPath;
  readonly since: number;
  readonly asked_at: number;
  readonly refusal: RefusalOf;
}

const facts = ['answered_at', 'refused_at', 'not_offered_at', 'asked_at', 'refusal'] as const;
const nothing = { answered_at: null, refused_at: null, not_offered_at: null, asked_at: null, refusal: 'path' as const };

/** Optional paths that the service has. */
export class OfferReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #one = this.db.row(byKey('_offer', ['path'], facts));
  /** Returns those that are not offered, by name. */
  readonly missing = this.db.rows(() =>
    query
      .selectFrom('_offer')
      .select(['path', 'not_offered_at as since', 'asked_at', 'answered_at', 'refusal'])
      .where('not_offered_at', 'is not', null)
      .orderBy('path')
      .$narrowType<{ since: Instant; asked_at: Instant }>(),
  );

  find(path: OptionalPath) {
    return this.#one({ path }) ?? nothing;
  }

  /** Returns whether records of the path exist: it is not refused, or the key could read it before. */
  isOffered(path: OptionalPath): boolean {
    const { not_offered_at, answered_at, refusal } = this.find(path);
    return not_offered_at === null || (refusal === 'key' && answered_at !== null);
  }

  offers(resource: Resource): boolean {
    const path = optionalPathOf(resource);
    return path === null || this.isOffered(path);
  }
}

export class OfferTable extends OfferReads<Writes> {
  readonly #put = this.db.change(upsert('_offer', ['path'], facts));
  /** Nothing is known of it: the configuration does not ask for it any more. */
  readonly forget = this.db.change(dropBy('_offer', ['path']));

  /** Records an answer that shows that the path exists. */
  answered(path: OptionalPath, at: Instant): void {
    this.#put({ path, ...nothing, answered_at: at });
  }

  /** It was refused, which decides nothing yet. */
  refused(path: OptionalPath, at: Instant): void {
    const known = this.find(path);
    this.#put({ path, ...known, refused_at: known.refused_at ?? at });
  }

  /** It counts as not offered, as of now; returns whether that is new. */
  notOffered(path: OptionalPath, at: Instant, refusal: RefusalOf): boolean {
    const { answered_at, refused_at, not_offered_at } = this.find(path);
    const since = { refused_at: refused_at ?? at, not_offered_at: not_offered_at ?? at };
    this.#put({ path, answered_at, ...since, asked_at: at, refusal });
    return not_offered_at === null;
  }
}
