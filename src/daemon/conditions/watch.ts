import { type BrokenAge, brokenAges } from '../../domain/conditions/ages.ts';
import { conditionsOf, type HeldCondition, type Memory, metSince, noMemory } from '../../domain/conditions/decide.ts';
import type { ConditionFacts, Watched } from '../../domain/conditions/facts.ts';
import { isCondition } from '../../domain/conditions/table.ts';
import { watchedNow } from '../../domain/conditions/watched.ts';
import { SyncFailed } from '../../sqlite/failed-sync.ts';
import { writeTroubleOf } from '../../sqlite/fault.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import type { Wiring } from '../wiring.ts';
import { conditionTries } from './tries.ts';

/** Remembers from one look to the next since when conditions have held, and notes when they and broken promises begin and end. */
export interface ConditionWatch {
  /** Returns the conditions that a status amounts to now. */
  conditionsOf(status: Unjudged): HeldCondition[];
  /**
   * Tries what no call would show, looks at the status, and notes what begins and ends; run once a minute. A note that
   * cannot be written is logged, and the next look writes it.
   */
  look(status: () => Promise<Unjudged>, signal: AbortSignal): Promise<void>;
  /** Returns why the last look was not noted; null: it was. */
  failure(): string | null;
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
  let failure: string | null = null;

  const factsOf = (status: Unjudged): ConditionFacts => ({ ...status, watched, tried: tries.tried() });

  /** What an earlier process has noted; in memory, because status is asked for while the inbox is lost, too. */
  function recall(): void {
    const periods = inbox.conditions.open();
    const of = periods.flatMap(({ code, ...period }) => (isCondition(code) ? [[code, period] as const] : []));
    memory = {
      met: new Map([...of.map(([code, { began_at }]) => [code, began_at] as const), ...memory.met]),
      acknowledged: new Map(
        of.flatMap(([code, { acknowledged }]) => (acknowledged === null ? [] : [[code, acknowledged] as const])),
      ),
    };
  }

  function write(held: readonly HeldCondition[], ages: readonly BrokenAge[], now: number): void {
    const { began, ended } = inbox.conditions.note([...held, ...ages], now);
    for (const { code, severity, says } of held.filter((each) => began.includes(each.code)))
      log[severity === 'error' ? 'error' : 'warn']({ condition: code, says }, 'condition began');
    for (const code of ended.filter(isCondition)) log.info({ condition: code }, 'condition ended');
    recall();
  }

  /** Writes what holds: a report about trouble must not end the daemon, unless the disk lost what was written. */
  function record(held: readonly HeldCondition[], ages: readonly BrokenAge[], now: number): void {
    try {
      write(held, ages, now);
      failure = null;
    } catch (error) {
      if (error instanceof SyncFailed || writeTroubleOf(error) !== null) throw error;
      failure = error instanceof Error ? error.message : String(error);
      if (!files.noteDamage('inbox', error)) log.error({ err: error }, 'conditions cannot be recorded');
    }
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
      if (files.isWell('inbox')) storage.soon('conditions', () => record(held, brokenAges(facts), now));
    },
    failure: () => failure,
    acknowledge: (status, code, because) => {
      const now = clock.now();
      write(conditionsOf(factsOf(status), now, memory), brokenAges(status), now);
      const done = isCondition(code) && inbox.conditions.acknowledge(code, because, now);
      recall();
      return done;
    },
  };
}
