import { Command, InvalidArgumentError } from 'commander';
import { exitCodes } from '../src/errors.ts';

/**
 * The command line of a program of the tests, such as `npm run soak --`: `--help` prints what it takes with examples, and ends
 * with 0; what it does not take is one line, and 64.
 */
export function commandLine(called: string, does: string, examples: Readonly<Record<string, string>>): Command {
  const typed = (args: string) => `${called} ${args}`.replace(/(?: --)? $/, '');
  const width = Math.max(...Object.keys(examples).map((args) => typed(args).length));
  const lines = Object.entries(examples).map(([args, what]) => `  ${typed(args).padEnd(width)}  # ${what}`);
  return new Command(called)
    .description(does)
    .showSuggestionAfterError(false)
    .configureOutput({
      outputError: (text, write) => write(`${text.trim().replace('error:', 'Error:')}. Try: ${called} --help\n`),
    })
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? exitCodes.done : exitCodes.usage))
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

/** Parses a number that is not negative, such as that of minutes. */
export function anyNumber(value: string): number {
  if (!/^\d+(\.\d+)?$/.test(value)) throw new InvalidArgumentError('Expected a number');
  return Number(value);
}
