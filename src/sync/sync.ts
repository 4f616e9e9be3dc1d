import type { Outcome } from '../upstream/outcome.ts';
import { Evidence } from './evidence/evidence.ts';
import { Refusals } from './evidence/reach.ts';
import { Sync, type SyncOptions } from './records/context.ts';

/** Creates the context of all sync work with the judges of its answers. `probe` makes one small call. */
export function createSync(options: SyncOptions, probe: (signal: AbortSignal) => Promise<Outcome>): Sync {
  return new Sync(options, {
    evidence: (sync) => new Evidence(sync),
    refusals: (sync) => new Refusals(sync, probe),
  });
}
