import { retryBudget } from '../domain/budget/retry-budget.ts';
import { answerLengths } from '../domain/catalogue/answer-lengths.ts';
import { Siblings } from '../domain/schedule/siblings.ts';
import type { Outcome } from '../upstream/outcome.ts';
import { Evidence } from './evidence/evidence.ts';
import { Refusals } from './evidence/reach.ts';
import type { Ports } from './records/context.ts';
import { turns } from './records/turns.ts';

/** What the sync work needs from outside: the service, the mirror, time and chance. */
export type SyncOptions = Pick<
  Ports,
  'upstream' | 'mirror' | 'clock' | 'chance' | 'entropy' | 'log' | 'policy' | 'budget'
>;

/**
 * Creates the ports of all sync work, with what all of it shares: the judges of answers, the retries, and the turns at
 * pages. `probe` requests a list page of one row.
 */
export function createSync(options: SyncOptions, probe: (signal: AbortSignal) => Promise<Outcome>): Ports {
  const shared = {
    ...options,
    retries: retryBudget(),
    answerLengths: answerLengths(),
    pageTurns: turns(),
    siblings: new Siblings(options.clock.now()),
  };
  const judged = { ...shared, evidence: new Evidence(shared) };
  return { ...judged, refusals: new Refusals(judged, probe) };
}
