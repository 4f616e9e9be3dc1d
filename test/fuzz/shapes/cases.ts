import { roll } from '../../../src/sandbox/random.ts';
import { kindOf, type Member, rightReading } from './members.ts';
import type { Case, Scope } from './trial.ts';
import { wrongValues } from './wrong-values.ts';

/** A case by names, as it is reported. */
export interface NamedCase extends Case {
  readonly name: string;
}

const scopes: readonly Scope[] = ['one', 'all'];
/** A member that nothing reads has every so many of the values. */
const everyOfUnread = 6;

/** Returns each member with each value, in one record and in all. A member that nothing reads has some of them, in all. */
export function casesOf(members: readonly Member[]): NamedCase[] {
  return members.flatMap((member, position) => {
    const isRead = kindOf(member) !== null;
    return Object.entries(wrongValues).flatMap(([value_name, value], index) => {
      const { is } = rightReading(member, value);
      if (!isRead && (index + position) % everyOfUnread !== 0) return [];
      // The sandbox has values of its own that are as good.
      if (isRead && (is === 'unjudged' || is === 'absent')) return [];
      return (isRead ? scopes : scopes.slice(1)).map((scope) => ({
        ...member,
        value,
        scope,
        name: `${member.answer} ${member.path} = ${value_name}, in ${scope} (${is})`,
      }));
    });
  });
}

/** Draws some of the cases by a seed, each member before any comes again. */
export function drawn(cases: readonly NamedCase[], seed: number, count: number): NamedCase[] {
  const met = new Map<string, number>();
  return cases
    .map((each, index) => ({ each, drawn: roll(seed, index, 'case') }))
    .sort((a, b) => a.drawn - b.drawn)
    .map(({ each, drawn: at }) => {
      const member = `${each.answer} ${each.path}`;
      const turn = met.get(member) ?? 0;
      met.set(member, turn + 1);
      return { each, at: turn + at };
    })
    .sort((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ each }) => each);
}
