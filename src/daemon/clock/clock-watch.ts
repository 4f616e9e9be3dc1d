import type { Logger } from '../../kernel/log.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import type { Inbox } from '../../receiver/inbox.ts';
import { agreeMs } from '../../schedule/clock-doubt.rules.ts';
import { healMirror } from '../../schedule/heal-instants.ts';
import type { Anchor, ClockState, TrustedClock } from './trusted-clock.ts';

export interface ClockWatchOptions {
  readonly time: TrustedClock;
  readonly mirror: Mirror;
  readonly inbox: Inbox;
  readonly log: Logger;
  /** Makes one call to the service, whose answer shows the time. Rejects when the signal aborts. */
  ask(signal: AbortSignal): Promise<unknown>;
  /** Called after the believed time was changed. */
  moved(): void;
}

const askEveryMs = 10_000;
const patienceMs = 10_000;
/**
 * Milliseconds after a correction at which stored instants are repaired once more: work begun before the correction may
 * still store an instant of the wrong clock.
 */
const againMs = 60_000;
/** Change of the anchor, in milliseconds, at which it is stored again. It moves with every correction of the clock. */
const savedWithinMs = 1000;

/** Watches for a wrong clock of the machine, repairs stored instants and records the doubt. */
export class ClockWatch {
  readonly #options: ClockWatchOptions;
  /** The anchor as stored in the inbox. */
  #saved: Anchor | null;
  /** The count of changes of the believed time for which stored instants were repaired; null: not yet since the start. */
  #healed: number | null = null;
  /** Instant of the second repair, by the time since boot; null: none is planned. */
  #heal_again: number | null = null;
  /** The doubt that was reported last; undefined: none was reported. */
  #reported: ClockState['doubt'] | undefined;
  /** Instant at which the service was last asked, by the monotonic clock. */
  #asked_at = Number.NEGATIVE_INFINITY;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
    this.#saved = options.inbox.machineClock.anchor();
  }

  /**
   * Compares the clocks, repairs stored instants and reports. Returns false while the time is unknown, so that no
   * scheduled work may begin. Run every second.
   */
  observe(): boolean {
    const { time, moved } = this.#options;
    const state = time.look();
    if (state.ready && this.#healed !== state.changes) {
      // Also at the start: an earlier process may have run with a wrong clock.
      if (this.#healed !== null) moved();
      this.#heal();
      this.#heal_again = this.#healed === null ? null : time.boot() + againMs;
      this.#healed = state.changes;
    } else if (this.#heal_again !== null && time.boot() >= this.#heal_again) {
      this.#heal();
      this.#heal_again = null;
    }
    this.#report(state);
    this.#save(time.anchor());
    return state.ready;
  }

  /** Does the same, and asks the service if two clocks disagree. */
  async look(signal: AbortSignal): Promise<boolean> {
    const { time, ask } = this.#options;
    const ready = this.observe();
    if (signal.aborted || !time.look().asks || time.monotonic() - this.#asked_at < askEveryMs) return ready;
    this.#asked_at = time.monotonic();
    // A single `Date` may come from any proxy or cache.
    for (let times = 0; times < 2 && time.look().asks; times += 1) {
      using patience = time.deadline(patienceMs, signal);
      await ask(patience.signal).catch(() => undefined);
    }
    return this.observe();
  }

  /** Returns whether irreversible work may be done: pruning, sweeping, rotating. */
  mayPrune(): boolean {
    return this.#options.time.look().mayPrune;
  }

  #heal(): void {
    const { time, mirror, inbox, log } = this.#options;
    const rows = { ...healMirror(mirror, time.now()), ...inbox.healInstants(time.now()) };
    if (Object.keys(rows).length > 0) log.warn({ rows }, 'corrected instants that a wrong clock had written');
  }

  #report({ doubt, ahead_ms }: ClockState): void {
    if (doubt === this.#reported) return;
    const { time, mirror, log } = this.#options;
    if (doubt !== null) {
      mirror.status.outcomes.note('clock', time.now(), { affected: 1, detail: doubt });
      log.error(
        { doubt, ahead_ms },
        "the machine's clock is in doubt: using the time since boot and the service's time instead",
      );
    } else if (mirror.status.outcomes.note('clock', time.now(), null) === 'ended')
      log.warn({}, "the machine's clock is trusted again");
    // Set after the write, so that a failed write is repeated.
    this.#reported = doubt;
  }

  #save(anchor: Anchor): void {
    const near = (one: number | null, other: number | null, ms: number) =>
      one === other || (one !== null && other !== null && Math.abs(one - other) < ms);
    const same =
      this.#saved !== null &&
      this.#saved.boot_id === anchor.boot_id &&
      this.#saved.confirmed === anchor.confirmed &&
      near(this.#saved.booted_at, anchor.booted_at, savedWithinMs) &&
      near(this.#saved.doubted_at, anchor.doubted_at, agreeMs);
    if (same) return;
    this.#options.inbox.machineClock.save(anchor);
    this.#saved = anchor;
  }
}
