/*
 * The rate rule as it was at 1e8a28f, the control of the rate table: halved by each throttle (once in five seconds), up by
 * a tenth of a call for each ten clean seconds, and a pause of a second, two, four … where the service did not say.
 */

export interface OldBudget {
  readonly rate: number;
  readonly ceiling: number;
  readonly not_before: number;
  readonly throttles: number;
  readonly halved_at: number;
  readonly clean_since: number;
}

const floor = 1 / 20;

export function startOld(ceiling: number): OldBudget {
  return { rate: ceiling / 2, ceiling, not_before: 0, throttles: 0, halved_at: -5_000, clean_since: 0 };
}

export function oldAfterAnswer(budget: OldBudget, now: number): OldBudget {
  if (budget.not_before > now) return budget;
  const clean = { ...budget, throttles: 0 };
  if (now - budget.clean_since < 10_000 || budget.rate >= budget.ceiling) return clean;
  const step = Math.max(0.1, budget.ceiling / 100);
  return { ...clean, rate: Math.min(budget.rate + step, budget.ceiling), clean_since: now };
}

export function oldAfterThrottle(budget: OldBudget, until: number | null, chance: number, now: number): OldBudget {
  const left = Math.max(0, budget.not_before - now);
  const halved = now - budget.halved_at >= 5_000;
  const rate = halved ? Math.max(budget.rate / 2, floor) : budget.rate;
  const again = left > 0 && budget.throttles > 0;
  const own = Math.min(1_000 * 2 ** budget.throttles, 60_000);
  const wait = (until === null ? (again ? 0 : own) : Math.max(until - now, 1000 / rate)) * (1 + 0.1 * chance);
  return {
    ...budget,
    rate,
    halved_at: halved ? now : budget.halved_at,
    clean_since: now,
    throttles: again ? budget.throttles : budget.throttles + 1,
    not_before: now + Math.max(left, wait),
  };
}
