import { printable } from '../../format.ts';

/**
 * Returns rows under a header as CSV (RFC 4180). A cell that a spreadsheet would take for a formula (it begins with = +
 * - @, tab or return) gets an apostrophe in front, because credits are written by strangers.
 */
export function csv(header: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  return [header, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const safe = printable(value);
  const text = /^[\s\p{C}]*[=+\-@\t\r＝＋－＠]/u.test(value) ? `'${safe}` : safe;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
