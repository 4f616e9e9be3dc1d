import { number } from './format.ts';

/*
 * What people read, before it is a page or a terminal's lines. A fact is worded here once; `admin/page/html.ts` and
 * `commands/terminal/table.ts` render it.
 */

/** How words stand out on a page: good, bad, in between, absent, less important. In a terminal the words alone say it. */
export type Tone = 'yes' | 'no' | 'some' | 'none' | 'soft';

/** Words that stand out; those marked as code are typed or quoted, those of a product are its id and lead to it. */
export interface Marked {
  readonly words: string;
  readonly as: Tone | 'code' | 'typed' | 'product';
}

/** Shares of a whole, from 0 to 1, as one bar. Only a page draws it. */
export interface Bar {
  readonly fresh: number;
  readonly stale?: number;
  readonly expired?: number;
  /** For screen readers; null: the numbers stand beside it. */
  readonly label: string | null;
}

/** Text for people. Whatever strangers wrote may be in it: each renderer escapes. */
export type Words = string | Marked | readonly Words[];

/** A table whose first column names the row. */
export interface Listing<Cell = Words | Bar | null> {
  readonly caption: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Columns for which only a page has room. */
  readonly onPage?: readonly string[];
  /** The same in a line, which a terminal has instead, or nothing if it is empty. */
  readonly line?: string;
}

export interface Section<Cell = Words | Bar | null> {
  readonly title: string;
  /** The word before its lines in a terminal; default: its title. */
  readonly about?: string;
  /** Lines without a full stop. */
  readonly says: readonly Words[];
  readonly tables?: readonly Listing<Cell>[];
}

export function marked(as: Marked['as'], words: string): Marked {
  return { as, words };
}

/** Puts words into a sentence: the tag of a template. */
export function say(parts: TemplateStringsArray, ...values: readonly (Words | number)[]): Words {
  return parts.flatMap((part, index) => {
    const value = values[index - 1];
    return value === undefined ? [part] : [typeof value === 'number' ? String(value) : value, part];
  });
}

/** Returns words as they are read aloud. */
export function plainText(words: Words | Bar | null): string {
  if (words === null) return '-';
  if (typeof words === 'string') return words;
  if ('words' in words) return words.words;
  return 'fresh' in words ? (words.label ?? '') : words.map(plainText).join('');
}

/** Lists rows under headings, each with the function that returns its cell. Numbers are written for people. */
export function listing<Row, Columns extends Readonly<Record<string, (row: Row) => unknown>>>(
  caption: string,
  rows: readonly Row[],
  columns: Columns,
): Listing<Exclude<ReturnType<Columns[keyof Columns]>, number> | string> {
  type Cell = Exclude<ReturnType<Columns[keyof Columns]>, number> | string;
  const cells = Object.values(columns);
  const written = (value: unknown) => (typeof value === 'number' ? number(value) : value) as Cell;
  return { caption, headings: Object.keys(columns), rows: rows.map((row) => cells.map((cell) => written(cell(row)))) };
}
