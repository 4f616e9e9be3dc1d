import { type Instant, instant } from '../../kernel/clock.ts';
import { SyncFailed } from '../../kernel/sqlite/failed-sync.ts';
import { writeTroubleOf } from '../../kernel/sqlite/fault.ts';
import { type MissedTarget, missedTargets } from '../../says/conditions/ages.rules.ts';
import { minute, type Severity } from '../../says/conditions/condition.rules.ts';
import {
  type ActiveCondition,
  conditionsOf,
  metSince,
  nextShownAt,
  noPeriods,
  type Periods,
} from '../../says/conditions/decide.rules.ts';
import type { ConditionFacts, Watched } from '../../says/conditions/facts.rules.ts';
import { type ConditionCode, conditionTable, isCondition } from '../../says/conditions/table.rules.ts';
import { watchedNow } from '../../says/conditions/watched.rules.ts';
import type { UnjudgedStatus } from '../../says/status/daemon-status.ts';
import type { Mirroring } from '../mirroring.ts';
import { ConditionTries } from './tries.ts';

/** A condition whose beginning is in the log, or in the file of an earlier process. */
interface Announced {
  readonly since: number;
  readonly severity: Severity;
}

/**
 * Milliseconds for which conditions recorded by an earlier process count as lasting. By then this process has made its
 * own attempts, which decide about them.
 */
const settlingMs = 2 * 60_000;

/**
 * Remembers between inspections since when conditions have held. Writes one log line for each that begins or ends, even
 * if the inbox cannot record it.
 */
export class ConditionWatch {
  readonly #mirroring: Mirroring;
  readonly #tries: ConditionTries;
  readonly #started_at: number;
  #watched: Watched | null = null;
  #periods: Periods = noPeriods;
  /**
   * The conditions that were announced and have not ended. The log and the file are compared with the current
   * conditions one by one.
   */
  readonly #announced = new Map<ConditionCode, Announced>();
  /** Of those, the conditions seen only by an earlier process. */
  readonly #recalled = new Set<ConditionCode>();
  #failure: string | null = null;
  /** State of the service at the last inspection. A change is judged at once, not at the next minute. */
  #service = 'there';
  /** The next instant at which a condition will have lasted long enough to be shown; null: none is waiting. */
  #next_at: number | null = null;
  /**
   * The last inspection. They run one after another, since an older status would undo the announcements of a newer one.
   */
  #looking: Promise<unknown> = Promise.resolve();

  constructor(mirroring: Mirroring) {
    this.#mirroring = mirroring;
    this.#tries = new ConditionTries(mirroring);
    this.#started_at = mirroring.sync.clock.monotonic();
    for (const { code, began_at } of mirroring.inbox.conditions.open()) {
      if (!isCondition(code)) continue;
      this.#announced.set(code, { since: began_at, severity: conditionTable[code].severity });
      this.#recalled.add(code);
    }
    this.#recall();
  }

  /** Returns the conditions that hold according to a status. */
  conditionsOf(status: UnjudgedStatus): ActiveCondition[] {
    return conditionsOf(this.#factsOf(status), this.#periods);
  }

  /**
   * Checks whether the service can be reached, and inspects everything else if that has changed. Run every few seconds.
   */
  async lookForService(status: () => Promise<UnjudgedStatus>, signal: AbortSignal): Promise<void> {
    const { limiter, sync } = this.#mirroring;
    const isDue = this.#next_at !== null && this.#next_at <= sync.clock.now();
    // No outage begins in the log after it has ended.
    await this.#tries.lookForService(signal, isDue ? 'now' : 'if due');
    const { away, asked } = limiter.pause();
    const there = asked === null || asked.until - sync.clock.now() < minute ? 'there' : 'asks for a pause';
    const service = away?.how ?? (this.#tries.tried().unreachable === null ? there : 'unreachable');
    // An outage that begins now is another one.
    const isOver = service === 'there' && this.#tries.wasReached && this.#recalled.delete('service-unreachable');
    if (service === this.#service && !isDue && !isOver) return;
    await this.#settle(status);
    this.#service = service;
  }

  /**
   * Makes the attempts, inspects the status, and records which conditions begin and end. Run once a minute. A failure
   * to record is logged, and repeated at the next inspection.
   */
  async look(status: () => Promise<UnjudgedStatus>, signal: AbortSignal): Promise<void> {
    await this.#tries.look(signal);
    await this.#settle(status);
  }

  /** Returns the reason why the last inspection was not recorded; null: it was. */
  failure(): string | null {
    return this.#failure;
  }

  /** Acknowledges a condition until it ends. Returns false if it does not hold. */
  acknowledge(status: UnjudgedStatus, code: string, because: string): boolean {
    const { inbox, sync } = this.#mirroring;
    const now = sync.clock.now();
    const held = this.conditionsOf(status);
    this.#announce(held, now);
    this.#write(held, missedTargets(status), now);
    const done = isCondition(code) && inbox.conditions.acknowledge(code, because, now);
    this.#recall();
    return done;
  }

  async #settle(status: () => Promise<UnjudgedStatus>): Promise<void> {
    const settled = this.#looking.then(async () => this.#settleNow(await status()));
    this.#looking = settled.catch(() => undefined);
    await settled;
  }

  #settleNow(found: UnjudgedStatus): void {
    const { files, writer, sync } = this.#mirroring;
    const now = sync.clock.now();
    this.#watched = watchedNow(this.#watched, this.#factsOf(found, now));
    const facts = this.#factsOf(found, now);
    this.#periods = { ...this.#periods, met: metSince(facts, this.#periods) };
    this.#next_at = nextShownAt(facts, this.#periods);
    const held = conditionsOf(facts, this.#periods);
    this.#announce(held, now);
    if (files.isWell('inbox')) writer.soon('conditions', () => this.#record(held, missedTargets(facts), now));
  }

  #factsOf(status: UnjudgedStatus, at: number = this.#mirroring.sync.clock.now()): ConditionFacts {
    return { ...status, at, watched: this.#watched, tried: this.#tries.tried() };
  }

  /** Logs the conditions that have begun and ended since the last inspection, at their severity. */
  #announce(held: readonly ActiveCondition[], now: number): void {
    const { clock, log } = this.#mirroring.sync;
    const holds = new Map(held.map((each) => [each.code, each]));
    for (const { code, severity, says, todo, since } of held) {
      this.#recalled.delete(code);
      if (this.#announced.has(code)) continue;
      this.#announced.set(code, { since: since ?? now, severity });
      log[levelOf(severity)]({ condition: code, says, hint: todo }, 'condition began');
    }
    if (clock.monotonic() - this.#started_at >= settlingMs) this.#recalled.clear();
    for (const [code, { since, severity }] of this.#announced) {
      if (holds.has(code) || this.#recalled.has(code)) continue;
      this.#announced.delete(code);
      const cause = held.find(({ explains }) => explains.includes(code));
      const fields = { condition: code, lasted_ms: Math.max(0, now - since) };
      // The condition has not ended: from now on its cause is shown instead.
      if (cause !== undefined) log[levelOf(severity)]({ ...fields, cause: cause.code }, 'condition has a cause now');
      else log[levelOf(severity)](fields, 'condition ended');
    }
    this.#periods = { ...this.#periods, shown: new Set(this.#announced.keys()) };
  }

  /** Records the current conditions. A failure must not end the daemon, unless the disk has lost a write. */
  #record(held: readonly ActiveCondition[], ages: readonly MissedTarget[], now: Instant): void {
    const { files, sync } = this.#mirroring;
    try {
      this.#write(held, ages, now);
      this.#failure = null;
    } catch (error) {
      if (error instanceof SyncFailed || writeTroubleOf(error) !== null) throw error;
      this.#failure = error instanceof Error ? error.message : String(error);
      if (!files.noteDamage('inbox', error)) sync.log.error({ err: error }, 'conditions cannot be recorded');
    }
  }

  #write(held: readonly ActiveCondition[], ages: readonly MissedTarget[], now: Instant): void {
    const goesOn = [...this.#recalled].map((code) => ({ code, since: null, says: '' }));
    const shown = [...held, ...goesOn, ...ages].map(({ code, since, says }) => ({
      code,
      since: since === null ? null : instant(since),
      says,
    }));
    this.#mirroring.inbox.conditions.note(shown, now);
    this.#recall();
  }

  /** Reads the records into memory, because the status is needed even while the inbox is lost. */
  #recall(): void {
    const periods = this.#mirroring.inbox.conditions.open();
    const of = periods.flatMap(({ code, ...period }) => (isCondition(code) ? [[code, period] as const] : []));
    this.#periods = {
      met: new Map([...of.map(([code, { began_at }]) => [code, began_at] as const), ...this.#periods.met]),
      acknowledged: new Map(
        of.flatMap(([code, { acknowledged }]) => (acknowledged === null ? [] : [[code, acknowledged] as const])),
      ),
      shown: new Set(this.#announced.keys()),
    };
  }
}

function levelOf(severity: Severity): 'error' | 'warn' {
  return severity === 'error' ? 'error' : 'warn';
}
