import { contentPolicy, framed } from '../../admin/page/document.ts';
import { type Html, html } from '../../admin/page/html.ts';
import { tableOf } from '../../admin/page/tables.ts';
import type { WeekReport } from '../../domain/week/report.ts';
import { short } from '../../format.ts';
import { type Figure, figuresOf } from './figures.ts';
import { daysText, partsOf, type ReportPart, type ReportTable, unknownText } from './parts.ts';

/** The most characters of a cell: what a stranger wrote may be a megabyte. */
const longestCell = 300;

/** Returns the report as one document that needs nothing else: the style of the operator's page, no script, nothing loaded. */
export function reportPage(report: WeekReport): string {
  const { week, at, mirror, written_by } = report;
  const unknown = unknownText(report);
  return framed({
    title: `The week of the catalogue, ${week.name}`,
    name: html`catalogued`,
    about: html`<code>${mirror}</code>`,
    now: at,
    // A file has no headers: its policy stands in it.
    head: html`<meta http-equiv="Content-Security-Policy" content="${[...contentPolicy, "form-action 'none'"].join('; ')}">`,
    main: html`<section class="wide"><h1>The week of the catalogue</h1>
<p>${week.name}: ${daysText(week)}</p>${unknown === null ? null : html`<p class="soft">${unknown}</p>`}</section>
<section class="wide" aria-label="Key figures"><dl class="figures">${figuresOf(report).map(figurePart)}</dl></section>
${partsOf(report).map(sectionOf)}`,
    footer: html`${written_by} · catalogued report --week`,
  });
}

function figurePart({ name, value, before, more }: Figure): Html {
  const compared = before === null ? null : html`<small>week before: ${before}</small>`;
  return html`<div><dt>${name}</dt><dd>${value}${compared}<small>${more}</small></dd></div>
`;
}

function sectionOf({ title, says, tables }: ReportPart): Html {
  return html`<section class="wide"><h2>${title}</h2>
${says.map((each) => html`<p>${each}</p>\n`)}${tables.map(tablePart)}</section>
`;
}

/** A product's title names its row, with the number below. */
function tablePart({ caption, headings, rows }: ReportTable): Html {
  const cell = (index: number) => (row: readonly string[]) => short(row[index] ?? '', longestCell);
  const isNumber = (index: number) => rows.every((row) => /^[+-]?[\d,.]+( %| [A-Z]{3})?$/.test(row[index] ?? ''));
  const columns = headings.map((heading, index) => ({
    heading,
    kind: index > 0 && isNumber(index) ? ('number' as const) : ('text' as const),
    cell: cell(index),
  }));
  const [number, title, ...others] = columns;
  if (number?.heading !== 'product' || title === undefined) return tableOf(caption, columns, rows);
  const product = (row: readonly string[]) => html`${title.cell(row)} <code>${number.cell(row)}</code>`;
  return tableOf<readonly string[]>(caption, [{ heading: 'product', cell: product }, ...others], rows);
}
