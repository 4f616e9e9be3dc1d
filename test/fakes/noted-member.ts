import type { Instant } from '../../src/kernel/clock.ts';
import type { Mirror } from '../../src/mirror/mirror.ts';
import type { StoredUnread } from '../../src/trust/unread.store.ts';

/** Notes an image address of a product that is not handed on, or another remark about a member. */
export function noteMember(mirror: Mirror, at: Instant, member = 'images[].large (not public)'): void {
  mirror.transaction(() => mirror.evidence.unread.note(noted(mirror, member, at)));
}

function noted(mirror: Mirror, member: string, at: Instant): StoredUnread {
  // A note about a product that is not mirrored is removed within a minute.
  const product_id = mirror.catalogue.products.ids()[0] ?? 701;
  const key = { resource: 'products', member, product_id, edition: 'en/EUR', part: 0 } as const;
  return { ...key, example: '"file:///a.jpg"', first_at: at, last_at: at, kept: 0 };
}
