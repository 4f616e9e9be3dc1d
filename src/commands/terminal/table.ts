import { printable, short } from '../../format.ts';
import type { Io } from './io.ts';

/** The most characters of a cell: what a stranger wrote may be a megabyte. */
const longestCell = 2000;
/** A column of text becomes no narrower than this or a word of its heading: what does not fit then runs over. */
const narrowest = 10;
const gap = '  ';

/** Returns the characters that a line may have: $COLUMNS, through a pipe too, else the terminal's; without either, any number. */
export function widthOf({ stdout, env }: Pick<Io, 'stdout' | 'env'>): number {
  const set = Number(env.COLUMNS);
  if (Number.isInteger(set) && set > 0) return set;
  return stdout.isTTY ? (stdout.columns ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

/**
 * Returns rows under headings, with numbers aligned to the right and text to the left. Text is wrapped in its column where
 * a line would be longer than `width`.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  width = Number.POSITIVE_INFINITY,
): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => short(printable(String(cell)), longestCell)));
  const right = headings.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^[\d,.]+$|^-$/.test(String(row[column]))),
  );
  const widths = fitted(
    headings.map((_, column) => cells.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0)),
    headings.map((heading, column) => (right[column] ? null : floorOf(heading))),
    width,
  );
  return cells.flatMap((row) => linesOf(row, widths, right)).join('\n');
}

function floorOf(heading: string): number {
  return heading.split(' ').reduce((most, word) => Math.max(most, word.length), narrowest);
}

/** Narrows the widest column that may be narrower until a line fits, or none may. `floors` null: never. */
function fitted(widths: readonly number[], floors: readonly (number | null)[], width: number): number[] {
  const narrowed = [...widths];
  const spare = (column: number) => (narrowed[column] ?? 0) > (floors[column] ?? Number.POSITIVE_INFINITY);
  for (let over = length(narrowed) - width; over > 0; over -= 1) {
    const [widest] = [...narrowed.keys()].filter(spare).toSorted((x, y) => (narrowed[y] ?? 0) - (narrowed[x] ?? 0));
    if (widest === undefined) break;
    narrowed[widest] = (narrowed[widest] ?? 0) - 1;
  }
  return narrowed;
}

function length(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each, gap.length * Math.max(0, widths.length - 1));
}

function linesOf(row: readonly string[], widths: readonly number[], right: readonly boolean[]): string[] {
  const wrapped = row.map((cell, column) => wrap(cell, widths[column] ?? 0));
  const height = wrapped.reduce((most, lines) => Math.max(most, lines.length), 1);
  return Array.from({ length: height }, (_, line) =>
    wrapped
      .map((lines, column) => {
        const width = widths[column] ?? 0;
        return right[column] ? (lines[line] ?? '').padStart(width) : (lines[line] ?? '').padEnd(width);
      })
      .join(gap)
      .trimEnd(),
  );
}

/** Breaks text at its last space before the width, a longer word after `_`, `-` or `/`, or else anywhere. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width && width > 0) {
    const space = rest.lastIndexOf(' ', width);
    const at = space > 0 ? space : (/^.*[_/-]/.exec(rest.slice(0, width))?.[0].length ?? width);
    lines.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  return [...lines, rest];
}
