import { counted } from '../../format.ts';
import { hasRows } from '../service/answered-by-rows.ts';
import { amountsIn, type ReadAmount, unreadable } from '../service/member.ts';
import type { Shape } from '../service/shape.ts';
import { rowShapes } from '../service/shapes.ts';
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
  const wrong = Object.entries(rowShapes).flatMap(([kind, shape]) =>
    problemsOf(
      kind,
      shape,
      rows[kind as keyof typeof rowShapes] ?? [],
      amountsIn(minorUnitExponent(currency) === null ? 'EUR' : currency),
    ),
  );
  const seen = [...misread, ...wrong];
  if (seen.length > 0)
    return otherwise(seen.join('; '), 'what is missing or has another form is NULL, or the row fails');
  const count = Object.values(rows).reduce((sum, each) => sum + each.length, 0);
  return count === 0 ? cannotTell('no rows') : asBelieved(counted(count, 'row'));
}

/**
 * Names each member that no row has, and each that cannot be read, with an example, what happens meanwhile, and the names
 * of a row's members.
 */
function problemsOf(
  kind: string,
  shape: Pick<Shape, 'members'>,
  rows: readonly Members[],
  amount: ReadAmount,
): string[] {
  if (rows.length === 0) return [];
  const declared = Object.entries(shape.members);
  const missing = declared
    .filter(
      ([name, { terms }]) =>
        terms.expected && [name, ...terms.aliases].every((each) => rows.every((row) => row[each] === undefined)),
    )
    .map(([name]) => name);
  const unread = declared.flatMap(([name, member]) => {
    const { form, meanwhile } = member.terms;
    const wrong = rows.filter((row) => member.read(row[name], amount) === unreadable);
    const example = JSON.stringify(wrong[0]?.[name])?.slice(0, 40);
    return wrong.length === 0
      ? []
      : [`${name} is no ${form} in ${share(wrong.length, rows.length, 'rows')}, such as ${example}: ${meanwhile}`];
  });
  const lacks = missing.length === 0 ? [] : [`no row has ${missing.join(', ')}`];
  const problems = [...lacks, ...unread];
  return problems.length === 0 ? [] : [`${kind}: ${problems.join(', ')}; members of one: ${memberNames(rows[0])}`];
}

function rowsOfExchange({ question: { kind }, read }: Exchange): Rows {
  if (read === null || 'unusable' in read) return {};
  if ('rows' in read) return hasRows(kind) ? { [kind]: read.rows, ...imagesOf(kind, read.rows) } : {};
  const { row } = read;
  if (kind === 'product') return { products: [row], ...imagesOf('products', [row]) };
  if (kind === 'checkout_information') return { [kind]: [row] };
  if (kind !== 'availability') return {};
  const dates = rowsOf(row.dates);
  const slots = dates.flatMap((date) => rowsOf(date.timeslots));
  const offers = slots.flatMap((slot) => rowsOf(slot.variants));
  return {
    availability: [row],
    variants: rowsOf(row.variants),
    'dates of availability': dates,
    'timeslots of a date': slots,
    'variants of a timeslot': offers,
    'prices of a variant': rowsOf(offers.map(({ price_mediation }) => price_mediation)),
  };
}

function imagesOf(kind: string, rows: readonly Members[]): Rows {
  return kind === 'products' ? { 'images of a product': rows.flatMap(({ images }) => rowsOf(images)) } : {};
}

function mergedRows(all: readonly Rows[]): Rows {
  const kinds = Object.keys(rowShapes) as (keyof typeof rowShapes)[];
  return Object.fromEntries(kinds.map((kind) => [kind, all.flatMap((rows) => rows[kind] ?? [])]));
}
