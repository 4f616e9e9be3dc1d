import type { Instant } from '../kernel/clock.ts';
import { type Bound, type Reads, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, query, setBy, upsert } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { type Budget, storedBudget } from '../service/budget.rules.ts';
import type { Demand } from './call-price.rules.ts';
import type { RecordFacts, RecordKey } from './record.rules.ts';
import { priorSiblings, type SiblingKind, type SiblingSubject } from './siblings.rules.ts';
import { priorSignal, type SignalBelief, type SignalTier, type SignalWorth, signalWorth } from './signal.rules.ts';

/** The demand for extra calls as it was last surveyed (schedule/call-price.rules.ts). */
export interface Surveyed {
  readonly demand: Demand;
  /** Calls per millisecond that the freshness targets need. */
  readonly needed: number;
  /** The shortest interval between two reads of a record, in milliseconds. */
  readonly floor: number;
  /**
   * Best interval between walks of the product list, and the additional calls per millisecond compared with its cadence.
   * Absent: the list is walked by its cadence.
   */
  readonly walks?: { readonly every: number; readonly calls: number };
  /** Calls per millisecond that reads because of siblings cost before this survey; absent: none. */
  readonly siblings?: number;
  readonly interest: SurveyedInterest;
}

/** Shoppers' interest in all products, beside which each is weighed. */
export interface InterestScale {
  readonly products: number;
  /** The most that counts of one product (schedule/interest.rules.ts). */
  readonly most: number;
  /** Shares of their views by window of dates (schedule/interest.rules.ts). Absent: equal shares. */
  readonly split?: readonly number[];
}

/** Views that storefronts reported, of all products. */
export interface ReportedViews {
  /** Number of reported views, and of the products that they were of. */
  readonly views: number;
  readonly viewed: number;
  /** The share of the ten that shoppers look at most. */
  readonly greatest: number;
}

/** The interest in all products as it was last surveyed. */
export interface SurveyedInterest extends InterestScale, ReportedViews {}

/** State of the limiter and the demand for extra calls, stored so that a restart keeps both. */
export class BudgetReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #state = this.db.value(() => query.selectFrom('_budget').select('state'));
  readonly #demand = this.db.value(() => query.selectFrom('_budget').select('demand'));
  readonly surveyedAt = this.db.value(() => query.selectFrom('_budget').select('surveyed_at'));
  /** Every read asks for its price, and a survey comes four times a day. */
  #parsed: { readonly text: string; readonly demand: Surveyed | null } = { text: 'null', demand: null };

  /** Returns null if nothing was learned or the stored value cannot be read. */
  learned(): Budget | null {
    return storedBudget(JSON.parse(this.#state() ?? '{}'));
  }

  /** Null: not surveyed yet. */
  demand(): Surveyed | null {
    const text = this.#demand() ?? 'null';
    if (text !== this.#parsed.text) this.#parsed = { text, demand: JSON.parse(text) as Surveyed | null };
    return this.#parsed.demand;
  }
}

export class BudgetTable extends BudgetReads<Writes> {
  readonly #saveLearned = this.db.change(setBy('_budget', [], ['state']));
  readonly #saveDemand = this.db.change(setBy('_budget', [], ['demand', 'surveyed_at']));

  saveLearned(budget: Budget): void {
    this.#saveLearned({ state: JSON.stringify(budget) });
  }

  saveDemand(surveyed: Surveyed, surveyed_at: Instant): void {
    this.#saveDemand({ demand: JSON.stringify(surveyed), surveyed_at });
  }
}

/** The views of one window of dates, as counted at an instant; part -1: of no date in particular. */
export type WindowViews = Omit<Tables['_interest'], 'product_id'>;

/** Known interest of shoppers in a product. */
export interface KnownInterest {
  /** Its rank in the service's order of popularity, from 1; null if unknown. */
  readonly list_place: number | null;
  readonly windows: readonly WindowViews[];
}

/** Interest of shoppers in products, which weighs the calls that the budget has left. */
export class InterestReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #place = this.db.value(byKey('_product_read', ['product_id'], ['list_place']));
  readonly #windows = this.db.rows(byKey('_interest', ['product_id'], ['part', 'views', 'counted_at']));

  of(product_id: number): KnownInterest {
    return { list_place: this.#place({ product_id }), windows: this.#windows({ product_id }) };
  }
}

export class InterestTable extends InterestReads<Writes> {
  /** Stores the views of a window as they are counted now. */
  readonly count = this.db.change(({ product_id, part, views, counted_at }: Bound<Tables['_interest']>) =>
    query
      .insertInto('_interest')
      .values({ product_id, part, views, counted_at })
      .onConflict((known) => known.columns(['product_id', 'part']).doUpdateSet({ views, counted_at })),
  );
  /** Deletes views that were last counted before an instant. Returns how many rows. */
  readonly prune = this.db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('_interest').where('counted_at', '<', before),
  );
}

const belief = ['rightly', 'wrongly', 'shown', 'hidden'] as const;

/** Estimates, from reads, of how well the product list, and changes of siblings, signal changes. */
export class SignalReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #one = this.db.row(byKey('_signal', ['tier'], belief));

  of(tier: SignalTier | SiblingSubject): SignalBelief {
    return this.#one({ tier }) ?? (tier === 'near' || tier === 'far' ? priorSignal : priorSiblings);
  }
}

export class SignalTable extends SignalReads<Writes> {
  readonly save = this.db.change(upsert('_signal', ['tier'], belief));
}

/** Value of the list as a signal of changed near and far dates, and the walk interval for it; null: its cadence. */
export interface ListSignal extends Readonly<Record<SignalTier, SignalWorth>> {
  readonly walked_every_ms: number | null;
}

export function listSignalOf(db: Reads): () => ListSignal {
  const signals = new SignalReads(db);
  const budget = new BudgetReads(db);
  return () => ({
    near: signalWorth(signals.of('near')),
    far: signalWorth(signals.of('far')),
    walked_every_ms: budget.demand()?.walks?.every ?? null,
  });
}

/** The groups that a product belongs to; null: none. */
export interface SiblingGroups {
  readonly venue: number | null;
  readonly supplier: string | null;
}

type OfGroup<Group> = RecordKey & { group: Group };

/** Groups of products whose dates tend to change together. */
export class SiblingReads extends Store<Reads> {
  readonly #groups = this.db.row(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom(['product', '_mirror as m'])
      .select(['venue_id as venue', 'supplier'])
      .where('product_id', '=', product_id)
      .whereRef('product.language', '=', 'm.language'),
  );
  readonly #ofVenue = this.db.rows((bound: Bound<OfGroup<number>>) =>
    othersOnSale(bound).where('p.venue_id', '=', bound.group),
  );
  readonly #ofSupplier = this.db.rows((bound: Bound<OfGroup<string>>) =>
    othersOnSale(bound).where('p.supplier', '=', bound.group),
  );

  groupsOf(product_id: number): SiblingGroups {
    return this.#groups({ product_id }) ?? { venue: null, supplier: null };
  }

  /** Returns the same dates of other products of the group that are on sale and were read, at most fifty: planning them again takes a few milliseconds. */
  of(record: RecordFacts, kind: SiblingKind, group: number | string): RecordFacts[] {
    return kind === 'venue'
      ? this.#ofVenue({ ...record, group: Number(group) })
      : this.#ofSupplier({ ...record, group: String(group) });
  }
}

const most = 50;

function othersOnSale({ product_id, edition, part }: Bound<OfGroup<unknown>>) {
  return query
    .selectFrom(['product as p', '_mirror as m', '_record as r'])
    .selectAll('r')
    .whereRef('p.language', '=', 'm.language')
    .whereRef('r.product_id', '=', 'p.product_id')
    .where('r.resource', '=', 'availability')
    .where('r.edition', '=', edition)
    .where('r.part', '=', part)
    .where('r.product_id', '<>', product_id)
    .where('r.fetched_at', 'is not', null)
    .where('p.sellable', '=', 1)
    .limit(most);
}
