import { Command, Option } from 'commander';
import { configurationFor } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { auditImages } from './audit.ts';
import { imageReport, reportCsv } from './report.ts';

export function imagesCommand(io: Io): Command {
  const command = new Command('images').description(
    'Shows which images are published, under which credit, and which were taken down.',
  );
  command
    .command('audit')
    .description(
      'Prints a dated report of every published image (product, credit, first and last confirmation, when it will be hidden) and of what was taken down in the last 90 days (or retention.changes, if shorter). Reads only the file; no daemon is needed. Exit 0: no breach; 1: an image is shown or stored that must not be.',
    )
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addOption(
      new Option(
        '--csv',
        'print CSV with a header, and the summary on standard error; cells that look like a formula begin with an apostrophe',
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
        io.stderr.write(imageReport(audit, io, 'summary'));
      } else io.stdout.write(imageReport(audit, io, 'everything'));
      if (audit.breaches.length > 0) io.answerIsNo();
    });
  return command;
}
