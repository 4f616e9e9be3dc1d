import { CataloguedError } from '../errors.ts';
import type { Connection } from './connection.ts';
import { badArgument } from './problems.ts';

/** The language and the currency that a read is in. */
export interface Editions {
  /** Returns the one asked for, if it is mirrored; without one that of the reader, or the mirror's primary one. */
  language(asked: string | undefined): string;
  currency(asked: string | undefined): string;
}

interface Mirrored {
  readonly all: ReadonlySet<string>;
  readonly primary: string;
}

/** A mirror of an older contract does not say what it mirrors: there only the primary ones are told from the rest. */
export function editionsOf(
  connection: Connection,
  defaults: { readonly language?: string | undefined; readonly currency?: string | undefined },
): Editions {
  const language = checked(connection, 'language', 'languages');
  const currency = checked(connection, 'currency', 'currencies');
  return {
    language: (asked) => language(asked ?? defaults.language),
    currency: (asked) => currency(asked ?? defaults.currency),
  };
}

function checked(connection: Connection, column: 'language' | 'currency', view: 'languages' | 'currencies') {
  const all = connection.query<[], { value: string; is_primary: 0 | 1 }>(
    () => `SELECT ${column} AS value, is_primary FROM ${view}`,
  );
  const any = connection.query<[], { value: string }>(() => `SELECT ${column} AS value FROM products LIMIT 1`);
  let mirrored: Mirrored | null = null;
  let era = -1;

  function read(): Mirrored | null {
    const rows = all.all([]);
    const primary = rows.find(({ is_primary }) => is_primary === 1)?.value ?? rows[0]?.value;
    return primary === undefined ? null : { all: new Set(rows.map(({ value }) => value)), primary };
  }

  function current(): Mirrored | null {
    if (era === connection.era && mirrored !== null) return mirrored;
    era = connection.era;
    try {
      mirrored = read();
    } catch (error) {
      if (!(error instanceof CataloguedError) || error.code !== 'older-contract') throw error;
      mirrored = null;
    }
    return mirrored;
  }

  return (asked: string | undefined): string => {
    const known = current();
    if (known === null) return asked ?? any.get([])?.value ?? '';
    if (asked === undefined) return known.primary;
    if (known.all.has(asked)) return asked;
    throw badArgument(`${column}: "${asked}" is not mirrored`, `give one of ${[...known.all].join(', ')}`);
  };
}
