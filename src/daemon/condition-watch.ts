import { conditionsOf, type HeldCondition, type Memory, metSince, noMemory } from '../domain/conditions/decide.ts';
import type { ConditionFacts } from '../domain/conditions/facts.ts';
import { type ConditionCode, conditionTable } from '../domain/conditions/table.ts';
import type { Wiring } from './wiring.ts';

/** Remembers from one look to the next since when conditions have held, and notes when they begin and end. */
export interface ConditionWatch {
  memory(): Memory;
  /** Looks at the facts; run once a minute. */
  look(facts: ConditionFacts): void;
  /** Acknowledges a condition that holds, until it ends; returns false for one that does not. */
  acknowledge(facts: ConditionFacts, code: string, because: string): boolean;
}

export function watchConditions({
  inbox,
  files,
  storage,
  ports: { clock, log },
}: Pick<Wiring, 'inbox' | 'files' | 'storage' | 'ports'>): ConditionWatch {
  let memory: Memory = noMemory;

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
    memory: () => memory,
    look: (facts) => {
      const now = clock.now();
      memory = { ...memory, met: metSince(facts, now, memory) };
      const held = conditionsOf(facts, now, memory);
      if (files.isWell('inbox')) storage.soon('conditions', () => write(held, now));
    },
    acknowledge: (facts, code, because) => {
      const now = clock.now();
      write(conditionsOf(facts, now, memory), now);
      const done = inbox.conditions.acknowledge(code, because, now);
      recall();
      return done;
    },
  };
}
