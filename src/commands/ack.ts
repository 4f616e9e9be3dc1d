import { Command } from 'commander';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { printable } from '../kernel/format.ts';
import { askDaemon, configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';

export function ackCommand(io: Io): Command {
  return new Command('ack')
    .description(
      'Acknowledges a condition that status shows, until it ends: its alert stays silent, and a warning no longer makes status exit with 1. The daemon records when, and why.',
    )
    .argument('<code>', 'the condition, as status --json and doctor name it')
    .requiredOption('--because <text>', 'why it may wait; shown beside the condition')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued ack snapshot-late --because "the other host is being replaced until Friday"\n  catalogued status --json | jq .conditions',
    )
    .action(async (code: string, { because }: { because: string }, own: Command) => {
      const operation = 'POST /v1/conditions/{code}/acknowledge' as const;
      const done = await askDaemon(io, configurationFor(io, own), { operation, path: { code }, body: { because } });
      if (done === null)
        throw new CataloguedError('no-daemon', 'no daemon runs: only one remembers what was acknowledged', {
          exitCode: exitCodes.retryLater,
          hint: 'catalogued run, or systemctl start catalogued',
        });
      io.stdout.write(`${printable(code)} is acknowledged until it ends.\n`);
    });
}
