import { agreeMs } from '../../domain/schedule/clock-doubt.ts';
import type { Inbox } from '../../inbox/inbox.ts';
import type { Logger } from '../../log.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import { healMirror } from '../../sync/records/heal-instants.ts';
import type { Anchor, ClockState, TrustedClock } from './trusted-clock.ts';

export interface ClockWatchOptions {
  readonly time: TrustedClock;
  readonly mirror: Mirror;
  readonly inbox: Inbox;
  readonly log: Logger;
  /** Makes one call to the service, whose answer tells the time; rejects when the signal aborts. */
  ask(signal: AbortSignal): Promise<unknown>;
  /** Called after the believed time was changed. */
  moved(): void;
}

/** Watches for a wrong clock of the machine, and acts on it. */
export interface ClockWatch {
  /**
   * Compares the clocks, corrects stored instants and reports. Returns false while the time is unknown and no scheduled
   * work may begin. Run every second.
   */
  observe(): boolean;
  /** Does the same, and asks the service if two clocks disagree. */
  look(signal: AbortSignal): Promise<boolean>;
  /** Tells whether work that cannot be undone may be done: pruning, sweeping, rotating. */
  mayPrune(): boolean;
}

const askEveryMs = 10_000;
const patienceMs = 10_000;
/**
 * Work begun before a correction may still store an instant of the wrong clock, so instants are corrected once more
 * after this time.
 */
const againMs = 60_000;
/** The anchor moves with every correction of the clock; it is stored again when it has moved by this much. */
const savedWithinMs = 1000;

/** Watches the clocks of a wiring. */
export function watchClock({ time, mirror, inbox, log, ask, moved }: ClockWatchOptions): ClockWatch {
  const kind = 'clock-doubted';
  let saved: Anchor | null = inbox.machineClock.anchor();
  let healed: number | null = null;
  let heal_again: number | null = null;
  let told: ClockState['doubt'] | undefined;
  let asked = Number.NEGATIVE_INFINITY;

  function heal(): void {
    const rows = { ...healMirror({ mirror, clock: time }), ...inbox.healInstants(time.now()) };
    if (Object.keys(rows).length > 0) log.warn({ rows }, 'corrected instants that a wrong clock had written');
  }

  function report({ doubt, ahead_ms }: ClockState): void {
    if (doubt === told) return;
    if (doubt !== null) {
      mirror.alarms.set(kind, { at: time.now(), products: 0 });
      log.error(
        { doubt, ahead_ms },
        "the machine's clock is in doubt: using the time since boot and the service's time instead",
      );
    } else if (mirror.alarms.set(kind, null) === 'ended') log.warn({}, "the machine's clock is trusted again");
    // Set after the write, so that a failed write is tried again.
    told = doubt;
  }

  function save(anchor: Anchor): void {
    const near = (one: number | null, other: number | null, ms: number) =>
      one === other || (one !== null && other !== null && Math.abs(one - other) < ms);
    const same =
      saved !== null &&
      saved.boot_id === anchor.boot_id &&
      saved.confirmed === anchor.confirmed &&
      near(saved.booted_at, anchor.booted_at, savedWithinMs) &&
      near(saved.doubted_at, anchor.doubted_at, agreeMs);
    if (same) return;
    inbox.machineClock.save(anchor);
    saved = anchor;
  }

  function observe(): boolean {
    const state = time.look();
    if (state.ready && healed !== state.changes) {
      // Also the first time, at the start: an earlier process may have run in another year.
      if (healed !== null) moved();
      heal();
      heal_again = healed === null ? null : time.boot() + againMs;
      healed = state.changes;
    } else if (heal_again !== null && time.boot() >= heal_again) {
      heal();
      heal_again = null;
    }
    report(state);
    save(time.anchor());
    return state.ready;
  }

  async function look(signal: AbortSignal): Promise<boolean> {
    const ready = observe();
    if (signal.aborted || !time.look().asks || time.monotonic() - asked < askEveryMs) return ready;
    asked = time.monotonic();
    // A single `Date` may come from anybody.
    for (let times = 0; times < 2 && time.look().asks; times += 1) {
      using patience = time.deadline(patienceMs, signal);
      await ask(patience.signal).catch(() => undefined);
    }
    return observe();
  }

  return { observe, look, mayPrune: () => time.look().mayPrune };
}
