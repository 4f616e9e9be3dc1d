import { createSync } from '../../src/cycle/create-sync.ts';
import { policyOf } from '../../src/daemon/policy.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import type { Sync, SyncOptions } from '../../src/schedule/sync.ts';
import { startBudget } from '../../src/service/budget.rules.ts';
import { seededEntropy } from './seeded-entropy.ts';
import { testConfig } from './test-config.ts';
import { testLog } from './test-log.ts';

/** The real sync work on a mirror of a test. It may not call the service unless a test brings one. */
export function testSync(own: Pick<SyncOptions, 'mirror'> & Partial<SyncOptions>): Sync {
  const unanswered = { kind: 'failed', failure: 'network', message: 'no service' } as never;
  return createSync(
    {
      upstream: undefined as never,
      clock: systemClock,
      chance: () => 0.5,
      entropy: seededEntropy(1),
      log: testLog('silent').log,
      policy: policyOf(testConfig('/nowhere', 'http://127.0.0.1:1').config, () => true),
      budget: () => startBudget(10, 0),
      ...own,
    },
    async () => unanswered,
  );
}
