import { duration, number, resourceLabel } from '../../format.ts';
import type { FoundCondition } from './condition.ts';
import type { ConditionFacts, FreshnessFacts } from './facts.ts';

/* How old records may become is promised and measured line by line of the view `freshness`. */

/** The code under which the periods of a broken age are kept: `promise:availability/near`. */
export function ageCode({ resource, tier }: Pick<FreshnessFacts, 'resource' | 'tier'>): string {
  return `promise:${resource}${tier === null ? '' : `/${tier}`}`;
}

export interface BrokenAge extends FoundCondition {
  readonly code: string;
  readonly line: FreshnessFacts;
}

type AgeFacts = Pick<ConditionFacts, 'filled_at' | 'freshness' | 'contradicted'> & {
  readonly records: Pick<ConditionFacts['records'], 'unanswered'>;
};

/** Returns the promised ages that are broken now, also while the cause is what is shown. None before the first fill has ended. */
export function brokenAges(facts: AgeFacts): BrokenAge[] {
  // Before everything was read once, the fill tells how far it is.
  const broken = facts.filled_at === null ? [] : facts.freshness.filter(({ kept }) => kept === 0);
  return broken.map((line) => ({ code: ageCode(line), since: null, says: lateText(line, facts), line }));
}

/** Says how many records of a line are late: `3 of 12 records are older than 6 h`. */
function lateText(line: FreshnessFacts, { contradicted, records: { unanswered } }: AgeFacts): string {
  const { resource, records, stale, expired, promise_ms } = line;
  const doubts = [
    ...(contradicted === null ? [] : [', or contradicted by the product itself']),
    ...(unanswered === 0 ? [] : [', or left out of the service’s answers']),
  ];
  const doubted = resource === 'availability' ? doubts.join('') : '';
  const late = `${number(stale)} of ${number(records)} records are older than ${duration(promise_ms)}${doubted}`;
  const hidden = `${number(expired)} are past their limit and hidden`;
  return [...(stale === 0 ? [] : [late]), ...(expired === 0 ? [] : [hidden])].join(', ');
}

/** Names a line as people see it: `Availability (near)`. */
export function ageLabel({ resource, tier }: Pick<FreshnessFacts, 'resource' | 'tier'>): string {
  return `${resourceLabel(resource)}${tier === null ? '' : ` (${tier})`}`;
}
