import { printable } from '../../format.ts';

/**
 * Rows under a header as RFC 4180 has them. What a spreadsheet would take for a formula (a first character of = + - @,
 * tab or return) gets an apostrophe in front: credits are words of strangers.
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
