import { retryBudget } from '../domain/budget/retry-budget.ts';
import { answerLengths } from '../domain/catalogue/answer-lengths.ts';
import { NewsBudget } from '../domain/push/news.ts';
import { Siblings } from '../domain/schedule/siblings.ts';
import type { Outcome } from '../upstream/outcome.ts';
import { Evidence } from './evidence/evidence.ts';
import { Refusals } from './evidence/reach.ts';
import type { Ports } from './records/context.ts';
import { turns } from './records/turns.ts';

/** Parts from outside that sync work needs: the service, the mirror, time, chance and the policy. */
export type SyncOptions = Omit<
  Ports,
  'retries' | 'answerLengths' | 'pageTurns' | 'siblings' | 'news' | 'evidence' | 'refusals'
>;

/** Creates what all sync work gets, with what it shares: the judges of answers, the retries, and the turns at pages. */
export function createSync(options: SyncOptions, probe: (signal: AbortSignal) => Promise<Outcome>): Ports {
  const sync: Ports = {
    ...options,
    retries: retryBudget(),
    answerLengths: answerLengths(),
    pageTurns: turns(),
    siblings: new Siblings(options.clock.now()),
    news: new NewsBudget(() => options.budget().rate),
    // The judges use the rest themselves.
    get evidence() {
      return evidence;
    },
    get refusals() {
      return refusals;
    },
  };
  const evidence = new Evidence(sync);
  const refusals = new Refusals(sync, probe);
  return sync;
}
