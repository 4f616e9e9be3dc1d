import { printable, short } from '../../format.ts';

/** The most characters of a cell: what a stranger wrote may be a megabyte. */
const longestCell = 2000;

/** Returns rows under headings, with numbers aligned to the right and text to the left. */
export function table(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => short(printable(String(cell)), longestCell)));
  const widths = headings.map((_, column) => cells.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
  const right = headings.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^[\d,.]+$|^-$/.test(String(row[column]))),
  );
  return cells
    .map((row) =>
      row
        .map((cell, column) => (right[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
        .join('  '),
    )
    .map((line) => line.trimEnd())
    .join('\n');
}
