import { type Listing, plainText, type Section } from '../../kernel/document-section.ts';
import { printable, short } from '../../kernel/format.ts';
import { type Outside, print } from './io.ts';

/** The most characters of a cell: what a stranger wrote may be a megabyte. */
const longestCell = 2000;
/** A column of text becomes no narrower than this, or than a word that has to stay whole. What does not fit then runs over. */
const narrowest = 10;
/** A word of a heading stays whole, and so does any other one of at most so many characters. */
const longestWord = 14;
const gap = '  ';

/** Returns the characters that a line may have: $COLUMNS, through a pipe too, else the terminal's; without either, any number. */
export function widthOf({ stdout, env }: Outside): number {
  const set = Number(env.COLUMNS);
  if (Number.isInteger(set) && set > 0) return set;
  return stdout.isTTY ? (stdout.columns ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

/** Returns the same for text that people read: 80 where nobody says, as through a pipe. */
export function readableWidth(io: Outside): number {
  const width = widthOf(io);
  return Number.isFinite(width) ? width : 80;
}

/**
 * Breaks lines that are longer than `width` at spaces. What follows stands under the second column of the line, or is
 * indented by two. An example of a command is broken where a shell goes on with the next line.
 */
export function folded(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => (line.length <= width ? [line] : foldedLine(line, width)))
    .join('\n');
}

/** Returns a help text in lines of at most `width`: a paragraph with a longer line is filled again. */
export function foldedHelp(text: string, width: number): string {
  const filled = text.replaceAll(/^\S.*(?:\n\S.*)+$/gm, (paragraph) =>
    paragraph.split('\n').some((line) => line.length > width) ? paragraph.replaceAll('\n', ' ') : paragraph,
  );
  return folded(filled, width);
}

/** Prints an answer: its facts as JSON, or as text for people, no wider than they can read. */
export function printFolded(
  io: Outside,
  options: { readonly json?: boolean | undefined },
  facts: unknown,
  text: (width: number) => string,
): void {
  const width = readableWidth(io);
  print(io, options, facts, () => folded(text(width), width));
}

/** The most that continuation lines are indented: text keeps most of a narrow terminal. */
const deepest = 24;

function foldedLine(line: string, width: number): string[] {
  const isExample = /^ {2}(?:[A-Z_]+=\S+ )*(?:sudo |systemctl |curl )?(?:catalogued|stop|-d) /.test(line);
  const [, command = '', comment = ''] = /^(.*?) +(# .*)$/.exec(line) ?? [];
  if (isExample && comment !== '') return [`  ${comment}`, ...folded(command, width).split('\n')];
  const column = /^\s*\S.{0,20}? {2,}(?=\S)/.exec(line)?.[0].length ?? 0;
  const indent = ' '.repeat(isExample ? 4 : column > 0 && column <= deepest ? column : hangingIndent(line));
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const from = indentOf(rest) + 1;
    const at = isExample ? shellBreak(rest, width - 2, from) : rest.lastIndexOf(' ', width);
    if (at < from) break;
    lines.push(`${rest.slice(0, at).trimEnd()}${isExample ? ' \\' : ''}`);
    rest = `${indent}${rest.slice(at).trimStart()}`;
  }
  return [...lines, rest];
}

/** Paragraphs have none; what is indented already goes on further in, as the same item. */
function hangingIndent(line: string): number {
  const own = indentOf(line);
  return own === 0 ? 0 : own + 2;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Returns where a command can go on in the next line: before its last pipe, `&&` or option that fits; -1: nowhere. */
function shellBreak(line: string, width: number, from: number): number {
  const breaks = [...line.matchAll(/ (?=\||&&|--)/g)].map(({ index }) => index);
  return breaks.findLast((at) => at <= width && at >= from) ?? -1;
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
    headings.map((heading, column) =>
      floorOf(
        heading,
        rows.map((row) => String(row[column])),
        right[column] === true,
      ),
    ),
    width,
  );
  return cells.flatMap((row) => linesOf(row, widths, right)).join('\n');
}

/** Returns the least width of a column. A number stays in one line, whatever its heading. */
function floorOf(heading: string, cells: readonly string[], isNumeric: boolean): number {
  const words = isNumeric ? cells : cells.flatMap((cell) => cell.split(/ |(?<=[_/-])/));
  const own = isNumeric ? words : words.filter((word) => word.length <= longestWord);
  return [...heading.split(' '), ...own].reduce((most, word) => Math.max(most, word.length), isNumeric ? 0 : narrowest);
}

/** Narrows the widest column that may be narrower until a line fits, or none may. */
function fitted(widths: readonly number[], floors: readonly number[], width: number): number[] {
  const narrowed = [...widths];
  const spare = (column: number) => (narrowed[column] ?? 0) > (floors[column] ?? 0);
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

const headingWidth = 10;

/** Returns sections as lines, each after its heading. What has one heading stands together, where that comes first. */
export function sectionLines(sections: readonly (Section | null)[]): string[] {
  const groups = Map.groupBy(
    sections.filter((each) => each !== null),
    ({ title, about = title }) => about,
  );
  return [...groups].flatMap(([about, group]) =>
    group
      .flatMap(({ says, tables = [] }) => [...says.map(plainText), ...tables.flatMap(({ line }) => line || [])])
      .map((line, index) => `${(index === 0 ? about : '').padEnd(headingWidth)}${printable(line)}`),
  );
}

/** Returns the tables of sections for which no line stands, each below an empty line. */
export function sectionTables(sections: readonly (Section | null)[], width?: number): string[] {
  const tables = sections.flatMap((each) => each?.tables ?? []).filter(({ line }) => line === undefined);
  return tables.flatMap((each) => ['', tableText(each, width)]);
}

/** Returns a table without drawings and what only a page has room for. */
export function tableText({ headings, rows, onPage = [] }: Listing, width?: number): string {
  const isDrawn = (cell: Listing['rows'][number][number]) =>
    cell !== null && typeof cell === 'object' && 'fresh' in cell;
  const shown = [...headings.keys()].filter(
    (index) => !onPage.includes(headings[index] ?? '') && !rows.some((row) => isDrawn(row[index] ?? null)),
  );
  return table(
    shown.map((index) => headings[index] ?? ''),
    rows.map((row) => shown.map((index) => plainText(row[index] ?? null))),
    width,
  );
}

/** Returns sections below their titles, with the caption of each table above it. */
export function documentLines(sections: readonly (Section | null)[], width?: number): string[] {
  return sections.flatMap((each) => {
    if (each === null) return [];
    const { title, says, tables = [] } = each;
    const below = tables.flatMap((table) => ['', `${table.caption}:`, tableText(table, width)]);
    return ['', title, ...says.map((line) => printable(plainText(line))), ...below];
  });
}
