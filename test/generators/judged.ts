import { contract } from '../contract/columns.ts';
import { keys } from '../contract/keys.ts';
import { typeOf } from '../contract/taken-away.ts';

/** By view and column, the type that a client takes it for; `number` where it does not tell integers from reals. */
export type Found = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Compares what a client found with the contract, column by column. */
export function judged(found: Found): { right: number; wrong: string[]; missing: string[] } {
  const columns = Object.keys(keys).flatMap((view) =>
    Object.entries(contract.columns[view] ?? {})
      // What MATCH asks: FTS5 gives it no type.
      .filter(([column]) => column !== 'entry')
      .map(([column, meaning]) => ({ view, column, type: typeOf(meaning) })),
  );
  const missing = columns.filter(({ view, column }) => found[view]?.[column] === undefined);
  const wrong = columns.filter(({ view, column, type }) => {
    const is = found[view]?.[column];
    return is !== undefined && is !== type && !(is === 'number' && type !== 'text');
  });
  const name = ({ view, column, type }: (typeof columns)[number]) =>
    `${view}.${column} is ${type}, not ${found[view]?.[column]}`;
  return {
    right: columns.length - missing.length - wrong.length,
    wrong: wrong.map(name),
    missing: missing.map(({ view, column }) => `${view}.${column}`),
  };
}
