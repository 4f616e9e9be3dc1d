import { contract } from '../mirror/contract/contract.ts';
import type { Column, ReaderRow } from '../mirror/contract/table.ts';

/* The rows of the views, as the reader returns them: types and lists of columns come from their declarations. */

export type ViewName = keyof typeof contract;

export type ViewRow<View extends ViewName> = ReaderRow<(typeof contract)[View]>;

export function columnsOf(view: ViewName): [name: string, column: Column][] {
  return Object.entries(contract[view].columns);
}

/** Returns the columns of a view as a list for SELECT, each with the alias before it, or the expression that stands `instead`. */
export function allColumns(view: ViewName, alias: string, instead: Readonly<Record<string, string>> = {}): string {
  return columnsOf(view)
    .map(([name]) => (instead[name] === undefined ? `${alias}.${name}` : `${instead[name]} AS ${name}`))
    .join(', ');
}

/** Returns the columns of these names in the order of the view, as a list for SELECT. */
export function someColumns(view: ViewName, alias: string, names: readonly string[]): string {
  const chosen = columnsOf(view).filter(([name]) => names.includes(name));
  return chosen.map(([name]) => `${alias}.${name}`).join(', ');
}
