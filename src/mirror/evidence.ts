import type { Instant } from '../clock.ts';
import { appliedCountsMs, type Subject, subjects } from '../domain/evidence/claims.ts';
import type { Hold } from '../domain/evidence/hold.ts';
import type { WaveState } from '../domain/evidence/wave.ts';
import { currencyOf, type HeldClaims } from '../domain/evidence/words.ts';
import type { RecordKey } from '../domain/schedule/record.ts';
import { splitListEdition } from '../domain/schedule/record-kinds.ts';
import type { Resource } from '../domain/schedule/resources.ts';
import type { Dates } from '../domain/time/dates.ts';
import { type Bound, type ExpressionBuilder, type Reads, sql, type Writes } from '../sqlite/statements.ts';
import { atFirst } from './catalogue/prices.ts';
import { primaryTitle } from './catalogue/product-reads.ts';
import { query, type Schema, upsert } from './sql/sql.ts';
import type { Tables } from './sql/tables.ts';
import { type UnreadReads, type UnreadTable, unreadReads, unreadTable } from './unread.ts';

export type StoredClaim = Tables['_claim'];

/** Identifies the subject of a claim. */
export type ClaimKey = RecordKey & { readonly subject: Subject };

/** A hold with the records that its sample asks. */
export type StoredHold = Hold & { readonly sample: readonly ClaimKey[] };

/** Queries about claims and holds. */
export interface EvidenceReads {
  claim(key: ClaimKey): StoredClaim | null;
  isAny(): boolean;
  ofProduct(product_id: number): StoredClaim[];
  /** Returns how many claim a subject: those not applied, and those applied in the last day for being said twice. */
  claiming(subject: Subject): number;
  /** Returns how many records show what they could claim away, or did before. */
  able(subject: Subject): number;
  /** Returns how many records were answered since an instant, show something of the kind, and do not claim it away. */
  contradicting(subject: Subject, since: Instant): number;
  /** Returns those that are not applied, or those that were applied in the last day for being said twice. */
  claims(subject: Subject, which: 'pending' | 'applied'): StoredClaim[];
  hold(subject: Subject): StoredHold | null;
  /** Returns what is held now, the oldest first, and what was believed less than a day ago. */
  held(): HeldClaims[];
  /** Also those that have ended. */
  holds(): StoredHold[];
  /** Returns the changes of a subject that may become a wave; undefined: none. */
  wave<Item>(subject: Subject): WaveState<Item> | undefined;
  /** Members of latest answers that cannot be read. */
  readonly unread: UnreadReads;
}

export interface EvidenceTable extends EvidenceReads {
  readonly unread: UnreadTable;
  note(claim: StoredClaim): void;
  drop(key: ClaimKey): void;
  /** Forgets what is claimed of a product but that it is missing. */
  dropProduct(product_id: number): void;
  /** Deletes claims that were applied more than a day ago, and claims of records that no longer exist. */
  prune(now: Instant): void;
  /** Shows what a record has brought as stale, until it is stored again; of availability these dates. */
  markHeld(record: RecordKey, now: Instant, dates: Dates | null): void;
  putHold(hold: StoredHold): void;
  /** Ends a hold, and forgets the wave that has led to it. */
  endHold(subject: Subject): void;
  putWave(subject: Subject, wave: WaveState<unknown>): void;
}

const ofRecord = ['resource', 'product_id', 'edition', 'part'] as const;
const key = ['subject', ...ofRecord] as const;
const said = ['shown', 'said', 'shown_as', 'said_as', 'first_at', 'last_at', 'held_at', 'applied_at', 'back_at'] as const; // biome-ignore format: a list of columns
const ofHold = ['opened_at', 'state', 'next_at', 'sampled_at', 'sample', 'shares', 'decision', 'decided_until', 'ended_at', 'likeness'] as const; // biome-ignore format: a list of columns

export function evidenceTable(db: Writes): EvidenceTable {
  const note = db.change(upsert('_claim', key, said));
  const drop = db.change((bound: Bound<ClaimKey>) => query.deleteFrom('_claim').where(isClaim(bound)));
  const dropProduct = db.change(({ product_id }: Bound<{ product_id: number }>) =>
    query.deleteFrom('_claim').where('product_id', '=', product_id).where('subject', '<>', 'products'),
  );
  const prune = db.change(({ before }: Bound<{ before: number }>) =>
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
  const put = db.change(upsert('_held', ['subject'], ofHold));
  const putWave = db.change(upsert('_wave', ['subject'], ['state']));
  const ends = (['_held', '_wave'] as const).map((table) =>
    db.change(({ subject }: OfSubject) => query.deleteFrom(table).where('subject', '=', subject)),
  );
  return {
    ...evidenceReads(db),
    unread: unreadTable(db),
    markHeld: marking(db),
    note: (claim) => {
      note.run(claim);
    },
    drop: (of) => {
      drop.run(of);
    },
    dropProduct: (product_id) => {
      dropProduct.run({ product_id });
    },
    prune: (now) => {
      prune.run({ before: now - appliedCountsMs });
    },
    putHold: ({ sample, shares, ...hold }) => {
      put.run({ ...hold, sample: JSON.stringify(sample), shares: JSON.stringify(shares) } as Tables['_held']);
    },
    endHold: (subject) => {
      for (const end of ends) end.run({ subject });
    },
    putWave: (subject, wave) => {
      putWave.run({ subject, state: JSON.stringify(wave) });
    },
  };
}

/** The tables that show what a product's read brings, each with the column that the edition of its record is about. */
const ofProduct = [['_product_text', 'language'], ['product', 'read_language'], ['price', 'currency']] as const; // biome-ignore format: a table
const shownIn: Readonly<Partial<Record<Resource, readonly (readonly [table: keyof Tables, column: string])[]>>> = {
  products: ofProduct,
  product_detail: ofProduct,
  checkout_information: [['checkout', 'language_shown']],
  variants: [['_variant', 'language']],
  availability: [['date_window', 'currency']],
};

function marking(db: Writes): EvidenceTable['markHeld'] {
  type Marked = Dates & { product_id: number; edition: string; now: Instant };
  const mark = (table: keyof Tables, column: string) =>
    db.change((bound: Bound<Marked>) => {
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
    });
  const marks = Object.entries(shownIn).flatMap(([resource, tables]) =>
    tables.map(([table, column]) => ({ resource, column, mark: mark(table, column) })),
  );
  return ({ resource, product_id, edition }, now, dates) => {
    for (const { column, mark } of marks.filter((each) => each.resource === resource)) {
      const shown = column === 'currency' ? currencyOf(edition) : splitListEdition(edition).language;
      mark.run({ product_id, edition: shown, now, from: dates?.from ?? '', to: dates?.to ?? '' });
    }
  };
}

type OfSubject = Bound<{ subject: Subject }>;

export function evidenceReads(db: Reads): EvidenceReads {
  const one = db.rows((bound: Bound<ClaimKey>) => query.selectFrom('_claim').selectAll().where(isClaim(bound)));
  const any = db.values(() => query.selectFrom('_claim').select('product_id').limit(1));
  const ofProduct = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('_claim').selectAll().where('product_id', '=', product_id).orderBy('subject'),
  );
  const ofSubject = ({ subject }: OfSubject) => query.selectFrom('_claim').where('subject', '=', subject);
  const counted = db.rows((bound: OfSubject) =>
    ofSubject(bound).select(({ fn }) => [
      fn.countAll<number>().filterWhere('applied_at', 'is', null).as('pending'),
      fn.countAll<number>().filterWhere('applied_at', 'is not', null).filterWhere('held_at', 'is', null).as('applied'),
    ]),
  );
  const claims = {
    applied: db.rows((bound: OfSubject) =>
      ofSubject(bound).selectAll().where('applied_at', 'is not', null).where('held_at', 'is', null),
    ),
    pending: db.rows((bound: OfSubject) =>
      ofSubject(bound).selectAll().where('applied_at', 'is', null).orderBy('resource').orderBy('product_id'),
    ),
  };
  const examples = db.rows((bound: OfSubject) =>
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
  const holds = db.rows(() => query.selectFrom('_held').selectAll().orderBy('opened_at'));
  const waves = db.values(({ subject }: OfSubject) =>
    query.selectFrom('_wave').select('state').where('subject', '=', subject),
  );
  const showing = counting(db);
  const count = (subject: Subject) => counted.get({ subject }) ?? { pending: 0, applied: 0 };
  const claiming = (subject: Subject) => count(subject).pending + count(subject).applied;
  const able = (subject: Subject) =>
    showing(subject, null) + (subjects[subject].kind === 'less' ? count(subject).applied : 0);
  const all = (): StoredHold[] =>
    holds.all().map((row) => ({ ...row, sample: JSON.parse(row.sample), shares: JSON.parse(row.shares) }));
  return {
    claim: (of) => one.get(of) ?? null,
    isAny: () => any.get() !== undefined,
    ofProduct: (product_id) => ofProduct.all({ product_id }),
    claiming,
    able,
    contradicting: showing,
    claims: (subject, which) => claims[which].all({ subject }),
    hold: (subject) => all().find((each) => each.subject === subject) ?? null,
    holds: all,
    wave: <Item>(subject: Subject) => {
      const state = waves.get({ subject });
      return state === undefined ? undefined : (JSON.parse(state) as WaveState<Item>);
    },
    unread: unreadReads(db),
    held: () =>
      all().map(({ subject, opened_at, state, decision, decided_until, ended_at, likeness }) => ({
        subject,
        likeness,
        since: opened_at,
        state,
        able: Math.max(able(subject), claiming(subject)),
        claiming: claiming(subject),
        decision,
        decided_until,
        ended_at,
        examples: examples.all({ subject }),
      })),
  };
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

/**
 * Counts the records that show what a claim of each subject would take away; of those that were read since an instant only
 * the ones that do not claim it.
 */
function counting(db: Reads): (subject: Subject, since: Instant | null) => number {
  type Counted = { subject: Subject; since: number };
  const claims = ({ subject }: Bound<Counted>) =>
    query.selectFrom('_claim as c').select('c.product_id').where('c.subject', '=', subject);
  const windows = (resource: 'availability' | 'variants' | 'checkout_information', tier: 'near' | 'far' | null) =>
    db.values((bound: Bound<Counted>) =>
      query
        .selectFrom('_record as r')
        .innerJoin('_product as p', 'p.product_id', 'r.product_id')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('p.withdrawn_at', 'is', null)
        .where('r.resource', '=', resource)
        .where('r.fetched_at', '>=', bound.since as never)
        .where(sql<number>`coalesce(r.shows, 1)`, '=', 1)
        .where((of) =>
          of.or([of(bound.since, '<', 0), of.not(of.exists(claims(bound).where(isRecordOf('c') as never)))]),
        )
        .$if(tier !== null, (of) => of.where('p.sellable', '=', 1).where('r.part', tier === 'near' ? '=' : '>', 0)),
    );
  const visible = (bound: Bound<Counted>) =>
    query
      .selectFrom('_product as p')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('p.withdrawn_at', 'is', null)
      .where('p.read_at', '>=', bound.since as never)
      .where((of) =>
        of.or([
          of(bound.since, '<', 0),
          of.not(of.exists(claims(bound).where('c.product_id', '=', of.ref('p.product_id')))),
        ]),
      );
  const all = db.values(visible);
  const enabled = db.values((bound: Bound<Counted>) => visible(bound).where('p.sale_status', '=', 'enabled'));
  const texts = db.values((bound: Bound<Counted>) =>
    visible(bound).innerJoin('_product_text as t', 't.product_id', 'p.product_id'),
  );
  const prices = db.values((bound: Bound<Counted>) =>
    visible(bound)
      .innerJoin('price as f', 'f.product_id', 'p.product_id')
      .where('f.from_at', '=', atFirst)
      .where('f.from_price', '>', 0),
  );
  const [near, far] = [windows('availability', 'near'), windows('availability', 'far')];
  const [dates, variants] = [windows('availability', null), windows('variants', null)];
  const checkout = windows('checkout_information', null);
  const counts: Readonly<Record<Subject, readonly (typeof all)[]>> = {
    products: [all],
    'sale-status': [enabled],
    'near-dates': [near],
    'fewer-near-dates': [near],
    'near-prices': [near],
    'alike-near-prices': [near],
    'far-dates': [far],
    'fewer-far-dates': [far],
    'far-prices': [far],
    'alike-far-prices': [far],
    'fewer-times': [dates],
    variants: [variants],
    'fewer-variants': [variants],
    'alike-variant-types': [variants],
    'other-ids': [dates, variants],
    texts: [texts, checkout],
    'shorter-texts': [texts, checkout],
    'alike-must-know': [checkout],
    'alike-titles': [texts],
    'alike-texts': [texts],
    'alike-zones': [all],
    'alike-images': [all],
    'from-prices': [prices],
    'alike-from-prices': [prices],
  };
  return (subject, since) =>
    counts[subject].reduce((sum, each) => sum + (each.get({ subject, since: since ?? -1 }) ?? 0), 0);
}
