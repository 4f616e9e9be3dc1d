import { Command, Option } from 'commander';
import { auditImages } from './image-audit.ts';
import { imageReport, reportCsv } from './image-report.ts';
import { configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';

export function imagesCommand(io: Io): Command {
  const command = new Command('images').description(
    'Images: what is published, by which right, and what was taken down.',
  );
  command
    .command('audit')
    .description(
      'A dated report of every published image: product, credit, first and last confirmed, hidden from when, and what was taken down in the last 90 days (as far as retention.changes reaches). Reads the file alone; no daemon is needed. Exit 0: nothing is in breach; 1: something is shown or kept that may not be.',
    )
    .option('--json', 'as JSON: the fields are a contract (schema/contract.json)')
    .addOption(
      new Option(
        '--csv',
        'for a spreadsheet, with a header; the summary goes to standard error. A cell that would be a formula gets an apostrophe in front.',
      ).conflicts('json'),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued images audit > images-$(date +%F).txt\n  catalogued images audit --csv > images.csv\n  catalogued images audit --json | jq .summary',
    )
    .action((options: { json?: boolean; csv?: boolean }, own: Command) => {
      const audit = auditImages(configurationFor(io, own).config);
      if (options.json) io.stdout.write(`${JSON.stringify(audit, null, 2)}\n`);
      else if (options.csv) {
        io.stdout.write(reportCsv(audit));
        io.stderr.write(imageReport(audit, 'summary'));
      } else io.stdout.write(imageReport(audit, 'everything'));
      if (audit.breaches.length > 0) io.answerIsNo();
    });
  return command;
}
