import { type Budget, storedBudget } from '../../domain/schedule/budget.ts';
import type { Database } from '../../sqlite/database-file.ts';

/** What the limiter has learned, and the price of a call: so that a restart forgets neither. */
export interface BudgetTable {
  /** Null: nothing was learned, or it cannot be read. */
  learned(): Budget | null;
  saveLearned(budget: Budget): void;
  /** Per unit of weight; null: not known yet. */
  price(): number | null;
  pricedAt(): number | null;
  savePrice(price: number, at: number): void;
}

export function budgetTable(db: Database): BudgetTable {
  const state = db.prepare<[], string | null>('SELECT state FROM budget').pluck();
  const putState = db.prepare<[string]>('UPDATE budget SET state = ?');
  const price = db.prepare<[], number | null>('SELECT price FROM budget').pluck();
  const pricedAt = db.prepare<[], number | null>('SELECT priced_at FROM budget').pluck();
  const putPrice = db.prepare<[number, number]>('UPDATE budget SET price = ?, priced_at = ?');
  return {
    learned: () => parse(state.get() ?? null),
    saveLearned: (budget) => {
      putState.run(JSON.stringify(budget));
    },
    price: () => price.get() ?? null,
    pricedAt: () => pricedAt.get() ?? null,
    savePrice: (value, at) => {
      putPrice.run(value, at);
    },
  };
}

function parse(text: string | null): Budget | null {
  if (text === null) return null;
  const stored: unknown = JSON.parse(text);
  return typeof stored === 'object' && stored !== null ? storedBudget(stored as Record<string, unknown>) : null;
}
