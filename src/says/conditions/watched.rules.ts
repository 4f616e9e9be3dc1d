import type { AddressTest, ConditionFacts, Still, Watched } from './facts.rules.ts';

/** Returns the observations after comparing a status with the last one. `before` is null for the first status. */
export function watchedNow(before: Watched | null, facts: ConditionFacts): Watched | null {
  const { at: now, daemon, inbox, records } = facts;
  if (daemon === null || inbox === null) return before;
  const still = <Value>(was: Still<Value> | null | undefined, value: Value): Still<Value> =>
    was?.value === value ? was : { value, since: now };
  const failed = inbox.receiver?.failed ?? 0;
  return {
    fill: still(before?.fill, records.never_fetched),
    reads: readsNow(before, lastProgress(facts), daemon.calls, now),
    settled: inbox.waiting === 0 ? null : still(before?.settled, inbox.applied + inbox.superseded + inbox.quarantined),
    failed: {
      count: failed,
      last_at: failed > (before?.failed.count ?? 0) ? now : (before?.failed.last_at ?? null),
    },
  };
}

/**
 * Returns the newest instant at which anything was read; null if nothing was. A list without an end is never read as a
 * record, but its pages count.
 */
function lastProgress({ records, freshness }: ConditionFacts): number | null {
  const checked = freshness.flatMap(({ oldest_checked_at }) => oldest_checked_at ?? []);
  const newest = Math.max(records.last_read_at ?? 0, ...checked);
  return newest === 0 ? null : newest;
}

/** Starts from scratch with every record that was read, and as long as no call is made. */
function readsNow(before: Watched | null, value: number | null, calls: number, now: number): Watched['reads'] {
  const was = before?.reads;
  return was !== undefined && was.value === value && calls > was.calls ? was : { value, calls, since: now };
}

/**
 * Decides what a test of our own public address shows. Some networks do not let a machine reach its own public address
 * (no hairpin). So if nothing answers, only the service knows: by its deliveries, and by the states of subscriptions
 * that it reports.
 */
export function reachedFromOutside(
  { result, answered, since }: AddressTest,
  { subscriptions, last_delivery_at }: Heard,
): 'yes' | 'no' | 'cannot-tell' {
  if (result === 'passed') return 'yes';
  if (result === 'skipped') return 'cannot-tell';
  if (answered) return 'no';
  if (last_delivery_at !== null && last_delivery_at >= since) return 'yes';
  return subscriptions.some(({ status }) => status === 'degraded' || status === 'failed') ? 'no' : 'cannot-tell';
}

/** Evidence from the service that it can reach us. */
interface Heard {
  readonly subscriptions: readonly { readonly status: string | null }[];
  readonly last_delivery_at: number | null;
}
