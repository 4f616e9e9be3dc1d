import type { Instant } from '../../src/clock.ts';
import type { Mirror } from '../../src/mirror/mirror.ts';
import type { StoredUnread } from '../../src/mirror/unread.ts';

/** Notes an image address of a product that is not handed on, or another remark about a member, until `dropMember`. */
export function noteMember(mirror: Mirror, at: Instant, member = 'images[].large (not public)'): void {
  mirror.transaction(() => mirror.evidence.unread.note(noted(member, at)));
}

export function dropMember(mirror: Mirror, at: Instant, member = 'images[].large (not public)'): void {
  mirror.transaction(() => mirror.evidence.unread.drop(noted(member, at)));
}

function noted(member: string, at: Instant): StoredUnread {
  const key = { resource: 'products', member, product_id: 701, edition: 'en/EUR', part: 0 } as const;
  return { ...key, example: '"file:///a.jpg"', first_at: at, last_at: at, kept: 0 };
}
