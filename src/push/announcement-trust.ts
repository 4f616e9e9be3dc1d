import type { StoredProduct } from '../catalogue/product-reads.store.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import { cachedMs } from '../schedule/record.rules.ts';
import { coveredResources } from '../schedule/resources.rules.ts';
import type { Sync } from '../schedule/sync.ts';
import { afterChange, announceable, isTrusted, judgedAt, neededShare } from './announcement-trust.rules.ts';
import type { ExpectedNotice } from './notices.store.ts';

/**
 * Records a change that a read found and a subscription should have announced. It is judged when every notification has
 * had enough time to arrive.
 */
export function expectNotices(
  { mirror }: Sync,
  { product_id, sent_at }: { product_id: number; sent_at: Instant },
  { was, is, fields, before_at }: StoredProduct,
): void {
  // An instant in the future was written by a wrong clock.
  if (before_at === null || before_at > sent_at) return;
  // That read may have been answered by a cache, after the change was announced.
  const since_at = instant(before_at - cachedMs);
  for (const change_type of announceable(was, is, fields))
    mirror.push.notices.expect({ product_id, change_type, since_at, found_at: sent_at });
}

/** Judges which subscriptions announced the changes that reads have found; run once a minute. */
export function judgeNotices(sync: Sync): void {
  const { mirror, clock, policy } = sync;
  const latest = clock.now() - judgedAt({ since_at: 0, found_at: 0 }, policy.notifications);
  const ripe = mirror.push.notices.ripe({ found_before: instant(latest) });
  if (ripe.length > 0)
    mirror.transaction(() => {
      for (const expected of ripe) {
        mirror.push.notices.forget(expected);
        judge(sync, expected);
      }
    });
}

function judge({ mirror, policy, log }: Sync, expected: ExpectedNotice): void {
  const { product_id, change_type, since_at } = expected;
  const until = judgedAt(expected, policy.notifications);
  const { cadence } = policy.of(null);
  const needed = neededShare(coveredResources.map((name) => ({ own: cadence[name], covered: cadence.covered[name] })));
  for (const announcer of mirror.push.notices.announcers(expected)) {
    const { subscription_id, received_at, covered_since } = announcer;
    // A subscription is not blamed for notifications that could not be received.
    if (mirror.push.gaps.wasGap(subscription_id, { from: since_at, to: instant(until) })) continue;
    const announced = received_at !== null && received_at >= since_at && received_at <= until;
    // The change may be older than the subscription.
    if (!announced && covered_since > since_at) continue;
    const trust = afterChange(announcer, announced ? 'announced' : 'missed');
    const trusted = isTrusted(trust, needed, announcer.trusted === 1);
    mirror.push.subscriptions.judged(subscription_id, trust, trusted ? 1 : 0);
    if (!announced) log.info({ subscription_id, product_id, change_type }, 'a change was not announced');
    if (trusted !== (announcer.trusted === 1))
      log.warn({ subscription_id, trusted }, trusted ? 'subscription trusted again' : 'subscription not trusted');
  }
}
