import type { Logger } from '../log.ts';
import type { Refused } from './admission.ts';

const everyMs = 60_000;
/** The most peers that are logged separately. Refusals of further peers are counted together. */
const peersAtMost = 1000;

/**
 * Logs one line about refused requests per peer and minute, with the number since the last line. Never logs the
 * requested path.
 */
export class RefusalLog {
  readonly #log: Logger;
  readonly #monotonic: () => number;
  /** In the order of their last line, oldest first. */
  readonly #peers = new Map<string, { said_at: number; unsaid: number }>();

  constructor(log: Logger, monotonic: () => number) {
    this.#log = log;
    this.#monotonic = monotonic;
  }

  note({ reason, caller: peer, subscription_id, epoch }: Refused): void {
    const now = this.#monotonic();
    for (const [name, { said_at }] of this.#peers) {
      if (this.#peers.size < peersAtMost || now - said_at < everyMs) break;
      this.#peers.delete(name);
    }
    // The use of a dropped address is a condition, so it has its own line.
    const own = reason === 'dropped' ? `dropped ${peer}` : peer;
    const key = this.#peers.has(own) || this.#peers.size < peersAtMost ? own : 'others';
    const seen = this.#peers.get(key);
    if (seen !== undefined && now - seen.said_at < everyMs) {
      seen.unsaid += 1;
      return;
    }
    this.#peers.delete(key);
    this.#peers.set(key, { said_at: now, unsaid: 0 });
    const fields = { route: 'callback', peer: key === 'others' ? key : peer, reason, refused: 1 + (seen?.unsaid ?? 0) };
    if (reason === 'dropped')
      this.#log.warn({ ...fields, subscription_id, epoch }, 'an expired callback address was used');
    else this.#log.info(fields, 'requests refused');
  }
}
