import type { Logger } from '../log.ts';
import type { Refused } from './admission.ts';

const everyMs = 60_000;
/** The most peers that are logged separately. Refusals of further peers are counted together. */
const peersAtMost = 1000;

/**
 * Logs one line about refused requests per peer and minute, with the number since the last line. Never logs the
 * requested path.
 */
export function refusalLog(
  log: Logger,
  monotonic: () => number,
): (refused: Pick<Refused, 'reason' | 'caller' | 'subscription_id' | 'epoch'>) => void {
  const peers = new Map<string, { said_at: number; unsaid: number }>();
  return ({ reason, caller: peer, subscription_id, epoch }) => {
    const now = monotonic();
    // In the order of their last line, oldest first.
    for (const [name, { said_at }] of peers) {
      if (peers.size < peersAtMost || now - said_at < everyMs) break;
      peers.delete(name);
    }
    // The use of a dropped address is a condition, so it has its own line.
    const own = reason === 'dropped' ? `dropped ${peer}` : peer;
    const key = peers.has(own) || peers.size < peersAtMost ? own : 'others';
    const seen = peers.get(key);
    if (seen !== undefined && now - seen.said_at < everyMs) {
      seen.unsaid += 1;
      return;
    }
    peers.delete(key);
    peers.set(key, { said_at: now, unsaid: 0 });
    const fields = { route: 'callback', peer: key === 'others' ? key : peer, reason, refused: 1 + (seen?.unsaid ?? 0) };
    if (reason === 'dropped') log.warn({ ...fields, subscription_id, epoch }, 'an expired callback address was used');
    else log.info(fields, 'requests refused');
  };
}
