import { number, printable, resourceLabel } from '../kernel/format.ts';
import { belowZero, notPublic } from '../service/member.rules.ts';
import { endsTooSoon, meanwhileOf, remarkIn } from '../service/shapes.rules.ts';
import { limitOf, type Whole } from './claims.rules.ts';

/*
 * Decides about answers with members that are there and cannot be read. A few are stored, with what the declaration of
 * the member puts in their place. Where more change than plausibly do by chance, the service has begun to spell it
 * otherwise: these are failed reads, and the mirror keeps what it showed.
 */

/** A member that some records have so, with one example. */
export interface UnreadableMember {
  readonly resource: string;
  /** `dates[].availability` */
  readonly member: string;
  readonly records: number;
  /** Those whose answers count as failed reads. */
  readonly kept: number;
  /** Records that could have it so. */
  readonly able: number;
  readonly example: string;
  /** The product, experience or tag of the example. */
  readonly id: number;
  readonly since: number;
}

/** Returns whether so many records lost a member that was readable that their answers are failed reads. */
export function isNewSpelling({ able, claiming }: Whole): boolean {
  return claiming > limitOf(Math.max(able, claiming));
}

/** Share of the learned rate that may find out whether such answers can be read again, and the shortest time between two. */
const askingShare = 0.1;
const leastApartMs = 10 * 60_000;

/** Returns after how many milliseconds each of `claiming` records is read again, at `rate` calls a second in all. */
export function readAgainAfter(claiming: number, rate: number): number {
  return Math.max(leastApartMs, (1000 * claiming) / (askingShare * rate));
}

/** Share of records from which an unreadable member is more than an odd row. */
const noticedShare = 0.01;

/** Remarks that have a condition of their own, from one record on. */
const ownConditions: readonly (string | null)[] = [belowZero, notPublic, endsTooSoon];

/**
 * Returns how bad it is: `error`, if answers are failed reads or as many as could be; `warning` from one in a hundred on;
 * else a `line`, which calls for nobody. A member that can be read is no error.
 */
export function unreadableGrade({ member, records, kept, able }: UnreadableMember): 'error' | 'warning' | 'line' {
  const { why } = remarkIn(member);
  if (ownConditions.includes(why)) return 'line';
  if (kept > 0 || (why === null && isNewSpelling({ able, claiming: records }))) return 'error';
  return records > noticedShare * able ? 'warning' : 'line';
}

/** Returns a noted member with what is wrong with it: `price cannot be read`, `price (below zero)`. */
export function notedText(member: string): string {
  return remarkIn(member).why === null ? `${member} cannot be read` : member;
}

/** Returns an unreadable or remarkable member in one clause: how often, with an example, and what happens meanwhile. */
export function unreadableText({ resource, member, records, kept, able, example, id }: UnreadableMember): string {
  const of = ` of ${resource === 'experiences' ? 'experience' : resource === 'tags' ? 'tag' : 'product'} ${id}`;
  const meanwhile =
    kept > 0
      ? `${number(kept)} of these answers are failed reads, and what was shown stays, as stale`
      : meanwhileOf(resource, member);
  return `${notedText(member)} in ${number(records)} of ${number(able)} answers (${resourceLabel(resource).toLowerCase()}), such as ${printable(example)}${of}: ${meanwhile}`;
}
