import { counted, duration, number, resourceLabel } from '../../kernel/format.ts';
import { subjects } from '../../trust/claims.rules.ts';
import type { HeldClaims } from '../../trust/hold.rules.ts';
import { isOpen } from '../../trust/hold.rules.ts';
import type { FoundCondition } from './condition.rules.ts';
import type { FreshnessFacts, ShortListFacts, StoredFacts } from './facts.rules.ts';

/* Freshness targets: the highest age of records, measured line by line of the view `freshness`. */

/** Returns the code under which the periods of a missed freshness target are stored: `freshness:availability/near`. */
export function ageCode({ resource, tier }: FreshnessFacts): string {
  return `freshness:${resource}${tier === null ? '' : `/${tier}`}`;
}

export interface MissedTarget extends FoundCondition {
  readonly code: string;
  readonly line: FreshnessFacts;
}

/**
 * Returns the freshness targets that are missed now, even while only their cause is shown. Empty until the first fill
 * has ended.
 */
export function missedTargets(facts: StoredFacts): MissedTarget[] {
  // Until everything was read once, the progress of the fill is reported instead.
  const broken = facts.filled_at === null ? [] : facts.freshness.filter(({ met }) => met === 0);
  return broken.map((line) => ({ code: ageCode(line), since: null, says: lateText(line, facts), line }));
}

/** Returns the incomplete lists that are not accepted as they are. */
export function unsettled(short_lists: readonly ShortListFacts[]): ShortListFacts[] {
  return short_lists.filter(({ settled }) => settled === 0);
}

function shortListsOf({ resource }: FreshnessFacts, short_lists: readonly ShortListFacts[]) {
  return unsettled(short_lists).filter((list) => list.resource === resource);
}

/** Returns whether a freshness target is missed only because of an incomplete list, which is a condition of its own. */
export function isShortOnly({ line }: MissedTarget, short_lists: readonly ShortListFacts[]): boolean {
  return line.expired === 0 && line.stale <= shortListsOf(line, short_lists).length;
}

/** Returns whether a freshness target has no more late records than are held, which is a condition of its own. */
export function isHeldOnly({ line }: MissedTarget, held: readonly HeldClaims[]): boolean {
  const { resource, tier, stale, expired } = line;
  const kept = held.filter((each) => {
    const { resources, near = tier === 'near' } = subjects[each.subject];
    return isOpen(each) && resources.includes(resource) && near === (tier === 'near');
  });
  return expired === 0 && stale <= kept.reduce((sum, { claiming }) => sum + claiming, 0);
}

/** Returns a text with the number of late records of a line: `3 of 12 records were not read within 6 h`. */
function lateText(line: FreshnessFacts, facts: StoredFacts): string {
  const {
    contradicted,
    short_lists,
    records: { unanswered },
  } = facts;
  const { resource, expired, target_ms } = line;
  // The line of the products counts an incomplete list as one more record.
  const short = shortListsOf(line, short_lists).length;
  const [records, stale] = [line.records - short, line.stale - short];
  const doubts = [
    ...(contradicted === null ? [] : [', or are contradicted by the product itself']),
    ...(unanswered === 0 ? [] : [', or are left out of the service’s answers']),
  ];
  const doubted = resource === 'availability' ? doubts.join('') : '';
  const late = `${number(stale)} of ${counted(records, 'record')} ${stale === 1 ? 'was' : 'were'} not read within ${duration(target_ms)}${doubted}`;
  const hidden = `${number(expired)} are past their limit and hidden`;
  return [
    ...(short === 0 ? [] : ['the list is incomplete']),
    ...(stale <= 0 ? [] : [late]),
    ...(expired === 0 ? [] : [hidden]),
  ].join(', ');
}

/** Returns the name of a line as people see it: `Availability (near)`. */
export function ageLabel({ resource, tier }: FreshnessFacts): string {
  return `${resourceLabel(resource)}${tier === null ? '' : ` (${tier})`}`;
}

/** Orders lines by tier: the data that shoppers ask for most comes first. */
export function nearFirst<Line extends FreshnessFacts>(lines: readonly Line[]): readonly Line[] {
  return lines.toSorted((a, b) => tierOrder.indexOf(a.tier) - tierOrder.indexOf(b.tier));
}

const tierOrder: readonly (string | null)[] = ['near', 'middle', 'far', 'beyond', null];
