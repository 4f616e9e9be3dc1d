import { runHere } from './run-here.ts';

/** Text for a pipe: no width is known. */
export const throughPipe = { COLUMNS: '' };

/** Returns every command line that has a help text: the program, its commands and their commands. */
export async function everyCommand(args: readonly string[] = []): Promise<string[][]> {
  const { stdout } = await runHere([...args, '--help'], { env: throughPipe });
  const sections = args.length === 0 ? stdout : (/^Commands:\n(?: .*\n)+/m.exec(stdout)?.[0] ?? '');
  const named = [...sections.matchAll(/^ {2}(\w+)(?: \[options\])?(?: [<[]\S+)* {2,}\S/gm)].map(
    ([, name = '']) => name,
  );
  const below = await Promise.all(
    named.filter((name) => name !== 'help').map((name) => (args.includes(name) ? [] : everyCommand([...args, name]))),
  );
  return [[...args], ...below.flat()];
}
