import { conditionsOf, type HeldCondition, type Memory, metSince, noMemory } from '../../domain/conditions/decide.ts';
import type { ConditionFacts, Watched } from '../../domain/conditions/facts.ts';
import { type ConditionCode, conditionTable } from '../../domain/conditions/table.ts';
import { watchedNow } from '../../domain/conditions/watched.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import type { Wiring } from '../wiring.ts';
import { conditionTries } from './tries.ts';

/** Remembers from one look to the next since when conditions have held, and notes when they begin and end. */
export interface ConditionWatch {
  /** Returns the conditions that a status amounts to now. */
  conditionsOf(status: Unjudged): HeldCondition[];
  /** Tries what no call would show, looks at the status, and notes what begins and ends; run once a minute. */
  look(status: () => Promise<Unjudged>, signal: AbortSignal): Promise<void>;
  /** Acknowledges a condition that holds, until it ends; returns false for one that does not. */
  acknowledge(status: Unjudged, code: string, because: string): boolean;
}

type Unjudged = Omit<DaemonStatus, 'conditions'>;

export function watchConditions(
  wiring: Parameters<typeof conditionTries>[0] & Pick<Wiring, 'inbox' | 'files' | 'storage'>,
): ConditionWatch {
  const { inbox, files, storage } = wiring;
  const { clock, log } = wiring.ports;
  const tries = conditionTries(wiring);
  let watched: Watched | null = null;
  let memory: Memory = noMemory;

  const factsOf = (status: Unjudged): ConditionFacts => ({ ...status, watched, tried: tries.tried() });

  /** What an earlier process has noted; in memory, because status is asked for while the inbox is lost, too. */
  function recall(): void {
    const periods = inbox.conditions.open().filter(({ code }) => Object.hasOwn(conditionTable, code));
    const of = periods.map(({ code, ...period }) => [code as ConditionCode, period] as const);
    memory = {
      met: new Map([...of.map(([code, { began_at }]) => [code, began_at] as const), ...memory.met]),
      acknowledged: new Map(
        of.flatMap(([code, { acknowledged }]) => (acknowledged === null ? [] : [[code, acknowledged] as const])),
      ),
    };
  }

  function write(held: readonly HeldCondition[], now: number): void {
    const { began, ended } = inbox.conditions.note(held, now);
    for (const { code, severity, says } of held.filter((each) => began.includes(each.code)))
      log[severity === 'error' ? 'error' : 'warn']({ condition: code, says }, 'condition began');
    for (const code of ended) log.info({ condition: code }, 'condition ended');
    recall();
  }

  recall();
  return {
    conditionsOf: (status) => conditionsOf(factsOf(status), clock.now(), memory),
    look: async (status, signal) => {
      await tries.look(signal);
      const found = await status();
      const now = clock.now();
      watched = watchedNow(watched, factsOf(found), now);
      const facts = factsOf(found);
      memory = { ...memory, met: metSince(facts, now, memory) };
      const held = conditionsOf(facts, now, memory);
      if (files.isWell('inbox')) storage.soon('conditions', () => write(held, now));
    },
    acknowledge: (status, code, because) => {
      const now = clock.now();
      write(conditionsOf(factsOf(status), now, memory), now);
      const done = inbox.conditions.acknowledge(code, because, now);
      recall();
      return done;
    },
  };
}
