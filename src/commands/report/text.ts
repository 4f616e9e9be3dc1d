import type { WeekReport } from '../../domain/week/report.ts';
import { printable } from '../../format.ts';
import { table } from '../terminal/table.ts';
import { figuresOf } from './figures.ts';
import { daysText, partsOf, unknownText } from './parts.ts';

/** Returns the report for a terminal or a mail. */
export function reportText(report: WeekReport, width: number): string {
  const { week, mirror } = report;
  const figures = figuresOf(report).map(({ name, value, before, more }) => [
    name,
    value,
    before === null ? '' : `(week before ${before})`,
    more,
  ]);
  const names = Math.max(...figures.map(([name = '']) => name.length));
  const values = Math.max(...figures.map(([, value = '']) => value.length));
  const befores = Math.max(...figures.map(([, , before = '']) => before.length));
  const unknown = unknownText(report);
  const parts = partsOf(report).flatMap(({ title, says, tables }) => [
    '',
    title,
    ...says,
    ...tables.flatMap(({ caption, headings, rows }) => ['', `${caption}:`, table(headings, rows, width)]),
  ]);
  return `${[
    `The week of the catalogue: ${week.name}, ${daysText(week)}`,
    `Mirror ${printable(mirror)}`,
    ...(unknown === null ? [] : [unknown]),
    '',
    ...figures.map(([name = '', value = '', before = '', more]) =>
      [name.padEnd(names), value.padStart(values), ...(befores === 0 ? [] : [before.padEnd(befores)]), more].join('  '),
    ),
    ...parts,
  ].join('\n')}\n`;
}
