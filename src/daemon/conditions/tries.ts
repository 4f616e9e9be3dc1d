import { ReaderRights } from '../../files/reader-rights.ts';
import { instant } from '../../kernel/clock.ts';
import { descriptorLimit, descriptorsNow } from '../../kernel/sqlite/descriptors.ts';
import { isMute } from '../../push/mute.rules.ts';
import type { Tried } from '../../says/conditions/facts.rules.ts';
import { unshownOf } from '../../says/conditions/unshown.rules.ts';
import { whyUnreachable } from '../../service/unreachable.ts';
import type { Mirroring } from '../mirroring.ts';

const addressEveryMs = 15 * 60_000;
/** Milliseconds between two connections to an idle service, and after a failed one. They send nothing. */
const connectEveryMs = { usual: 10_000, failed: 5_000 };
/**
 * Announced updates of this age, in milliseconds, are compared with the reads that followed; a read may take some
 * minutes.
 */
const announcedMs = { from: 6 * 3_600_000, to: 10 * 60_000 };
/** The same for updates that must show in the mirrored data: the service's own caches may take this long. */
const awaitedMs = { from: 24 * 3_600_000, to: 30 * 60_000 };
/** The most deliveries by which the rhythm of deliveries is judged. */
const arrivalsAtMost = 2000;

/**
 * Attempts whose result no call shows: whether the service can be reached while nothing is due, and the receiver from
 * outside.
 */
export class ConditionTries {
  readonly #mirroring: Mirroring;
  /**
   * Number of calls at the last attempt. If it has grown since, those calls have shown whether the service can be
   * reached.
   */
  #calls = Number.NaN;
  #connected_at = Number.NEGATIVE_INFINITY;
  #unreachable: Tried['unreachable'] = null;
  #wasReached = false;
  #public_address: Tried['public_address'] = null;
  #tested_at = Number.NEGATIVE_INFINITY;
  #unshown: Tried['unshown'] = null;
  #mute: Tried['mute'] = null;
  /** The access rights to the mirror at the start of the daemon. */
  readonly #rights: ReaderRights;
  #shut_out: Tried['shut_out'] = null;
  /** Read at the start, while there are descriptors to read it with. */
  readonly #limit = descriptorLimit();
  #descriptors: Tried['descriptors'] = null;

  constructor(mirroring: Mirroring) {
    this.#mirroring = mirroring;
    this.#rights = new ReaderRights(mirroring.config.mirror.path);
  }

  /** True: this process has reached the service. What an earlier one saw of it is over. */
  get wasReached(): boolean {
    return this.#wasReached;
  }

  tried(): Tried {
    return {
      unreachable: this.#unreachable,
      clock_offset_ms: this.#mirroring.serviceClock.offset(),
      public_address: this.#public_address,
      unshown: this.#unshown,
      mute: this.#mute,
      shut_out: this.#shut_out,
      descriptors: this.#descriptors,
      crowded: this.#mirroring.crowding.now(),
    };
  }

  /**
   * Connects to the service if no call was made since the last attempt: at most every ten seconds, or every five after
   * a failed one, or `now`. Run every few seconds.
   */
  async lookForService(signal: AbortSignal, when: 'if due' | 'now'): Promise<void> {
    const { limiter, config, sync } = this.#mirroring;
    const { calls, in_flight, away } = limiter.state();
    const idle = calls === this.#calls && in_flight === 0;
    this.#calls = calls;
    // The limiter knows better then.
    if (away !== null) this.#unreachable = null;
    // A call under way, or one that failed alone, does not show that the service can be reached.
    if (away !== null || in_flight > 0 || limiter.isInDoubt()) return;
    if (!idle) {
      this.#unreachable = null;
      this.#wasReached ||= calls > 0;
      return;
    }
    const every = this.#unreachable === null ? connectEveryMs.usual : connectEveryMs.failed;
    if (when === 'if due' && sync.clock.monotonic() - this.#connected_at < every) return;
    this.#connected_at = sync.clock.monotonic();
    const began_at = sync.clock.now();
    const says = await whyUnreachable(config.service.base_url, sync.clock, signal);
    if (signal.aborted) return;
    this.#unreachable = says === null ? null : { since: this.#unreachable?.since ?? began_at, says };
    this.#wasReached ||= says === null;
  }

  /**
   * Inspects the results of reads and deliveries, and tests our own public address from time to time. Run once a
   * minute.
   */
  async look(signal: AbortSignal): Promise<void> {
    const { clock } = this.#mirroring.sync;
    this.#lookAtMachine();
    this.#lookAtReads();
    if (clock.monotonic() - this.#tested_at < addressEveryMs) return;
    this.#tested_at = clock.monotonic();
    this.#listen();
    await this.#testAddress(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  #lookAtMachine(): void {
    const says = this.#rights.lost();
    this.#shut_out = says === null ? null : { since: this.#shut_out?.since ?? this.#mirroring.sync.clock.now(), says };
    this.#descriptors = descriptorsNow(this.#limit);
  }

  #lookAtReads(): void {
    const { files, mirror, sync } = this.#mirroring;
    const now = sync.clock.now();
    if (!files.isWell('mirror')) return;
    this.#unshown = unshownOf({
      told: mirror.push.notices.updates(instant(now - announcedMs.from), instant(now - announcedMs.to)),
      awaited: mirror.push.notices.unshown(instant(now - awaitedMs.from), instant(now - awaitedMs.to)),
    });
  }

  #listen(): void {
    const { files, inbox, sync } = this.#mirroring;
    if (!files.isWell('inbox')) return;
    const now = sync.clock.now();
    const silent = [...inbox.deliveries.arrivals(arrivalsAtMost)].filter(([, times]) => isMute(times, now));
    const last = silent.map(([, times]) => times.at(-1) ?? 0);
    this.#mute = silent.length === 0 ? null : { subscriptions: silent.map(([id]) => id), since: Math.min(...last) };
  }

  async #testAddress(signal: AbortSignal): Promise<void> {
    const { subscriptions, sync } = this.#mirroring;
    if ('why' in subscriptions) return;
    const { result, message, answered } = await subscriptions.work.selfTest(signal);
    const now = sync.clock.now();
    const failsSince = this.#public_address?.result === 'failed' ? this.#public_address.since : now;
    this.#public_address = { result, message, answered, since: result === 'passed' ? now : failsSince };
  }
}
