import { type Instant, instant } from '../kernel/clock.ts';
import type { Due } from '../schedule/record.rules.ts';
import type { Sync } from '../schedule/sync.ts';
import { confirmAt } from './closure.rules.ts';
import { type AwaitedMember, isStillOld, rereadAfterNews } from './news.rules.ts';

/**
 * Returns the next read of a product after one that does not show what was announced: a closure that no read has
 * decided, a reopening, or another value of a member. A cache may have answered, so the record is read again 2 and 12
 * minutes after the announcement. Null: everything is shown, or the looks are over.
 */
export function rereadAfterNotice(sync: Sync, product_id: number, sent_at: Instant): Due | null {
  const { mirror, clock } = sync;
  const now = clock.now();
  const closure = mirror.push.closures.inForce({ product_id });
  const at = closure === null ? null : confirmAt(closure, { sent_at, now });
  if (at !== null) return { at: instant(at), reason: 'closure-unconfirmed' };
  if (mirror.catalogue.products.find(product_id)?.sale_status === 'disabled') {
    const opened = mirror.push.notices
      .noticesOf({ product_id })
      .find(({ change_type, received_at }) => change_type === 'checkout_enabled' && received_at <= now);
    const look = opened === undefined ? null : planned(sync, opened.received_at);
    if (look !== null) return look;
  }
  return rereadForMembers(sync, product_id, 'product_detail');
}

/** Returns the next read of a document that still has a value of which another one was announced; null: none is needed. */
export function rereadForMembers(
  sync: Sync,
  product_id: number,
  resource: AwaitedMember['resource'],
  language: string = sync.policy.extent.languages[0],
): Due | null {
  const { mirror } = sync;
  const awaiting = mirror.push.notices.noticesOf({ product_id }).flatMap(({ awaits, received_at }) => {
    const members = awaits === null ? [] : (JSON.parse(awaits) as AwaitedMember[]);
    return members
      .filter((each) => each.resource === resource && each.language === language)
      .map((member) => ({ member, received_at }));
  });
  if (awaiting.length === 0) return null;
  const shown = mirror.push.notices
    .documentsOf(product_id)
    .find((each) => each.resource === resource && each.language === language);
  if (shown === undefined) return null;
  const old = awaiting.find(({ member }) => isStillOld(member, shown.document));
  return old === undefined ? null : planned(sync, old.received_at);
}

function planned({ clock, news }: Sync, announced_at: number): Due | null {
  const now = clock.now();
  const at = rereadAfterNews(announced_at, now);
  return at === null || !news.takes(now) ? null : { at: instant(at), reason: 'not-shown-yet' };
}
