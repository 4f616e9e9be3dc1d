import { DaemonRows } from '../../../src/copies/follow/daemon-rows.ts';
import { follow } from '../../../src/copies/follow/follower.ts';
import { type RowSource, SourceAway } from '../../../src/copies/follow/source.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { canary } from '../../fakes/canary.ts';
import { testLog } from '../../fakes/test-log.ts';
import type { Instance } from './stage.ts';

/** A file on another host that follows whichever instance answers, as behind a balancer. */
export interface Following {
  /** How often it had to begin with a whole copy. */
  readonly copies: number;
  /** How often it was equal to what the leader had told. */
  readonly caught_up: number;
  stop(): Promise<void>;
}

export function following(instances: readonly Instance[], path: string): Following {
  const sources = instances.map(({ admin }) => new DaemonRows(admin, { reveal: () => canary.admin }));
  let turn = 0;
  const ask = async <Result>(asking: (source: RowSource) => Promise<Result>): Promise<Result> => {
    try {
      return await asking(sources[turn % sources.length] as RowSource);
    } catch (error) {
      if (error instanceof SourceAway) turn += 1;
      throw error;
    }
  };
  let [copies, caught_up] = [0, 0];
  const ending = new AbortController();
  const source: RowSource = {
    after: (question, signal) => ask((each) => each.after(question, signal)),
    copy: async (to, signal) => {
      const published_at = await ask((each) => each.copy(to, signal));
      copies += 1;
      return published_at;
    },
  };
  const caughtUp = () => {
    caught_up += 1;
  };
  const log = testLog('silent').log;
  const followed = follow({ source, path, every: 250, clock: systemClock, log, own: 1, caughtUp }, ending.signal);
  return {
    get copies() {
      return copies;
    },
    get caught_up() {
      return caught_up;
    },
    stop: async () => {
      ending.abort();
      await followed;
    },
  };
}
