import type { Wiring } from '../wiring.ts';

/**
 * Makes one cheap call, a list of one row, while calls fail: it shows whether that is the service's trouble or their own,
 * and ends an outage also where nothing is due.
 */
export class DoubtedService {
  readonly #wiring: Wiring;
  /** Calls made when the last one of ours had ended: with those that wait it takes turns. */
  #calls = Number.NaN;
  /** One call at a time. */
  #asking: Promise<void> | null = null;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  /** Run every few seconds. */
  ask(signal: AbortSignal): Promise<void> {
    this.#asking ??= this.#ask(signal).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { limiter, probe, ports } = this.#wiring;
    const { away, told_until, in_flight, waiting, calls } = limiter.state();
    if ((away === null && !limiter.isInDoubt()) || in_flight > 0 || told_until > ports.clock.now()) return;
    if (waiting > 0 && calls === this.#calls) return;
    await probe(signal);
    this.#calls = limiter.state().calls;
  }
}
