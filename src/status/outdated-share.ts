import { fewestAudits, type OutdatedShare } from '../domain/truth/estimate.ts';
import { number } from '../format.ts';

/**
 * Returns a share as people read it: `1.2 % ± 0.3`. The margin is never rounded down. Null if there are too few reads.
 */
export function outdatedText({ share, margin }: OutdatedShare): string | null {
  if (share === null || margin === null) return null;
  return `${(100 * share).toFixed(1)} % ± ${(Math.ceil(1000 * margin - 1e-9) / 10).toFixed(1)}`;
}

/** Returns as text why there is no share yet. */
export function cannotTell({ audited }: OutdatedShare): string {
  return `cannot tell yet: ${number(audited)} of at least ${fewestAudits} random reads`;
}
