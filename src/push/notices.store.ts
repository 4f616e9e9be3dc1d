import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, pick, type Reads, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { isMembers, type Members } from '../kernel/values/exact-json.ts';
import { dropBy, insertOf, query, setBy } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { textResources } from '../schedule/resources.rules.ts';
import type { Expectation, Trust } from './announcement-trust.rules.ts';
import { working } from './coverage.store.ts';
import type { ShownDocument } from './news.rules.ts';
import { notUnderstood } from './notification.rules.ts';
import { type ChangeType, silentStatuses } from './subscription.rules.ts';

/** A change that a read found and somebody should announce. */
export interface ExpectedNotice extends Expectation, OfChange {
  readonly since_at: Instant;
  readonly found_at: Instant;
}

interface OfChange {
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

export interface AnnouncedUpdates {
  readonly products: number;
  /** Instant of the first announcement; null if there was none. */
  readonly since: Instant | null;
}

type Span = { readonly from: Instant; readonly to: Instant };
type OfProduct = { readonly product_id: number };

/** A read may have shown a change so long before it was announced: announcements are held back. */
const earlierMs = 3_600_000;

/** Notices received, and notices expected. */
export class NoticeReads<Db extends Reads = Reads> extends Store<Db> {
  /** Returns the newest notices about a product, the newest first. */
  readonly noticesOf = this.db.rows(({ product_id }: Bound<OfProduct>) =>
    query.selectFrom('_notice').selectAll().where('product_id', '=', product_id).orderBy('received_at', 'desc'),
  );
  readonly #updates = this.db.row(({ from, to }: Bound<Span>) =>
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
  /** By the texts themselves, which walks of the list bring too. */
  readonly #unshown = this.db.row(({ from, to }: Bound<Span>) =>
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
              .innerJoin('_text_read as r', (on) =>
                on.onRef('r.product_id', '=', 't.product_id').onRef('r.language', '=', 't.language'),
              )
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
  readonly #documents = this.db.rows(({ product_id }: Bound<OfProduct>) =>
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
  /** Returns the expected notices whose notifications are overdue. */
  readonly ripe = this.db.rows(({ found_before }: Bound<{ found_before: Instant }>) =>
    query.selectFrom('_expected_notice').selectAll().where('found_at', '<=', found_before).limit(1000),
  );
  /** Returns the subscriptions that cover the product and were asked to announce such changes. */
  readonly announcers = this.db.rows(({ product_id, change_type }: Bound<OfChange>) =>
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

  /** Products of which updates were announced in that time and that were read since, and how many reads showed something. */
  updates(from: Instant, to: Instant): AnnouncedUpdates & { readonly shown: number } {
    const { products = 0, shown = 0, since = null } = this.#updates({ from, to }) ?? {};
    return { products, shown: shown ?? 0, since };
  }

  /** Products of which awaited updates were announced in that time, that were read since, and whose texts are what they were. */
  unshown(from: Instant, to: Instant): AnnouncedUpdates {
    return this.#unshown({ from, to }) ?? { products: 0, since: null };
  }

  /** The documents that readers see of a product: its texts and what its sale needs to know, in each language. */
  documentsOf(product_id: number): ShownDocument[] {
    return this.#documents({ product_id }).flatMap(({ resource, language, document }) =>
      document === null
        ? []
        : [{ resource: resource as ShownDocument['resource'], language, document: named(JSON.parse(document)) }],
    );
  }
}

const isUnreadOrChanged = sql<boolean>`(checked_at < n.received_at OR changed_at >= n.received_at)`;

/** Returns the members of a document by the names that announcements use: the texts of checkout information lie one level down. */
function named(document: Members): Members {
  const { additional_information: texts } = document;
  return isMembers(texts) ? { ...document, ...texts } : document;
}

const noticed = ['subscription_id', 'product_id', 'change_type', 'received_at', 'awaited', 'awaits'] as const;
const expected = ['product_id', 'change_type', 'since_at', 'found_at'] as const;

export class NoticeTable extends NoticeReads<Writes> {
  readonly noticed = this.db.change((notice: Bound<Tables['_notice']>) =>
    query
      .insertInto('_notice')
      .values(pick(notice, noticed))
      .onConflict((known) =>
        known
          .columns(['subscription_id', 'product_id', 'change_type'])
          .doUpdateSet({ received_at: notice.received_at, awaited: notice.awaited, awaits: notice.awaits }),
      ),
  );
  /** One that is expected already stays as it is. */
  readonly expect = this.db.change((notice: Bound<ExpectedNotice>) =>
    query.insertInto('_expected_notice').orIgnore().values(pick(notice, expected)),
  );
  readonly #forget = this.db.change(dropBy('_expected_notice', ['product_id', 'change_type']));

  forget({ product_id, change_type }: OfChange): void {
    this.#forget({ product_id, change_type });
  }
}

export type Gap = Tables['_gap'];
type OfGap = { readonly subscription_id: string | null };

/** Queries about periods without notifications. */
export class GapReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #found = this.db.value(({ subscription_id, from, to }: Bound<Span & { subscription_id: string }>) =>
    query
      .selectFrom('_gap')
      .select('gap_id')
      .where(({ eb, or }) => or([eb('subscription_id', 'is', null), eb('subscription_id', '=', subscription_id)]))
      .where('from_at', '<=', to)
      .where(({ eb, fn }) => eb(fn.coalesce('to_at', to), '>=', from))
      .limit(1),
  );
  /** Returns subscriptions that stopped working or whose deliveries nobody understands, and since when. */
  readonly broken = this.db.rows(() =>
    query
      .selectFrom('_subscription as s')
      .select(({ case: when, eb, fn, lit, or, ref }) => {
        // If the address is wrong, the status has not changed, so it says nothing about when.
        const isByStatus = or([eb('s.address', '=', 'ours'), eb('s.status', '=', 'missing')]);
        const since = when().when(isByStatus).then(ref('s.status_at')).end();
        const isUnclear = eb('s.not_understood', '>=', notUnderstood.deliveries);
        const unclear = when().when(isUnclear).then(ref('s.not_understood_at')).end();
        return ['s.subscription_id', fn.coalesce(unclear, since, 's.checked_at', lit(instant(0))).as('since')];
      })
      .where('s.declared_id', 'is not', null)
      .where('s.put_at', 'is not', null)
      .where('s.status', 'is not', null)
      // One whose address nobody knows yet is not known to be broken.
      .where(({ eb, or }) =>
        or([
          eb('s.status', 'in', silentStatuses),
          eb('s.address', '<>', 'ours'),
          eb('s.not_understood', '>=', notUnderstood.deliveries),
        ]),
      ),
  );
  /** Returns the subscriptions with an open gap that work again. */
  readonly mended = this.db.values(() =>
    query
      .selectFrom(working.select('subscription_id').as('s'))
      .innerJoin('_gap as g', 'g.subscription_id', 's.subscription_id')
      .select('s.subscription_id')
      .where('g.to_at', 'is', null),
  );
  /** Returns the first gap that is over and not repaired; null if there is none. */
  readonly toHeal = this.db.row(() =>
    query
      .selectFrom('_gap')
      .selectAll()
      .where('closed_at', 'is', null)
      .where('to_at', 'is not', null)
      .orderBy('gap_id')
      .limit(1),
  );
  readonly #concerned = this.db.values(
    ({ subscription_id, after, limit }: Bound<OfGap & { after: number; limit: number }>) =>
      query
        .selectFrom('_subscription_product as c')
        .innerJoin('_product as p', 'p.product_id', 'c.product_id')
        .select('c.product_id')
        .distinct()
        .where('p.withdrawn_at', 'is', null)
        .where('c.product_id', '>', after)
        .where(({ eb, or }) =>
          or([eb(subscription_id, 'is', null), eb('c.subscription_id', '=', subscription_id.$notNull())]),
        )
        .orderBy('c.product_id')
        .limit(limit),
  );
  readonly #waiting = this.db.value(() =>
    query
      .selectFrom('_record')
      .select(({ fn }) => fn.countAll<number>().as('records'))
      .where('due_reason', '=', 'gap-healing'),
  );
  /** Returns the newest gaps, the newest first. */
  readonly gaps = this.db.rows(({ limit }: Bound<{ limit: number }>) =>
    query.selectFrom('_gap').selectAll().orderBy('gap_id', 'desc').limit(limit),
  );

  /** Returns whether a gap of this subscription, or of all, overlaps a period. */
  wasGap(subscription_id: string, { from, to }: Span): boolean {
    return this.#found({ subscription_id, from, to }) !== null;
  }

  /** Returns the next products that a gap concerns. */
  concerned({ subscription_id, healed_to }: Gap, limit: number): number[] {
    return this.#concerned({ subscription_id, after: healed_to, limit });
  }

  /** Returns the number of records that still wait for the read that a gap asked for. */
  waiting(): number {
    return this.#waiting() ?? 0;
  }
}

export class GapTable extends GapReads<Writes> {
  readonly #open = this.db.row(({ subscription_id }: Bound<OfGap>) =>
    query
      .selectFrom('_gap')
      .select('gap_id')
      .where('subscription_id', 'is', subscription_id)
      .where('to_at', 'is', null),
  );
  readonly #begin = this.db.change(insertOf('_gap', ['subscription_id', 'from_at']));
  /** Records that they can again. */
  readonly endGap = this.db.change(({ subscription_id, to_at }: Bound<OfGap & { to_at: Instant }>) =>
    query
      .updateTable('_gap')
      .set(({ fn }) => ({ to_at: fn<Instant>('max', [to_at, 'from_at']) }))
      .where('subscription_id', 'is', subscription_id)
      .where('to_at', 'is', null),
  );
  readonly healed = this.db.change(
    ({ gap_id, healed_to, products }: Bound<{ gap_id: number; healed_to: number; products: number }>) =>
      query
        .updateTable('_gap')
        .set(({ eb }) => ({ healed_to, products: eb('products', '+', products) }))
        .where('gap_id', '=', gap_id),
  );
  readonly closeGap = this.db.change(setBy('_gap', ['gap_id'], ['closed_at']));

  /** Records since when notifications cannot come from a subscription (null: from any). */
  openGap(subscription_id: string | null, from_at: Instant): void {
    if (this.#open({ subscription_id }) === null) this.#begin({ subscription_id, from_at });
  }
}
