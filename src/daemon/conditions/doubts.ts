import type { Mirroring } from '../mirroring.ts';

/**
 * Pauses in milliseconds between two of these calls while they fail and the service counts as reachable. A list that
 * fails alone may do so for days.
 */
const restMs = { first: 5000, longest: 60_000 };

/**
 * Makes one cheap call, a list of one row, while calls fail. It shows whether the service is in trouble or only these
 * calls are. It also ends an outage when nothing is due.
 */
export class DoubtedService {
  readonly #mirroring: Mirroring;
  /** Number of calls made at the end of our last one. While other calls wait, ours alternate with them. */
  #calls = Number.NaN;
  /** The call under way, at most one; null: none. */
  #asking: Promise<void> | null = null;
  #asked_at = Number.NEGATIVE_INFINITY;
  #rest_ms = 0;

  constructor(mirroring: Mirroring) {
    this.#mirroring = mirroring;
  }

  /** Makes the call if it is needed. Run every few seconds. */
  ask(signal: AbortSignal): Promise<void> {
    this.#asking ??= this.#ask(signal).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { limiter, probe, sync } = this.#mirroring;
    const { away, told_until, in_flight, waiting, calls } = limiter.state();
    const isAlone = away === null && limiter.isInDoubt();
    if (!isAlone) this.#rest_ms = 0;
    if ((away === null && !isAlone) || in_flight > 0 || told_until > sync.clock.now()) return;
    if (sync.clock.monotonic() - this.#asked_at < this.#rest_ms) return;
    if (waiting > 0 && calls === this.#calls) return;
    await probe(signal);
    this.#calls = limiter.state().calls;
    this.#asked_at = sync.clock.monotonic();
    this.#rest_ms = Math.min(restMs.longest, Math.max(restMs.first, 2 * this.#rest_ms));
  }
}
