/** One measure of a benchmark, and whether it is as good as it has to be. */
export interface Line {
  readonly what: string;
  readonly value: string;
  /** `-`: there is none. */
  readonly target: string;
  /** null: it has no target, so that it cannot be met. */
  readonly met: boolean | 'not run' | null;
}

export function allMet(lines: readonly Line[]): boolean {
  return lines.every(({ met }) => met === true || met === null);
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

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
}
