import type { Instant } from '../../clock.ts';
import { type Budget, storedBudget } from '../../domain/budget/budget.ts';
import type { Demand } from '../../domain/schedule/price.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/** The demand for extra calls as it was last surveyed (domain/schedule/price.ts). */
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
export interface SurveyedInterest {
  readonly products: number;
  /** The most that counts of one product (domain/schedule/interest.ts). */
  readonly most: number;
  /** Shares of their views by window of dates (domain/schedule/interest.ts). Absent: equal shares. */
  readonly split?: readonly number[];
  /** Number of reported views, and of the products that they were of. */
  readonly views: number;
  readonly viewed: number;
  /** The share of the ten that shoppers look at most. */
  readonly greatest: number;
}

/** State of the limiter and the demand for extra calls, stored so that a restart keeps both. */
export interface BudgetReads {
  /** Returns null if nothing was learned or the stored value cannot be read. */
  learned(): Budget | null;
  /** Null: not surveyed yet. */
  demand(): Surveyed | null;
  surveyedAt(): number | null;
}

export interface BudgetTable extends BudgetReads {
  saveLearned(budget: Budget): void;
  saveDemand(surveyed: Surveyed, at: Instant): void;
}

export function budgetReads(db: Reads): BudgetReads {
  const state = db.values(() => query.selectFrom('_budget').select('state'));
  const demand = db.values(() => query.selectFrom('_budget').select('demand'));
  let parsed: { readonly text: string; readonly demand: Surveyed | null } = { text: 'null', demand: null };
  const surveyedAt = db.values(() => query.selectFrom('_budget').select('surveyed_at'));
  return {
    learned: () => storedBudget(JSON.parse(state.get() ?? '{}')),
    demand: () => {
      const text = demand.get() ?? 'null';
      // Every read asks for its price, and a survey comes four times a day.
      if (text !== parsed.text) parsed = { text, demand: JSON.parse(text) as Surveyed | null };
      return parsed.demand;
    },
    surveyedAt: () => surveyedAt.get() ?? null,
  };
}

export function budgetTable(db: Writes): BudgetTable {
  const putState = db.change(({ state }: Bound<{ state: string }>) => query.updateTable('_budget').set({ state }));
  const putDemand = db.change(({ demand, at }: Bound<{ demand: string; at: Instant }>) =>
    query.updateTable('_budget').set({ demand, surveyed_at: at }),
  );
  return {
    ...budgetReads(db),
    saveLearned: (budget) => {
      putState.run({ state: JSON.stringify(budget) });
    },
    saveDemand: (surveyed, at) => {
      putDemand.run({ demand: JSON.stringify(surveyed), at });
    },
  };
}
