import { counted } from '../../format.ts';
import { hasRows } from '../service/answered-by-rows.ts';
import { identifier } from '../values/identifier.ts';
import { isMembers, type Members, memberNames } from '../values/members.ts';
import {
  type Assumption,
  asBelieved,
  cannotTell,
  type Exchange,
  type Judgement,
  numberOf,
  otherwise,
  type ProbeEvidence,
  rowsOf,
  share,
} from './assumption.ts';

/** The form of a member's value. Null always means that the service says nothing. */
export type MemberForm = 'id' | 'text' | 'number' | 'flag' | 'list' | 'object';

/** Members of the rows that an adapter returns, by the question. */
export type RowMembers = Readonly<Record<string, Readonly<Record<string, MemberForm>>>>;

/**
 * The members that every row is expected to have. A list is followed by what its elements have; docs/service.md shows the
 * table.
 */
export const rowMembers = {
  products: {
    id: 'id',
    language: 'text',
    title: 'text',
    sale_status: 'text',
    price: 'number',
    currency: 'text',
    city_id: 'id',
    city_name: 'text',
    country_id: 'id',
    country_name: 'text',
    tag_ids: 'list',
    images: 'list',
    venue: 'object',
    geolocation: 'object',
    timezone: 'text',
    ratings: 'object',
  },
  experiences: { id: 'id', title: 'text', product_ids: 'list' },
  tags: { id: 'id', name: 'text' },
  checkout_information: { has_timeslots: 'flag', has_dynamic_pricing: 'flag', additional_information: 'object' },
  variants: { id: 'id', label: 'text', variant_type: 'text' },
  availability: { sales_enabled: 'flag', max_tickets_per_order: 'number', dates: 'list', variants: 'list' },
  'dates of availability': { date: 'text', availability: 'number', timeslots: 'list' },
  'timeslots of a date': { time: 'text', timezone: 'text', availability: 'number', variants: 'list' },
  'variants of a timeslot': { id: 'id', max_tickets: 'number', currency: 'text', price_mediation: 'object' },
} as const satisfies RowMembers;

type Rows = Readonly<Partial<Record<keyof typeof rowMembers, readonly Members[]>>>;

/** The assumption about what rows hold: of the service, or of what an adapter makes of its answers. */
export const memberAssumptions: readonly Assumption[] = [
  { name: 'members of the rows', believed: 'those of docs/service.md, each in its form', judge: members },
];

function members({ exchanges }: ProbeEvidence): Judgement {
  const misread = exchanges.flatMap(({ name, read }) =>
    read !== null && 'unusable' in read ? [`${name}: ${read.unusable}`] : [],
  );
  const rows = mergedRows(exchanges.filter(({ name }) => name !== 'nowhere').map(rowsOfExchange));
  const wrong = Object.entries(rowMembers).flatMap(([kind, forms]) =>
    problemsOf(kind, forms, rows[kind as keyof typeof rowMembers] ?? []),
  );
  const seen = [...misread, ...wrong];
  if (seen.length > 0)
    return otherwise(seen.join('; '), 'what is missing or has another form is NULL, or the row fails');
  const count = Object.values(rows).reduce((sum, each) => sum + each.length, 0);
  return count === 0 ? cannotTell('no rows') : asBelieved(counted(count, 'row'));
}

/** Names each member that no row has, and each that has another form, with the names of such a row's members as an example. */
function problemsOf(kind: string, forms: Readonly<Record<string, MemberForm>>, rows: readonly Members[]): string[] {
  if (rows.length === 0) return [];
  const missing = Object.keys(forms).filter((name) => rows.every((row) => row[name] === undefined));
  const mistyped = Object.entries(forms).flatMap(([name, form]) => {
    const wrong = rows.filter((row) => row[name] != null && !isOf(form, row[name]));
    return wrong.length === 0 ? [] : [`${name} is no ${form} in ${share(wrong.length, rows.length, 'rows')}`];
  });
  const lacks = missing.length === 0 ? [] : [`no row has ${missing.join(', ')}`];
  const problems = [...lacks, ...mistyped];
  return problems.length === 0 ? [] : [`${kind}: ${problems.join(', ')}; members of one: ${memberNames(rows[0])}`];
}

function isOf(form: MemberForm, value: unknown): boolean {
  switch (form) {
    case 'id':
      return identifier(value) !== null;
    case 'text':
      return typeof value === 'string';
    case 'number':
      return numberOf(value) !== null || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));
    case 'flag':
      return typeof value === 'boolean';
    case 'list':
      return Array.isArray(value);
    case 'object':
      return isMembers(value);
  }
}

function rowsOfExchange({ question: { kind }, read }: Exchange): Rows {
  if (read === null || 'unusable' in read) return {};
  if ('rows' in read) return hasRows(kind) ? { [kind]: read.rows } : {};
  const { row } = read;
  if (kind === 'product') return { products: [row] };
  if (kind === 'checkout_information') return { [kind]: [row] };
  if (kind !== 'availability') return {};
  const dates = rowsOf(row.dates);
  const slots = dates.flatMap((date) => rowsOf(date.timeslots));
  return {
    availability: [row],
    variants: rowsOf(row.variants),
    'dates of availability': dates,
    'timeslots of a date': slots,
    'variants of a timeslot': slots.flatMap((slot) => rowsOf(slot.variants)),
  };
}

function mergedRows(all: readonly Rows[]): Rows {
  const kinds = Object.keys(rowMembers) as (keyof typeof rowMembers)[];
  return Object.fromEntries(kinds.map((kind) => [kind, all.flatMap((rows) => rows[kind] ?? [])]));
}
