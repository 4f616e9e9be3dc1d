import { type Budget, storedBudget } from '../../domain/schedule/budget.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/** What the limiter has learned, and the price of a call: so that a restart forgets neither. */
export interface BudgetReads {
  /** Null: nothing was learned, or it cannot be read. */
  learned(): Budget | null;
  /** Per unit of weight; null: not known yet. */
  price(): number | null;
  pricedAt(): number | null;
}

export interface BudgetTable extends BudgetReads {
  saveLearned(budget: Budget): void;
  savePrice(price: number, at: number): void;
}

export function budgetReads(db: Reads): BudgetReads {
  const state = db.values(() => query.selectFrom('_budget').select('state'));
  const price = db.values(() => query.selectFrom('_budget').select('price'));
  const pricedAt = db.values(() => query.selectFrom('_budget').select('priced_at'));
  return {
    learned: () => parse(state.get() ?? null),
    price: () => price.get() ?? null,
    pricedAt: () => pricedAt.get() ?? null,
  };
}

export function budgetTable(db: Writes): BudgetTable {
  const putState = db.change(({ state }: Bound<{ state: string }>) => query.updateTable('_budget').set({ state }));
  const putPrice = db.change(({ price, at }: Bound<{ price: number; at: number }>) =>
    query.updateTable('_budget').set({ price, priced_at: at }),
  );
  return {
    ...budgetReads(db),
    saveLearned: (budget) => {
      putState.run({ state: JSON.stringify(budget) });
    },
    savePrice: (price, at) => {
      putPrice.run({ price, at });
    },
  };
}

function parse(text: string | null): Budget | null {
  if (text === null) return null;
  const stored: unknown = JSON.parse(text);
  return typeof stored === 'object' && stored !== null ? storedBudget(stored as Record<string, unknown>) : null;
}
