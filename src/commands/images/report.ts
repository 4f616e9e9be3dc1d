import { counted, duration, minuteText, number, printable } from '../../kernel/format.ts';
import type { Io } from '../terminal/io.ts';
import { folded, readableWidth, table, widthOf } from '../terminal/table.ts';
import type { ImageAudit } from './audit.ts';

/**
 * Returns the audit as a report for a rights holder: the summary first, then every image, as wide as the terminal.
 * Times are UTC.
 */
export function imageReport(audit: ImageAudit, io: Io, extent: 'summary' | 'everything'): string {
  const { at, service, mirror, written_by, filled_at, rule, summary } = audit;
  const { published, products, credited, oldest_confirmation_at, hidden, takedowns, longest_takedown_ms } = summary;
  const back = audit.takedowns.filter(({ returned_at }) => returned_at !== null).length;
  const lines = [
    `Images published on ${minuteText(at)} UTC`,
    '',
    `Service          ${service}`,
    `Mirror           ${mirror}, ${written_by}, ${filled_at === null ? 'not filled yet' : `complete since ${minuteText(filled_at)}`}`,
    `Rule             ${rule}`,
    '',
    `Published        ${counted(published, 'image')} of ${counted(products, 'product')}, ${number(credited)} with a credit`,
    `Last confirmed   ${oldest_confirmation_at === null ? 'none' : `the oldest ${minuteText(oldest_confirmation_at)}, ${duration(at - oldest_confirmation_at)} ago`}`,
    `Hidden           ${number(hidden)} not confirmed in time`,
    `Taken down       ${takedownsText(takedowns, back)} in the last 90 days${longest_takedown_ms === null ? '' : `, none later than ${duration(longest_takedown_ms)} after the service withdrew it`}`,
    `Credits changed  ${number(summary.credit_changes)} in the last 90 days`,
    `In breach        ${number(summary.in_breach)}`,
  ];
  const summaryText = folded(lines.join('\n'), readableWidth(io));
  const tables = extent === 'everything' ? [...breaches(audit, widthOf(io)), ...details(audit, widthOf(io))] : [];
  return `${[summaryText, ...tables].join('\n')}\n`;
}

/** Counts images that were taken down, and names how many of them are back. */
export function takedownsText(takedowns: number, back: number): string {
  return `${number(takedowns)}${back === 0 ? '' : ` (${number(back)} back since)`}`;
}

const breachText = {
  'not-confirmed': 'is shown although it has not been confirmed for 14 days',
  withdrawn: 'is shown although the service has withdrawn it',
  'file-kept': 'is no longer shown, but its file is still on disk',
} as const;

function breaches({ breaches: found }: ImageAudit, width: number): string[] {
  return found.length === 0
    ? []
    : [
        '',
        table(
          ['in breach', 'image', 'why'],
          found.map(({ product_id, image_key, reason }) => [String(product_id), image_key, breachText[reason]]),
          width,
        ),
      ];
}

function details({ published, takedowns, credit_changes }: ImageAudit, width: number): string[] {
  const section = (...parts: readonly [title: string, headings: readonly string[], rows: readonly string[][]]) =>
    sectionOf(...parts, width);
  const files = published.some(({ file }) => file !== null);
  const images = published.map((image) => [
    String(image.product_id),
    image.title ?? '-',
    image.image_key,
    image.credit ?? '-',
    minuteText(image.first_confirmed_at),
    minuteText(image.last_confirmed_at),
    minuteText(image.hidden_from),
    ...(files ? [image.file ?? '-', image.checksum ?? '-'] : []),
  ]);
  const headings = ['product', 'title', 'image', 'credit', 'first confirmed', 'last confirmed', 'hidden from'];
  return [
    ...section('Published', [...headings, ...(files ? ['file', 'checksum'] : [])], images),
    ...section(
      'Taken down: the service made the change at an unknown moment between these two reads',
      ['product', 'title', 'image', 'credit', 'last read with it', 'hidden at', 'because', 'at most', 'back since'],
      takedowns.map((each) => [
        String(each.product_id),
        each.title ?? '-',
        each.image_key,
        each.credit ?? '-',
        maybe(each.last_confirmed_at),
        minuteText(each.hidden_at),
        each.cause === 'image' ? 'a read without it' : 'product withdrawn',
        each.at_most_ms === null ? '-' : duration(each.at_most_ms),
        maybe(each.returned_at),
      ]),
    ),
    ...section(
      'Credits changed',
      ['product', 'title', 'image', 'was', 'is', 'found by the read of'],
      credit_changes.map((each) => [
        String(each.product_id),
        each.title ?? '-',
        each.image_key,
        each.old ?? '-',
        each.new ?? '-',
        minuteText(each.at),
      ]),
    ),
  ];
}

function sectionOf(title: string, headings: readonly string[], rows: readonly string[][], width: number): string[] {
  return rows.length === 0 ? [] : ['', folded(title, width), '', table(headings, rows, width)];
}

/**
 * Returns one line per image, takedown and credit change; the column `record` shows which. Instants are UTC, ISO 8601.
 */
export function reportCsv({ published, takedowns, credit_changes }: ImageAudit): string {
  const header = [
    'record', 'product_id', 'title', 'image_key', 'url', 'credit', 'credit_before', 'first_confirmed', 'last_confirmed',
    'hidden_from', 'changed', 'returned', 'file', 'checksum',
  ]; // biome-ignore format: a header
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const of = ({ product_id, title, image_key }: { product_id: number; title: string | null; image_key: string }) =>
    [product_id, title, image_key] as const;
  return csv(header, [
    ...published.map((each) => [
      'published', ...of(each), each.url, each.credit, null, iso(each.first_confirmed_at), iso(each.last_confirmed_at),
      iso(each.hidden_from), null, null, each.file, each.checksum,
    ]), // biome-ignore format: by column
    ...takedowns.map((each) => [
      'taken down', ...of(each), null, each.credit, null, null, iso(each.last_confirmed_at), iso(each.hidden_at), null,
      iso(each.returned_at), null, null,
    ]), // biome-ignore format: by column
    ...credit_changes.map((each) => [
      'credit changed', ...of(each), null, each.new, each.old, null, null, null, iso(each.at), null, null, null,
    ]), // biome-ignore format: by column
  ]);
}

function maybe(at: number | null): string {
  return at === null ? '-' : minuteText(at);
}

/**
 * Returns rows under a header as CSV (RFC 4180). A cell that a spreadsheet would take for a formula (it begins with = +
 * - @, tab or return) gets an apostrophe in front, because credits are written by strangers.
 */
function csv(header: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  return [header, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const safe = printable(value);
  const text = /^[\s\p{C}]*[=+\-@\t\r＝＋－＠]/u.test(value) ? `'${safe}` : safe;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
