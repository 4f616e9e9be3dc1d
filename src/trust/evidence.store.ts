import { primaryTitle } from '../catalogue/product-reads.store.ts';
import { atFirst } from '../dates/prices.store.ts';
import type { Instant } from '../kernel/clock.ts';
import {
  type Bound,
  type ExpressionBuilder,
  type PreparedStatement,
  type Reads,
  Store,
  sql,
  type Writes,
} from '../kernel/sqlite/statements.ts';
import type { Dates } from '../kernel/time/venue.ts';
import { secondOf } from '../mirror/sql/instants.ts';
import { byKey, dropBy, query, type Schema, upsert } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import type { RecordKey } from '../schedule/record.rules.ts';
import { splitListEdition } from '../schedule/record.rules.ts';
import type { Resource } from '../schedule/resources.rules.ts';
import { appliedCountsMs, type Subject, subjects } from './claims.rules.ts';
import type { Hold } from './hold.rules.ts';
import { currencyOf, type HeldClaims } from './hold.rules.ts';
import { UnreadReads, UnreadTable } from './unread.store.ts';
import type { WaveState } from './wave.rules.ts';

export type StoredClaim = Tables['_claim'];

/** Identifies the subject of a claim. */
export type ClaimKey = RecordKey & { readonly subject: Subject };

/** A hold with the records that its sample asks. */
export type StoredHold = Hold & { readonly sample: readonly ClaimKey[] };

const ofRecord = ['resource', 'product_id', 'edition', 'part'] as const;
const key = ['subject', ...ofRecord] as const;
const said = ['shown', 'said', 'shown_as', 'said_as', 'first_at', 'last_at', 'held_at', 'applied_at', 'back_at'] as const; // biome-ignore format: a list of columns
const ofHold = ['opened_at', 'state', 'next_at', 'sampled_at', 'sample', 'shares', 'decision', 'decided_until', 'ended_at', 'likeness'] as const; // biome-ignore format: a list of columns

/** The tables that say when a product was read, each with the column that the edition of its record is about. */
const ofProduct = [
  ['_text_read', 'language'],
  ['_price_read', 'currency'],
] as const;
const shownIn: Readonly<Partial<Record<Resource, readonly (readonly [table: keyof Tables, column: string])[]>>> = {
  products: ofProduct,
  product_detail: ofProduct,
  checkout_information: [['checkout', 'language_shown']],
  variants: [['_variant', 'language']],
  availability: [['date_window', 'currency']],
};

/** Queries about claims and holds. */
export class EvidenceReads<Db extends Reads = Reads> extends Store<Db> {
  /** Members of latest answers that cannot be read. */
  readonly unread: UnreadReads = new UnreadReads(this.db);
  readonly #showing = new ShowingRecords(this.db);
  readonly claim = this.db.row((bound: Bound<ClaimKey>) =>
    query.selectFrom('_claim').selectAll().where(isClaim(bound)),
  );
  readonly #any = this.db.value(() => query.selectFrom('_claim').select('product_id').limit(1));
  readonly ofProduct = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('_claim').selectAll().where('product_id', '=', product_id).orderBy('subject'),
  );
  readonly #counted = this.db.row((bound: OfSubject) =>
    ofSubject(bound).select(({ fn }) => [
      fn.countAll<number>().filterWhere('applied_at', 'is', null).as('pending'),
      fn.countAll<number>().filterWhere('applied_at', 'is not', null).filterWhere('held_at', 'is', null).as('applied'),
    ]),
  );
  readonly #claims = {
    applied: this.db.rows((bound: OfSubject) =>
      ofSubject(bound).selectAll().where('applied_at', 'is not', null).where('held_at', 'is', null),
    ),
    pending: this.db.rows((bound: OfSubject) =>
      ofSubject(bound).selectAll().where('applied_at', 'is', null).orderBy('resource').orderBy('product_id'),
    ),
  };
  readonly #examples = this.db.rows((bound: OfSubject) =>
    ofSubject(bound)
      .select(['product_id', 'edition', 'part', 'shown', 'said', 'shown_as', 'said_as'])
      .select((of) => primaryTitle(of.ref('_claim.product_id')).as('title'))
      // Those that are shown already come last; what records have gained is no claim.
      .where(({ or, eb, and }) =>
        or([eb('applied_at', 'is', null), and([eb('applied_at', 'is not', null), eb('held_at', 'is', null)])]),
      )
      .orderBy('applied_at')
      .orderBy('first_at')
      .orderBy('product_id')
      .limit(3),
  );
  readonly #holds = this.db.rows(() => query.selectFrom('_held').selectAll().orderBy('opened_at'));
  readonly #wave = this.db.value(byKey('_wave', ['subject'], ['state']));

  isAny(): boolean {
    return this.#any() !== null;
  }

  /** Returns how many claim a subject: those not applied, and those applied in the last day for being said twice. */
  claiming(subject: Subject): number {
    const { pending, applied } = this.#count(subject);
    return pending + applied;
  }

  /** Returns how many records show what they could claim away, or did before. */
  able(subject: Subject): number {
    const before = subjects[subject].kind === 'less' ? this.#count(subject).applied : 0;
    return this.#showing.count(subject, null) + before;
  }

  /** Returns how many records were answered since an instant, show something of the kind, and do not claim it away. */
  contradicting(subject: Subject, since: Instant): number {
    return this.#showing.count(subject, since);
  }

  /** Returns those that are not applied, or those that were applied in the last day for being said twice. */
  claims(subject: Subject, which: 'pending' | 'applied'): StoredClaim[] {
    return this.#claims[which]({ subject });
  }

  hold(subject: Subject): StoredHold | null {
    return this.holds().find((each) => each.subject === subject) ?? null;
  }

  /** Returns what is held now, the oldest first, and what was believed less than a day ago. */
  held(): HeldClaims[] {
    return this.holds().map(({ subject, opened_at, state, decision, decided_until, ended_at, likeness }) => ({
      subject,
      likeness,
      since: opened_at,
      state,
      able: Math.max(this.able(subject), this.claiming(subject)),
      claiming: this.claiming(subject),
      decision,
      decided_until,
      ended_at,
      examples: this.#examples({ subject }),
    }));
  }

  /** Returns all holds, also those that have ended. */
  holds(): StoredHold[] {
    return this.#holds().map((row) => ({ ...row, sample: JSON.parse(row.sample), shares: JSON.parse(row.shares) }));
  }

  /** Returns the changes of a subject that may become a wave; undefined: none. */
  wave<Item>(subject: Subject): WaveState<Item> | undefined {
    const state = this.#wave({ subject });
    return state === null ? undefined : (JSON.parse(state) as WaveState<Item>);
  }

  #count(subject: Subject): { readonly pending: number; readonly applied: number } {
    return this.#counted({ subject }) ?? { pending: 0, applied: 0 };
  }
}

export class EvidenceTable extends EvidenceReads<Writes> {
  override readonly unread = new UnreadTable(this.db);
  readonly note = this.db.change(upsert('_claim', key, said));
  readonly drop = this.db.change((bound: Bound<ClaimKey>) => query.deleteFrom('_claim').where(isClaim(bound)));
  /** Forgets what is claimed of a product but that it is missing. */
  readonly dropProduct = this.db.change(({ product_id }: Bound<{ product_id: number }>) =>
    query.deleteFrom('_claim').where('product_id', '=', product_id).where('subject', '<>', 'products'),
  );
  readonly #prune = this.db.change(({ before }: Bound<{ before: number }>) =>
    query
      .deleteFrom('_claim')
      .where(({ or, and, not, eb, exists, selectFrom }) =>
        or([
          eb('applied_at', '<', before as never),
          and([
            eb('resource', 'not in', ['products', 'product_detail']),
            not(exists(selectFrom('_record as r').select('r.product_id').where(isRecordOf('_claim')))),
          ]),
        ]),
      ),
  );
  readonly #marks = Object.entries(shownIn).flatMap(([resource, tables]) =>
    tables.map(([table, column]) => ({ resource, column, mark: this.db.change(markHeld(table, column)) })),
  );
  readonly #putHold = this.db.change(upsert('_held', ['subject'], ofHold));
  readonly #endHold = this.db.change(dropBy('_held', ['subject']));
  readonly #putWave = this.db.change(upsert('_wave', ['subject'], ['state']));
  readonly #endWave = this.db.change(dropBy('_wave', ['subject']));

  /** Deletes claims that were applied more than a day ago, and claims of records that no longer exist. */
  prune(now: Instant): void {
    this.#prune({ before: now - appliedCountsMs });
  }

  /** Shows what a record has brought as stale, until it is stored again; of availability these dates. */
  markHeld({ resource, product_id, edition }: RecordKey, now: Instant, dates: Dates | null): void {
    for (const { column, mark } of this.#marks.filter((each) => each.resource === resource)) {
      const shown = column === 'currency' ? currencyOf(edition) : splitListEdition(edition).language;
      mark({ product_id, edition: shown, now: secondOf(now), from: dates?.from ?? '', to: dates?.to ?? '' });
    }
  }

  putHold({ sample, shares, ...hold }: StoredHold): void {
    this.#putHold({ ...hold, sample: JSON.stringify(sample), shares: JSON.stringify(shares) } as Tables['_held']);
  }

  /** Ends a hold, and forgets the wave that has led to it. */
  endHold(subject: Subject): void {
    this.#endHold({ subject });
    this.#endWave({ subject });
  }

  putWave(subject: Subject, wave: WaveState<unknown>): void {
    this.#putWave({ subject, state: JSON.stringify(wave) });
  }
}

/**
 * Records that show what a claim of each subject would take away; of those that were read since an instant only the ones
 * that do not claim it.
 */
class ShowingRecords extends Store<Reads> {
  readonly #products = this.db.value(visible);
  readonly #enabled = this.db.value((bound: Bound<Counted>) => visible(bound).where('p.sale_status', '=', 'enabled'));
  readonly #texts = this.db.value((bound: Bound<Counted>) =>
    visible(bound).innerJoin('_product_text as t', 't.product_id', 'p.product_id'),
  );
  readonly #prices = this.db.value((bound: Bound<Counted>) =>
    visible(bound)
      .innerJoin('price as f', 'f.product_id', 'p.product_id')
      .where('f.from_at', '=', atFirst)
      .where('f.from_price', '>', 0),
  );
  readonly #near = this.db.value(ofWindows('availability', 'near'));
  readonly #far = this.db.value(ofWindows('availability', 'far'));
  readonly #dates = this.db.value(ofWindows('availability', null));
  readonly #variants = this.db.value(ofWindows('variants', null));
  readonly #checkout = this.db.value(ofWindows('checkout_information', null));
  readonly #of: Readonly<Record<Subject, readonly PreparedStatement<Counted, number | null>[]>> = {
    products: [this.#products],
    'sale-status': [this.#enabled],
    'near-dates': [this.#near],
    'fewer-near-dates': [this.#near],
    'near-prices': [this.#near],
    'alike-near-prices': [this.#near],
    'far-dates': [this.#far],
    'fewer-far-dates': [this.#far],
    'far-prices': [this.#far],
    'alike-far-prices': [this.#far],
    'fewer-times': [this.#dates],
    variants: [this.#variants],
    'fewer-variants': [this.#variants],
    'alike-variant-types': [this.#variants],
    'other-ids': [this.#dates, this.#variants],
    texts: [this.#texts, this.#checkout],
    'shorter-texts': [this.#texts, this.#checkout],
    'alike-must-know': [this.#checkout],
    'alike-titles': [this.#texts],
    'alike-texts': [this.#texts],
    'alike-zones': [this.#products],
    'alike-images': [this.#products],
    'from-prices': [this.#prices],
    'alike-from-prices': [this.#prices],
  };

  count(subject: Subject, since: Instant | null): number {
    const bound = { subject, since: since ?? -1 };
    return this.#of[subject].reduce((sum, each) => sum + (each(bound) ?? 0), 0);
  }
}

type OfSubject = Bound<{ subject: Subject }>;

function ofSubject({ subject }: OfSubject) {
  return query.selectFrom('_claim').where('subject', '=', subject);
}

function isClaim(bound: Bound<ClaimKey>) {
  return ({ and, eb }: ExpressionBuilder<Schema, '_claim'>) =>
    and(key.map((column) => eb(column, '=', bound[column] as never)));
}

/** Returns whether the row of `_record as r` is the one of a claim. */
function isRecordOf(claim: '_claim' | 'c') {
  return ({ and, eb }: ExpressionBuilder<Schema & { r: Tables['_record'] }, 'r'>) =>
    and(ofRecord.map((column) => eb(`r.${column}`, '=', sql.ref<never>(`${claim}.${column}`))));
}

type Marked = Dates & { product_id: number; edition: string; now: Instant };

function markHeld(table: keyof Tables, column: string) {
  return (bound: Bound<Marked>) => {
    const dates = query
      .selectFrom('day')
      .select('window_id')
      .where('product_id', '=', bound.product_id)
      .where('currency', '=', bound.edition)
      .where('date', '>=', bound.from)
      .where('date', '<=', bound.to);
    return query
      .updateTable(table as 'date_window')
      .set({ held_at: bound.now })
      .where('product_id', '=', bound.product_id)
      .where(column as 'currency', '=', bound.edition)
      .$if(table === 'date_window', (of) => of.where('window_id', 'in', dates));
  };
}

type Counted = { subject: Subject; since: number };

function claimsOf({ subject }: Bound<Counted>) {
  return query.selectFrom('_claim as c').select('c.product_id').where('c.subject', '=', subject);
}

function ofWindows(resource: 'availability' | 'variants' | 'checkout_information', tier: 'near' | 'far' | null) {
  return (bound: Bound<Counted>) =>
    query
      .selectFrom('_record as r')
      .innerJoin('_product as p', 'p.product_id', 'r.product_id')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('p.withdrawn_at', 'is', null)
      .where('r.resource', '=', resource)
      .where('r.fetched_at', '>=', bound.since as never)
      .where(sql<number>`coalesce(r.shows, 1)`, '=', 1)
      .where((of) =>
        of.or([of(bound.since, '<', 0), of.not(of.exists(claimsOf(bound).where(isRecordOf('c') as never)))]),
      )
      .$if(tier !== null, (of) => of.where('p.sellable', '=', 1).where('r.part', tier === 'near' ? '=' : '>', 0));
}

function visible(bound: Bound<Counted>) {
  return query
    .selectFrom('_product as p')
    .innerJoin('_product_read as a', 'a.product_id', 'p.product_id')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('p.withdrawn_at', 'is', null)
    .where('a.read_at', '>=', bound.since as never)
    .where((of) =>
      of.or([
        of(bound.since, '<', 0),
        of.not(of.exists(claimsOf(bound).where('c.product_id', '=', of.ref('p.product_id')))),
      ]),
    );
}
