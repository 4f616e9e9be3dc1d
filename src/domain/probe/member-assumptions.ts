import { counted } from '../../format.ts';
import { publishable } from '../push/public-address.ts';
import { type AnswerContext, amountsIn, type Member, unreadable } from '../service/member.ts';
import type { Shape } from '../service/shape.ts';
import { rowShapes } from '../service/shapes.ts';
import { exampleOf } from '../service/unread.ts';
import { type Members, memberNames } from '../values/members.ts';
import { minorUnitExponent } from '../values/money.ts';
import {
  type Assumption,
  asBelieved,
  cannotTell,
  type Exchange,
  type Judgement,
  otherwise,
  type ProbeEvidence,
  rowsOf,
  share,
} from './assumption.ts';

type Rows = Readonly<Partial<Record<keyof typeof rowShapes, readonly Members[]>>>;

/** The assumption about what rows hold: of the service, or of what an adapter makes of its answers. */
export const memberAssumptions: readonly Assumption[] = [
  { name: 'members of the rows', believed: 'those of docs/service.md, each in its form', judge: members },
];

function members({ exchanges, currency }: ProbeEvidence): Judgement {
  const misread = exchanges.flatMap(({ name, read }) =>
    read !== null && 'unusable' in read ? [`${name}: ${read.unusable}`] : [],
  );
  const rows = mergedRows(exchanges.filter(({ name }) => name !== 'nowhere').map(rowsOfExchange));
  const amount = amountsIn(minorUnitExponent(currency) === null ? 'EUR' : currency);
  const context = { amount, mayPublish: publishable([]) };
  const wrong = Object.entries(rowShapes).flatMap(([kind, shape]) =>
    problemsOf(kind, shape, rows[kind as keyof typeof rowShapes] ?? [], context),
  );
  const seen = [...misread, ...wrong];
  if (seen.length > 0)
    return otherwise(seen.join('; '), 'what is missing or has another form is NULL, or the row fails');
  const count = Object.values(rows).reduce((sum, each) => sum + each.length, 0);
  return count === 0 ? cannotTell('no rows') : asBelieved(counted(count, 'row'));
}

/**
 * Names each member that no row has, and each that cannot be read or has a remark, with an example, what happens meanwhile,
 * and the names of a row's members.
 */
function problemsOf(
  kind: string,
  { members: declared }: Shape,
  rows: readonly Members[],
  context: AnswerContext,
): string[] {
  if (rows.length === 0) return [];
  const lacking = Object.entries(declared).flatMap(([name, { terms }]) =>
    terms.expected && [name, ...terms.aliases].every((each) => rows.every((row) => row[each] === undefined))
      ? [name]
      : [],
  );
  const wrong = Object.entries(declared).flatMap(([name, member]) => wrongWith(name, member, rows, context));
  const problems = [...(lacking.length === 0 ? [] : [`no row has ${lacking.join(', ')}`]), ...wrong];
  return problems.length === 0 ? [] : [`${kind}: ${problems.join(', ')}; members of one: ${memberNames(rows[0])}`];
}

function wrongWith(name: string, member: Member<unknown>, rows: readonly Members[], context: AnswerContext): string[] {
  const { form, meanwhile, isMissed } = member.terms;
  const values = rows.map((row) => row[name]);
  const found = new Map<string, { readonly meanwhile: string; readonly those: unknown[] }>();
  const add = (fault: string, value: unknown, then = meanwhile) =>
    found.getOrInsert(fault, { meanwhile: then, those: [] }).those.push(value);
  for (const value of values) {
    const outcome = member.read(value, context);
    if (outcome === unreadable) add(`no ${form}`, value);
    else if (outcome !== null) {
      const remark = member.remarkOn(outcome, context);
      if (remark !== null) add(remark.why, value, remark.meanwhile);
    } else if (isMissed) add('left out', value);
  }
  if (isMissed && values.every((value) => Array.isArray(value) && value.length === 0))
    add('empty everywhere', values[0], 'ask the service whether the key has access to them');
  return [...found].map(
    ([fault, { those, meanwhile: then }]) =>
      `${name} is ${fault} in ${share(those.length, rows.length, 'rows')}, such as ${exampleOf(those[0])}: ${then}`,
  );
}

/** Returns the rows of an answer, and those inside them. */
function rowsOfExchange({ question: { kind }, read }: Exchange): Rows {
  if (read === null || 'unusable' in read) return {};
  const rows = 'rows' in read ? read.rows : [read.row];
  const inside = (name: string, of: readonly Members[] = rows) => of.flatMap((row) => rowsOf([row[name]].flat()));
  switch (kind) {
    case 'products':
    case 'product':
      return {
        products: rows,
        'images of a product': inside('images'),
        venue: inside('venue'),
        geolocation: inside('geolocation'),
        ratings: inside('ratings'),
      };
    case 'availability': {
      const [dates, variants] = [inside('dates'), inside('variants')];
      const slots = inside('timeslots', dates);
      const offers = inside('variants', slots);
      return {
        availability: rows,
        variants,
        'dates of availability': dates,
        'timeslots of a date': slots,
        'variants of a timeslot': offers,
        'prices of a variant': inside('price_mediation', offers),
      };
    }
    case 'checkout_information':
      return { [kind]: rows, additional_information: inside('additional_information') };
    default:
      return { [kind]: rows };
  }
}

function mergedRows(all: readonly Rows[]): Rows {
  const kinds = Object.keys(rowShapes) as (keyof typeof rowShapes)[];
  return Object.fromEntries(kinds.map((kind) => [kind, all.flatMap((rows) => rows[kind] ?? [])]));
}
