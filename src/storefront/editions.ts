import { members } from './arguments.ts';
import type { Connection } from './connection.ts';
import { badArgument } from './problems.ts';

/** Language and currency of a read. Each read uses those that apply to it. */
export interface Edition {
  readonly language?: string | undefined;
  readonly currency?: string | undefined;
}

/** The language and the currency that a read is in. */
export interface Editions {
  /** Returns the one asked for, if it is mirrored; without one that of the reader, or the mirror's primary one. */
  language(asked: string | undefined): string;
  currency(asked: string | undefined): string;
  /** Returns both of a read's options. Throws for each that is not mirrored, also where the read has no use for it. */
  of(options: Edition): { readonly language: string; readonly currency: string };
}

interface Mirrored {
  readonly all: ReadonlySet<string>;
  readonly primary: string;
}

export function editionsOf(
  connection: Connection,
  defaults: { readonly language?: string | undefined; readonly currency?: string | undefined },
): Editions {
  const language = checked(connection, 'language', 'languages');
  const currency = checked(connection, 'currency', 'currencies');
  const own: Editions = {
    language: (asked) => language(asked ?? defaults.language),
    currency: (asked) => currency(asked ?? defaults.currency),
    of: (options) => {
      const asked = members('options', options, ['language', 'currency']);
      return { language: own.language(asked.language), currency: own.currency(asked.currency) };
    },
  };
  return own;
}

function checked(connection: Connection, column: 'language' | 'currency', view: 'languages' | 'currencies') {
  const all = connection.query<[], { value: string; is_primary: 0 | 1 }>(
    `SELECT ${column} AS value, is_primary FROM ${view}`,
  );
  const any = connection.query<[], { value: string }>(`SELECT ${column} AS value FROM products LIMIT 1`);
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
    mirrored = read();
    return mirrored;
  }

  return (asked: string | undefined): string => {
    const known = current();
    if (known === null) return asked ?? any.get([])?.value ?? '';
    if (asked === undefined) return known.primary;
    if (known.all.has(asked)) return asked;
    throw badArgument(
      `${column}: "${String(asked).slice(0, 60)}" is not mirrored`,
      `give one of ${[...known.all].join(', ')}`,
    );
  };
}
