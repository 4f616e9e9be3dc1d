import { Command, InvalidArgumentError } from 'commander';
import { exitCodes } from '../src/kernel/errors.ts';

/**
 * The command line of a program of the tests, such as `npm run worlds --`: `--help` prints what it takes with examples, and ends
 * with 0; what it does not take is one line, and 64.
 */
export function commandLine(called: string, does: string, examples: Readonly<Record<string, string>>): Command {
  // Whoever reads along has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(exitCodes.done);
  });
  return described(new Command(called), called, does, examples);
}

/** A program of a command line, such as `npm run worlds -- month`, with options and examples of its own. */
export function subcommand(
  parent: Command,
  name: string,
  does: string,
  examples: Readonly<Record<string, string>>,
): Command {
  const command = parent.command(name).allowExcessArguments(false);
  return described(command, `${parent.name()} ${name}`, does, examples);
}

function described(
  command: Command,
  called: string,
  does: string,
  examples: Readonly<Record<string, string>>,
): Command {
  const typed = (args: string) => `${called} ${args}`.replace(/(?: --)? $/, '');
  const width = Math.max(...Object.keys(examples).map((args) => typed(args).length));
  const lines = Object.entries(examples).map(([args, what]) => `  ${typed(args).padEnd(width)}  # ${what}`);
  return command
    .description(does)
    .showSuggestionAfterError(false)
    .configureOutput({
      outputError: (text, write) =>
        write(`${text.trim().replace('error:', 'Error:').replace(/\.$/, '')}. Try: ${called} --help\n`),
    })
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? exitCodes.done : exitCodes.usage))
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

/** Parses a number that is not negative, such as that of minutes. */
export function anyNumber(value: string): number {
  if (!/^\d+(\.\d+)?$/.test(value)) throw new InvalidArgumentError('Expected a number');
  return Number(value);
}

/** Parses a whole number that is not negative, such as a seed. */
export function wholeNumber(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError('Expected a whole number');
  return Number(value);
}

/** Parses how many of something there are to be: at least one. */
export function someNumber(value: string): number {
  if (wholeNumber(value) === 0) throw new InvalidArgumentError('Expected a whole number of at least 1');
  return Number(value);
}
