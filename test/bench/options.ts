import { anyNumber, commandLine } from '../command-line.ts';

/** Parses what stands behind a bench's name: options by their names, each with the number or text that it is if nothing is said. */
export function optionsOf<Usual extends Readonly<Record<string, number | string>>>(
  bench: string,
  args: readonly string[],
  usual: Usual,
): { [Name in keyof Usual]: Usual[Name] extends number ? number : string } {
  const command = commandLine(`npm run bench -- ${bench}`, 'Runs this bench alone.', { '': 'as in the table' });
  for (const [name, value] of Object.entries(usual)) {
    if (typeof value === 'number') command.option(`--${name} <n>`, '', anyNumber, value);
    else command.option(`--${name} <value>`, '', value);
  }
  return command.parse(args, { from: 'user' }).opts();
}
