import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { instant, systemClock } from '../../clock.ts';
import type { Config } from '../../config/load.ts';
import { fewestSearches } from '../../domain/search/fruitless.ts';
import { countsOf, type FruitlessSearch, type WeekReport, weekReport } from '../../domain/week/report.ts';
import { daysOf, lastSevenDays, type Week, weekBefore, weekNamed } from '../../domain/week/week.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import { openInboxForReading } from '../../inbox/inbox.ts';
import { openMirrorForReading } from '../../mirror/sql/files.ts';
import { WeekReads } from '../../mirror/status/week.ts';
import { readsOf } from '../../sqlite/statements.ts';
import { configurationFor } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { widthOf } from '../terminal/table.ts';
import { reportPage } from './page.ts';
import { reportText } from './text.ts';

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
      } else io.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : reportText(report, widthOf(io)));
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
    const told = (of: Week, week_before: WeekReport['week_before']) => {
      const fruitless_searches = searchedInVain(inbox_path, of);
      return weekReport(reads.read({ from: instant(of.from), to: instant(of.to) }, at), {
        ...{ at, week: of, mirror: resolve(path), fruitless_searches, week_before },
      });
    };
    return told(week, countsOf(told(weekBefore(week), null)));
  } finally {
    db.close();
  }
}

/** Null: the inbox is not there, or belongs to the daemon's user alone. */
function searchedInVain(path: string, week: Week): FruitlessSearch[] | null {
  try {
    using inbox = openInboxForReading(path);
    return inbox.searches.fruitless(daysOf(week.from, week.to), fewestSearches);
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
