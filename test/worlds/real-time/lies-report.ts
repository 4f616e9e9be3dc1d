import { table } from '../../../src/commands/terminal/table.ts';
import { endsWithin, type LieSeen, type LivedLie, recoversWithin } from './live-lies.ts';
import type { Reads } from './meanwhile.ts';
import type { LieDay } from './table-of-lies.ts';

const seconds = (value: number | null) => value?.toFixed(0) ?? '-';
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** Returns a table of lies and one of refusals, and the words of each condition. */
export function lieReport(lived: readonly LivedLie[]): string {
  const lies = lived.filter(({ day }) => day.refuses === undefined);
  const refusals = lived.filter(({ day }) => day.refuses !== undefined);
  const said = lived.flatMap(({ day, seen }) =>
    (seen?.conditions ?? []).map(({ code, says }) => `  ${day.name}: ${code}: ${says.slice(0, 240)}`),
  );
  const differences = lived.flatMap(({ day, seen }) =>
    (seen?.first ?? []).slice(0, 3).map((each) => `  ${day.name}: ${each}`),
  );
  return [
    ...(lies.length === 0
      ? []
      : [
          `Lies: the largest share of what readers saw that was wrong and not marked as stale\n${table(
            [...lieHeads, ...heads],
            lies.map((each) => rowOf(each, lieHeads.length, lieCells)),
          )}`,
        ]),
    ...(refusals.length === 0
      ? []
      : [
          `Refusals: what was read meanwhile\n${table(
            [...refusalHeads, ...heads],
            refusals.map((each) => rowOf(each, refusalHeads.length, refusalCells)),
          )}`,
        ]),
    'Conditions of these days, and differences at the end:',
    ...said,
    ...differences,
  ].join('\n\n');
}

const heads = ['condition after s', 'ended after s', 'others', 'status', 'result'];
const lieHeads = ['day', 's', 'dates', 'products', 'for s', 'most records, of limit', 'wrong, marked', 'differences'];
const refusalHeads = [
  'day',
  's',
  'calls/s before',
  'meanwhile',
  'others read',
  'all after s',
  'refused read',
  'calls',
  'recovered s',
];

function rowOf(lived: LivedLie, columns: number, cells: (seen: LieSeen) => string[]): string[] {
  const { day, seen } = lived;
  const middle =
    seen === null
      ? Array<string>(columns + heads.length - 3).fill('-')
      : [...cells(seen), ...conditionCells(seen, day)];
  return [day.name, String(day.lasts), ...middle, resultOf(lived)];
}

function lieCells({ shown, differences }: LieSeen): string[] {
  if (shown === null) return [];
  const most = [...shown.subjects]
    .filter(([, { at_once }]) => at_once > 0)
    .map(([name, { at_once, able, limit }]) => `${name} ${at_once} of ${able} (${limit})`);
  return [
    percent(shown.cells),
    percent(shown.products),
    seconds(shown.seconds),
    most.join(', ') || 'none',
    `${shown.marked} products`,
    String(differences),
  ];
}

function refusalCells({ before, during, recovered }: LieSeen): string[] {
  if (during === null) return [];
  const { others, refused, after, calls } = during;
  return [
    rateOf(before),
    rateOf(during),
    `${others.read} of ${others.all}`,
    seconds(after),
    `${refused.read} of ${refused.all}`,
    String(calls),
    seconds(recovered),
  ];
}

const rateOf = (reads: Reads | null) => reads?.rate.toFixed(1) ?? '-';

function conditionCells({ conditions, status, swept }: LieSeen, { condition, refuses }: LieDay): string[] {
  const expected = conditions.find(({ code }) => code === condition);
  const others = conditions.filter((each) => each !== expected).map(({ code }) => code);
  const within = Math.min(swept, refuses === undefined ? endsWithin : recoversWithin);
  const { after = null, ended = null } = expected ?? {};
  const isLate = expected !== undefined && (ended === null || ended > swept);
  const late = `not within ${seconds(within)}${ended === null ? '' : `; ${seconds(ended)} by a sweep`}`;
  return [
    seconds(after),
    isLate ? late : seconds(ended),
    others.join(', ') || '-',
    status.map((code) => code ?? '-').join(' → '),
  ];
}

function resultOf({ day, problems }: LivedLie): string {
  if (day.control) return problems.length > 0 ? `red, as it must be: ${problems.join('; ')}` : 'NOT NOTICED';
  return problems.length === 0 ? 'ok' : `RED: ${problems.join('; ')}`;
}
