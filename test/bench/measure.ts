import { anyNumber, commandLine } from '../command-line.ts';

/** One measure of a benchmark, and whether it is as good as it has to be. */
export interface Line {
  readonly what: string;
  readonly value: string;
  /** `-`: there is none. */
  readonly target: string;
  /** null: it has no target, so that it cannot be met. */
  readonly met: boolean | 'not run' | null;
}

export function metWord(met: Line['met']): string {
  if (met === null) return '-';
  if (met === 'not run') return met;
  return met ? 'yes' : 'NO';
}

/** The text, with what stands between the two marks replaced by a table, and the machine that it was measured on. */
export function withTable(
  text: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  machine: string,
): string {
  const [begin, end] = ['<!-- written by npm run bench -- --write -->\n', '<!-- end -->'];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the text lacks "${begin.trim()}" or "${end}" behind it`);
  const row = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')).join(' | ')} |\n`;
  const made = [columns, columns.map(() => '---'), ...rows].map(row).join('');
  return `${text.slice(0, from + begin.length)}${made}\nMeasured on ${machine}.\n${text.slice(to)}`;
}

export const count = (of: number) => of.toLocaleString('en-US');

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
}

/** The largest of many values. */
export function most(values: readonly number[]): number {
  return values.reduce((max, each) => Math.max(max, each), 0);
}

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

/** Milliseconds of the processor that this process takes for a piece of work. */
export function processorTime(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The date in so many days. */
export function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

/** Some of many, as far from each other as shoppers' are. */
export function spread<Each>(all: readonly Each[], some: number): Each[] {
  const step = Math.max(1, Math.floor(all.length / some));
  return all.filter((_, index) => index % step === 0).slice(0, some);
}
