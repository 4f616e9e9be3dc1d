import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { contentPolicy, framed } from '../../admin/page/document.ts';
import { type Html, html, sectionPart, type Value } from '../../admin/page/html.ts';
import type { Config } from '../../config/load.ts';
import { systemClock } from '../../kernel/clock.ts';
import { type Listing, plainText } from '../../kernel/document-section.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { printable, short } from '../../kernel/format.ts';
import { readsOf } from '../../kernel/sqlite/statements.ts';
import { openMirrorForReading } from '../../mirror/sql/files.ts';
import { openInboxForReading } from '../../receiver/inbox.ts';
import { countsOf, type FruitlessSearch, isWhole, type WeekReport } from '../../says/week/report.rules.ts';
import { daysOf, lastSevenDays, type Week, weekBefore, weekNamed } from '../../says/week/week.rules.ts';
import { WeekReads } from '../../says/week/week.store.ts';
import { fewestSearches } from '../../storefront/search/fruitless.rules.ts';
import { configurationFor } from '../setup.ts';
import { type Io, print } from '../terminal/io.ts';
import { documentLines, widthOf } from '../terminal/table.ts';
import { daysText, type Figure, figuresOf, partsOf, unknownText } from './parts.ts';

/** The most characters of a cell: what a stranger wrote may be a megabyte. */
const longestCell = 300;

/** Returns the report as one document that needs nothing else: the style of the operator's page, no script, nothing loaded. */
function reportPage(report: WeekReport): string {
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
${partsOf(report).map(({ tables = [], ...part }) => sectionPart({ ...part, tables: tables.map(titled) }, 'wide'))}`,
    footer: html`${written_by} · catalogued report --week`,
  });
}

function figurePart({ name, value, before, more }: Figure): Html {
  const compared = before === null ? null : html`<small>week before: ${before}</small>`;
  return html`<div><dt>${name}</dt><dd>${value}${compared}<small>${more}</small></dd></div>
`;
}

/** A product's title names its row, with the number below. */
function titled({ headings, rows, ...table }: Listing): Listing<Value> {
  const cells = rows.map((row) => row.map((cell) => short(plainText(cell), longestCell)));
  const [first, second, ...others] = headings;
  if (first !== 'product' || second !== 'title') return { ...table, headings, rows: cells };
  return {
    ...table,
    headings: [first, ...others],
    rows: cells.map(([number = '', title = '', ...rest]) => [html`${title} <code>${number}</code>`, ...rest]),
  };
}

interface Options {
  readonly week?: Week | true;
  readonly html?: string;
  readonly json?: boolean;
}

export function reportCommand(io: Io): Command {
  return new Command('report')
    .description(
      'Reports a week of the catalogue: new, closed and withdrawn products, changed prices, removed images, sales without a subscription, how often the mirror was wrong at checkout, and searches without results. Reads only the files; no daemon is needed.',
    )
    .addOption(
      new Option(
        '--week [week]',
        'which week, like 2026-W46: Monday to Sunday, UTC (default: today and the six days before)',
      ).argParser(weekOf),
    )
    .option('--html <file>', 'write it as one self-contained HTML file; an existing file is replaced')
    .addOption(new Option('--json', 'print JSON; the fields are a contract (schema/contract.json)').conflicts('html'))
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued report --week\n  catalogued report --week 2026-W46 --html week.html\n  catalogued report --week --json | jq .products.withdrawn',
    )
    .action(({ week, html, json }: Options, command: Command) => {
      const { config } = configurationFor(io, command);
      const chosen = typeof week === 'object' ? week : lastSevenDays(systemClock.now());
      const report = reportOf(config, chosen);
      if (html !== undefined) {
        writePage(html, reportPage(report));
        io.stdout.write(`Written to ${html}.\n`);
      } else print(io, { json }, report, () => reportText(report, widthOf(io)));
    });
}

function weekOf(text: string): Week {
  const week = weekNamed(text, systemClock.now());
  if (week === 'no-week') throw new InvalidArgumentError('expected a week of the calendar, like 2026-W46.');
  if (week === 'not-begun') throw new InvalidArgumentError('this week has not begun.');
  return week;
}

function reportOf(config: Config, week: Week): WeekReport {
  const { path, inbox_path } = config.mirror;
  const db = openMirrorForReading(path);
  try {
    const at = systemClock.now();
    const reads = new WeekReads(readsOf(db));
    const told = (of: Week, week_before: WeekReport['week_before']) =>
      reads.read(
        { week: of, mirror: resolve(path), fruitless_searches: searchedInVain(inbox_path, of), week_before },
        at,
      );
    const before = told(weekBefore(week), null);
    return told(week, isWhole(before) ? countsOf(before) : null);
  } finally {
    db.close();
  }
}

/** Null: the inbox is not there, or belongs to the daemon's user alone. */
function searchedInVain(path: string, week: Week): FruitlessSearch[] | null {
  try {
    using inbox = openInboxForReading(path);
    return inbox.searches.fruitless({ ...daysOf(week.from, week.to), least: fewestSearches });
  } catch (error) {
    if (error instanceof CataloguedError) return null;
    throw error;
  }
}

function writePage(path: string, page: string): void {
  try {
    writeFileSync(path, page);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CataloguedError('report', `the report cannot be written to ${path} (${code})`, {
      exitCode: code === 'EACCES' || code === 'EPERM' ? exitCodes.permission : exitCodes.io,
      hint: 'name another file with --html FILE',
      cause: error,
    });
  }
}

/** Returns the report for a terminal or a mail. */
function reportText(report: WeekReport, width: number): string {
  const { week, mirror } = report;
  const figures = figuresOf(report).map(({ name, value, before, more }) => [
    name,
    value,
    before === null ? '' : `(week before ${before})`,
    more,
  ]);
  const names = Math.max(...figures.map(([name = '']) => name.length));
  const values = Math.max(...figures.map(([, value = '']) => value.length));
  const befores = Math.max(...figures.map(([, , before = '']) => before.length));
  const unknown = unknownText(report);
  return `${[
    `The week of the catalogue: ${week.name}, ${daysText(week)}`,
    `Mirror ${printable(mirror)}`,
    ...(unknown === null ? [] : [unknown]),
    '',
    ...figures.map(([name = '', value = '', before = '', more]) =>
      [name.padEnd(names), value.padStart(values), ...(befores === 0 ? [] : [before.padEnd(befores)]), more].join('  '),
    ),
    ...documentLines(partsOf(report), width),
  ].join('\n')}\n`;
}
