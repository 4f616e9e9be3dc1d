import type { Instant } from '../../clock.ts';
import type { ShownDocument } from '../../domain/push/news.ts';
import type { ChangeType } from '../../domain/push/subscription.ts';
import type { Expectation, Trust } from '../../domain/push/trust.ts';
import { textResources } from '../../domain/schedule/resources.ts';
import { isMembers, type Members } from '../../domain/values/members.ts';
import { type Bound, pick, type Reads, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { working } from './covering.ts';

/** A change that a read found and somebody should announce. */
export interface ExpectedNotice extends Expectation {
  readonly since_at: Instant;
  readonly found_at: Instant;
  readonly product_id: number;
  readonly change_type: ChangeType;
}

/** A working subscription that should have announced a change, and how far it is trusted. */
export interface Announcer extends Trust {
  readonly subscription_id: string;
  readonly trusted: 0 | 1;
  /** Instant since which it covers the product. */
  readonly covered_since: Instant;
  /** Instant at which it last announced such a change of this product; null if it never did. */
  readonly received_at: Instant | null;
}

/** Notices received, and notices expected. */
export interface NoticeReads {
  /** Returns the newest notices about a product, the newest first. */
  noticesOf(product_id: number): Tables['_notice'][];
  /** Products of which updates were announced in that time and that were read since, and how many reads showed something. */
  updates(from: Instant, to: Instant): AnnouncedUpdates;
  /** Products of which awaited updates were announced in that time, that were read since, and whose texts are what they were. */
  unshown(from: Instant, to: Instant): Pick<AnnouncedUpdates, 'products' | 'since'>;
  /** The documents that readers see of a product: its texts and what its sale needs to know, in each language. */
  documentsOf(product_id: number): ShownDocument[];
  /** Returns the expected notices whose notifications are overdue. */
  ripe(found_before: Instant): ExpectedNotice[];
  /** Returns the subscriptions that cover the product and were asked to announce such changes. */
  announcers(expected: Pick<ExpectedNotice, 'product_id' | 'change_type'>): Announcer[];
}

export interface AnnouncedUpdates {
  readonly products: number;
  readonly shown: number;
  /** Instant of the first announcement; null if there was none. */
  readonly since: Instant | null;
}

export interface NoticeTable extends NoticeReads {
  noticed(notice: Tables['_notice']): void;
  /** One that is expected already stays as it is. */
  expect(expected: ExpectedNotice): void;
  forget(expected: Pick<ExpectedNotice, 'product_id' | 'change_type'>): void;
}

export function noticeReads(db: Reads): NoticeReads {
  const ofProduct = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('_notice').selectAll().where('product_id', '=', product_id).orderBy('received_at', 'desc'),
  );
  const ripe = db.rows(({ found_before }: Bound<{ found_before: Instant }>) =>
    query.selectFrom('_expected_notice').selectAll().where('found_at', '<=', found_before).limit(1000),
  );
  const announcers = db.rows(({ product_id, change_type }: Bound<Pick<ExpectedNotice, 'product_id' | 'change_type'>>) =>
    query
      .selectFrom('_subscription_product as c')
      .innerJoin(working.selectAll().as('s'), 's.subscription_id', 'c.subscription_id')
      .leftJoin('_notice as n', (join) =>
        join
          .onRef('n.product_id', '=', 'c.product_id')
          .on('n.change_type', '=', change_type)
          .onRef('n.subscription_id', '=', 's.subscription_id'),
      )
      .select(['s.subscription_id', 's.announced', 's.announceable', 's.trusted'])
      .select(['c.since_at as covered_since', 'n.received_at'])
      .where('c.product_id', '=', product_id)
      .where('c.since_at', 'is not', null)
      .$narrowType<{ covered_since: Instant }>()
      .where(change_type, 'in', ({ ref }) => sql<ChangeType>`(select value from json_each(${ref('s.change_types')}))`),
  );
  const updates = announcedUpdates(db);
  return {
    updates,
    unshown: unshownUpdates(db),
    documentsOf: documentsOf(db),
    noticesOf: (product_id) => ofProduct.all({ product_id }),
    ripe: (found_before) => ripe.all({ found_before }),
    announcers: (expected) => announcers.all(expected),
  };
}

/** A read may have shown a change so long before it was announced: announcements are held back. */
const earlierMs = 3_600_000;

function announcedUpdates(db: Reads): NoticeReads['updates'] {
  const counts = db.rows(({ from, to }: Bound<{ from: Instant; to: Instant }>) =>
    query
      .selectFrom(
        query
          .selectFrom('_notice as n')
          .select(({ exists, selectFrom, ref }) => {
            const records = selectFrom('_record as r')
              .select('r.product_id')
              .where('r.resource', 'in', [...textResources])
              .whereRef('r.product_id', '=', 'n.product_id');
            const told = ref('n.received_at');
            return [
              'n.received_at',
              'n.product_id',
              exists(records.where('r.fetched_at', '>=', told)).as('read'),
              exists(records.where('r.changed_at', '>=', sql<Instant>`${told} - ${sql.lit(earlierMs)}`)).as('shown'),
            ];
          })
          .where('n.change_type', '=', 'product_details_update')
          .where(({ between }) => between('n.received_at', from, to))
          .as('told'),
      )
      .select(({ fn }) => [
        fn.count<number>('product_id').distinct().as('products'),
        fn.sum<number | null>('shown').as('shown'),
        fn.min<Instant | null>('received_at').as('since'),
      ])
      .where('read', '=', 1 as never),
  );
  return (from, to) => {
    const { products = 0, shown = 0, since = null } = counts.get({ from, to }) ?? {};
    return { products, shown: shown ?? 0, since };
  };
}

function documentsOf(db: Reads): NoticeReads['documentsOf'] {
  const documents = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('product')
      .select([sql.lit('product_detail').as('resource'), 'language', 'document'])
      .where('product_id', '=', product_id)
      .unionAll(
        query
          .selectFrom('checkout')
          .select([sql.lit('checkout_information').as('resource'), 'language', 'document'])
          .where('product_id', '=', product_id)
          .whereRef('language_shown', '=', 'language'),
      ),
  );
  return (product_id) =>
    documents
      .all({ product_id })
      .flatMap(({ resource, language, document }) =>
        document === null
          ? []
          : [{ resource: resource as ShownDocument['resource'], language, document: named(JSON.parse(document)) }],
      );
}

/** Returns the members of a document by the names that announcements use: the texts of checkout information lie one level down. */
function named(document: Members): Members {
  const { additional_information: texts } = document;
  return isMembers(texts) ? { ...document, ...texts } : document;
}

const isUnreadOrChanged = sql<boolean>`(t.checked_at < n.received_at OR t.changed_at >= n.received_at)`;

/** By the texts themselves, which walks of the list bring too. */
function unshownUpdates(db: Reads): NoticeReads['unshown'] {
  const counts = db.rows(({ from, to }: Bound<{ from: Instant; to: Instant }>) =>
    query
      .selectFrom('_notice as n')
      .select(({ fn }) => [
        fn.count<number>('n.product_id').distinct().as('products'),
        fn.min<Instant | null>('n.received_at').as('since'),
      ])
      .where('n.awaited', '=', 1)
      .where(({ between }) => between('n.received_at', from, to))
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('_product_text as t')
              .select('t.product_id')
              .whereRef('t.product_id', '=', 'n.product_id')
              .where(isUnreadOrChanged),
          ),
        ),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('checkout as t')
              .select('t.product_id')
              .whereRef('t.product_id', '=', 'n.product_id')
              .where(isUnreadOrChanged),
          ),
        ),
      ),
  );
  return (from, to) => counts.get({ from, to }) ?? { products: 0, since: null };
}

const noticed = ['subscription_id', 'product_id', 'change_type', 'received_at', 'awaited', 'awaits'] as const;
const expected = ['product_id', 'change_type', 'since_at', 'found_at'] as const;

export function noticeTable(db: Writes): NoticeTable {
  const note = db.change((notice: Bound<Tables['_notice']>) =>
    query
      .insertInto('_notice')
      .values(pick(notice, noticed))
      .onConflict((known) =>
        known
          .columns(['subscription_id', 'product_id', 'change_type'])
          .doUpdateSet({ received_at: notice.received_at, awaited: notice.awaited, awaits: notice.awaits }),
      ),
  );
  const expect = db.change((notice: Bound<ExpectedNotice>) =>
    query.insertInto('_expected_notice').orIgnore().values(pick(notice, expected)),
  );
  const forget = db.change(({ product_id, change_type }: Bound<Pick<ExpectedNotice, 'product_id' | 'change_type'>>) =>
    query.deleteFrom('_expected_notice').where('product_id', '=', product_id).where('change_type', '=', change_type),
  );
  return {
    ...noticeReads(db),
    noticed: (notice) => {
      note.run(notice);
    },
    expect: (notice) => {
      expect.run(notice);
    },
    forget: ({ product_id, change_type }) => {
      forget.run({ product_id, change_type });
    },
  };
}
