import type { ChangeKind } from '../../../src/feed/change.rules.ts';
import type { FeedChange } from '../../../src/feed/changes.store.ts';
import type { ChangedRow, Shown } from './commits.ts';
import type { CopyScript, Row } from './script.ts';

/** A row of the view `changes`. */
export type Announced = FeedChange & { readonly kind: ChangeKind };

export interface Difference {
  readonly kind: string;
  readonly text: string;
}

/** The value of a cell in a row that is not shown. */
const noRow: unique symbol = Symbol('no row');

type Value = string | number | null | typeof noRow;

/** A cell, and what a change says that it held before, and holds now. Undefined: it does not say. */
interface Claim {
  readonly view: string;
  /** Columns that find the row. */
  readonly where: Readonly<Record<string, unknown>>;
  readonly column: string;
  readonly old?: readonly Value[] | undefined;
  readonly now?: readonly Value[] | undefined;
}

interface Detail {
  readonly currency?: string;
  readonly old?: unknown;
  readonly new?: unknown;
  readonly [name: string]: unknown;
}

type DateState = { readonly state: string; readonly lowest_price: number | null } | null;

/** Kinds that say what readers saw before or after. */
export const valued = [
  'product_added', 'product_withdrawn', 'product_returned', 'sale_disabled', 'sale_enabled', 'dates_withheld', 'dates_released',
  'price_changed', 'prices_changed', 'date_added', 'date_sold_out', 'date_back', 'image_added', 'image_credit_changed', 'image_withdrawn',
] as const satisfies ChangeKind[]; // biome-ignore format: a list of kinds

const one = (value: unknown): readonly Value[] => [value as Value];
const gone: readonly Value[] = [noRow];
/** A product that comes back may be told as closed or open too. */
const unlisted: Value = noRow;

/** Returns what a change says of cells. */
function claimsOf({ kind, product_id, date, detail: text }: Announced): Claim[] {
  const detail = JSON.parse(text) as Detail;
  const { currency } = detail;
  const product = (column: string, old?: readonly Value[], now?: readonly Value[]): Claim => ({
    ...{ view: 'products', where: { product_id }, column, old, now },
  });
  const image = (old: readonly Value[], now: readonly Value[]): Claim => ({
    ...{ view: 'images', where: { product_id, image_key: detail.image_key }, column: 'credit', old, now },
  });
  const day = (column: string, old: unknown, now: unknown): Claim => ({
    ...{ view: 'availability_days', where: { product_id, date, currency }, column, old: one(old), now: one(now) },
  });
  const bookable = (side: 'old' | 'now'): Claim => ({
    ...{ view: 'bookable_days', where: { product_id }, column: 'product_id', [side]: gone },
  });
  switch (kind) {
    case 'product_added':
      return [bookable('old'), product('title', gone, one(detail.title))];
    case 'dates_withheld':
      return [bookable('now'), product('sellable', undefined, one(1))];
    case 'dates_released':
      return [bookable('old'), product('sellable', undefined, one(1))];
    case 'product_withdrawn':
      return [
        bookable('now'),
        product('product_id', one(product_id), gone),
        { ...product('reason', gone, one(detail.reason)), view: 'withdrawn_products' },
      ];
    case 'product_returned':
      return [
        bookable('old'),
        product('product_id', gone, one(product_id)),
        { ...product('withdrawn_at', one(detail.withdrawn_at), gone), view: 'withdrawn_products' },
      ];
    case 'sale_disabled':
      return [
        bookable('now'),
        product('sellable', [1, unlisted], one(0)),
        product('disabled_reason', undefined, one(detail.reason)),
        product('expected_reopening', undefined, one(detail.expected_reopening)),
      ];
    case 'sale_enabled':
      return [bookable('old'), product('sellable', [0, unlisted], one(1))];
    case 'price_changed':
    case 'prices_changed':
      if (date !== null) return [day('lowest_price', detail.old, detail.new)];
      return [
        {
          ...{ view: 'product_prices', where: { product_id, currency }, column: 'from_price' },
          ...{ old: kind === 'prices_changed' && detail.old === null ? [null, noRow] : one(detail.old) },
          now: one(detail.new),
        },
      ];
    case 'date_added':
    case 'date_sold_out':
    case 'date_back': {
      const [old, now] = [detail.old as DateState, detail.new as DateState];
      return (['state', 'lowest_price'] as const).map((column) =>
        day(column, old === null ? noRow : old[column], now === null ? noRow : now[column]),
      );
    }
    case 'image_added':
      return [image(gone, one(detail.credit))];
    case 'image_credit_changed':
      return [image(one(detail.old), one(detail.new))];
    case 'image_withdrawn':
      return [image(one(detail.credit), gone)];
    default:
      return [];
  }
}

/** Returns the values in the feed of a commit that the views did not show. Several changes of one cell are a chain. */
export function untrue(
  changes: readonly Announced[],
  before: Shown,
  after: Shown,
): { readonly differences: Difference[]; readonly compared: number } {
  const differences: Difference[] = [];
  let compared = 0;
  const claims = changes.flatMap((change) => claimsOf(change).map((claim) => ({ change, ...claim })));
  // A price in a further currency is announced by two kinds.
  const chainOf = (claim: (typeof claims)[number]) =>
    `${claim.change.kind === 'prices_changed' ? 'prices_changed' : ''} ${cellOf(claim)}`;
  for (const chain of Map.groupBy(claims, chainOf).values())
    for (const [index, { change, old, now, ...cell }] of chain.entries()) {
      const say = (side: string, said: readonly Value[], shown: readonly Value[]) => {
        compared += 1;
        if (shown.some((value) => said.includes(value))) return;
        const text = `${cellOf(cell)}: said ${textOf(said)}, shown ${textOf(shown)}; ${change.detail}`;
        differences.push({ kind: `${change.kind} ${side}`, text });
      };
      const earlier = chain[index - 1];
      if (old !== undefined) say('old', old, earlier?.now ?? valuesIn(before, cell));
      if (now !== undefined && index === chain.length - 1) say('new', now, valuesIn(after, cell));
    }
  return { differences, compared };
}

const cellOf = ({ view, where, column }: Claim) => `${view}.${column} ${Object.values(where).join(' ')}`;
const textOf = (values: readonly Value[]) => values.map((value) => (value === noRow ? 'no row' : value)).join(' or ');

/** Returns what the rows show in a column; products have a row in each language. */
function valuesIn(shown: Shown, { view, where, column }: Claim): readonly Value[] {
  const rows = [...(shown.get(view)?.values() ?? [])].filter((row) => matches(row, where));
  return rows.length === 0 ? gone : rows.map((row) => row[column] as Value);
}

const matches = (row: Row | undefined, where: Readonly<Record<string, unknown>>) =>
  row !== undefined && Object.entries(where).every(([name, is]) => row[name] === is);

/** Kinds that tell of all dates of a product. */
const wide: readonly string[] = [
  'product_added', 'product_returned', 'product_withdrawn', 'sale_enabled', 'sale_disabled', 'dates_withheld', 'dates_released',
] satisfies ChangeKind[]; // biome-ignore format: a list of kinds

/** Returns the cells that a commit changed and that no change names, or only one of the wrong kind. */
export function unheard(
  rows: readonly ChangedRow[],
  changes: readonly Announced[],
  { named }: CopyScript,
): Difference[] {
  const names = changes.flatMap((change) => [...named(change)]);
  return rows.flatMap(({ view, key, before, after }) => {
    const text = `${key}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
    const isNamed = names.some(([of, where]) => of === view && (matches(before, where) || matches(after, where)));
    // A date that has ended where its product is now: it goes when its times are divided again or the date is forgotten.
    if (!isNamed && after === undefined && before?.state === 'not_on_sale') return [];
    if (!isNamed) return [{ kind: `${view}: no change names it`, text }];
    const either = needed(view, before, after);
    if (either.length === 0 || either.some(([kinds, where]) => changes.some((change) => tells(change, kinds, where))))
      return [];
    return [{ kind: `${view}: no ${either.map(([kinds]) => kinds[0]).join(' or ')}`, text }];
  });
}

function tells({ kind, product_id, date, detail: text }: Announced, kinds: readonly string[], where: Row): boolean {
  if (!kinds.includes(kind)) return false;
  const detail = JSON.parse(text) as { readonly image_keys?: readonly string[] };
  const rows = detail.image_keys?.map((image_key) => ({ image_key })) ?? [{}];
  return rows.some((row) => matches({ product_id, date, ...detail, ...row }, where));
}

/** Kinds of which one has to tell how a row changed, each with the facts that it names; none: it is enough that it is named. */
type Either = readonly (readonly [kinds: readonly string[], where: Row])[];

function needed(view: string, before: Row | undefined, after: Row | undefined): Either {
  const { product_id, date, currency, image_key } = after ?? before ?? {};
  const differs = (column: string) => before?.[column] !== after?.[column];
  const stayed = before !== undefined && after !== undefined;
  const ofProduct: Either[number] = [wide, { product_id }];
  switch (view) {
    case 'products':
      return stayed && differs('sellable') ? [[['sale_enabled', 'sale_disabled'], { product_id }]] : [];
    case 'product_prices':
      return stayed && differs('from_price') ? [[['price_changed', 'prices_changed'], { product_id, currency }]] : [];
    case 'images': {
      const image = { product_id, image_key };
      if (stayed) return differs('credit') ? [[['image_credit_changed'], image]] : [];
      return [[[after === undefined ? 'image_withdrawn' : 'image_added', 'images_changed'], image], ofProduct];
    }
    case 'availability_days': {
      const [was, is] = [before, after].map((row) => row?.state === 'available');
      const ofDate = { product_id, date, currency };
      if (stayed && was !== is) return [[[is === true ? 'date_back' : 'date_sold_out'], ofDate], ofProduct];
      return stayed && is === true && differs('lowest_price') ? [[['price_changed'], ofDate]] : [];
    }
    default:
      return [];
  }
}
