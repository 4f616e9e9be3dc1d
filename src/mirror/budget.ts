import type { Budget } from '../domain/budget.ts';
import type { Database } from '../sqlite/database-file.ts';

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

/** A budget of another generation of this program is none. */
function parse(text: string | null): Budget | null {
  if (text === null) return null;
  const stored = JSON.parse(text) as Partial<Record<keyof Budget, unknown>>;
  const numbers = ['rate', 'ceiling', 'not_before', 'throttles', 'misses', 'halved_at', 'clean_since'] as const;
  return numbers.every((name) => Number.isFinite(stored[name])) ? (stored as unknown as Budget) : null;
}
