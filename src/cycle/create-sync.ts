import { Sync, type SyncOptions } from '../schedule/sync.ts';
import type { Outcome } from '../service/outcome.ts';
import { Evidence } from '../trust/evidence.ts';
import { Refusals } from '../trust/refusals.ask.ts';

/** Creates the context of all sync work with the judges of its answers. `probe` makes one small call. */
export function createSync(options: SyncOptions, probe: (signal: AbortSignal) => Promise<Outcome>): Sync {
  return new Sync(options, {
    evidence: (sync) => new Evidence(sync),
    refusals: (sync) => new Refusals(sync, probe),
  });
}
