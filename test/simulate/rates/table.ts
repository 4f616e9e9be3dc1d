import { type Cell, type Counted, type Result, runCell } from './run.ts';
import { type Shape, shapes, type Told } from './services.ts';

/** A cell, once by each seed, with what came of it under our rule and under the one before it, and what it has to reach. */
export interface Row {
  readonly cell: Cell;
  readonly ours: readonly Result[];
  /** By the first seed. */
  readonly old: Result;
  /** Null: only reported, because a stray 429 cannot be told from a limit. */
  readonly least: number | null;
  /** What is not as it has to be, by any seed; none: the cell is met. */
  readonly missed: readonly Missed[];
}

export type Missed = 'used' | 'throttled' | 'while told' | 'ceiling';

/** Calls in flight that the ceiling needs at the latency: more than its product. */
const concurrency: Readonly<Record<number, number>> = { 10: 4, 30: 8, 300: 64 };
const latency_ms = 120;
const ceilings = [10, 30, 300] as const;
const unlimited = Number.POSITIVE_INFINITY;
const limits = [5, 8, 10, 20, 50, 100, unlimited] as const;
const none: Cell['strays'] = { kind: 'none', share: 0 };
const strays: readonly Cell['strays'][] = [
  none,
  ...(['503', 'reset', '429'] as const).flatMap((kind) => [0.001, 0.01, 0.03].map((share) => ({ kind, share }))),
];
const says: readonly Told[] = ['retry-after', 'nothing'];
/** Beyond the planted strays. */
const mostThrottled = 0.005;
const reachedWithinMs = 20_000;
const time = { minutes: 20, settle: 5 };

/** Every cell of the table: limits below the ceiling, and none. */
export function allCells(): Cell[] {
  const steady = ceilings.flatMap((ceiling) =>
    limits
      .filter((limit) => limit <= ceiling || limit === unlimited)
      .flatMap((per_second) =>
        strays.flatMap((stray) =>
          waysOf(per_second).map((way) => cellOf({ ceiling, per_second, strays: stray, ...way, ...time })),
        ),
      ),
  );
  const changing = [10, 30].flatMap((ceiling) => waysOf(5).map((way) => changingCell(ceiling, way)));
  return [...steady, ...changing];
}

/** About sixty cells in which every value of every column occurs, the ways to count and to say by turns. */
export function quickCells(): Cell[] {
  const some = { 10: [5, 10, unlimited], 30: [5, 20, unlimited], 300: [5, 50, unlimited] } as const;
  const kinds = strays.filter(({ kind, share }) => kind === '429' || share === 0.03 || kind === 'none');
  const ways = waysOf(5);
  let turn = 0;
  const next = () => ways[(turn++ * 3) % ways.length] as Way;
  const steady = ceilings.flatMap((ceiling) =>
    some[ceiling].flatMap((per_second) =>
      kinds.map((stray) => cellOf({ ceiling, per_second, strays: stray, ...next(), ...time })),
    ),
  );
  return [
    ...steady,
    ...[10, 30].flatMap((ceiling) => [next(), next(), next()].map((way) => changingCell(ceiling, way))),
  ];
}

interface Way {
  readonly shape: Shape;
  readonly told: Told;
}

/** Where nothing is counted, it does not matter how. */
function waysOf(per_second: number): Way[] {
  const counted = per_second === unlimited ? (['fixed window'] as const) : shapes;
  return counted.flatMap((shape) => says.map((told) => ({ shape, told })));
}

/** A limit of 5 that doubles and halves again. */
function changingCell(ceiling: number, way: Way): Cell {
  const third = (time.minutes / 3) * 60_000;
  const limits = [5, 10, 5].map((per_second, index) => ({ from_ms: index * third, per_second }));
  return { ...cellOf({ ceiling, per_second: 5, strays: none, ...way, ...time }), limits };
}

export function cellOf({
  ceiling,
  per_second,
  ...rest
}: Pick<Cell, 'ceiling' | 'strays' | 'shape' | 'told' | 'minutes' | 'settle'> & { per_second: number }): Cell {
  const limits = [{ from_ms: 0, per_second }];
  return { ...rest, ceiling, concurrency: concurrency[ceiling] ?? 4, latency_ms, limits, status: 429, seed: 1 };
}

export async function runRow(cell: Cell, seeds: readonly number[]): Promise<Row> {
  const ours: Result[] = [];
  for (const seed of seeds) ours.push(await runCell({ ...cell, seed }, 'ours'));
  const old = await runCell({ ...cell, seed: seeds[0] ?? cell.seed }, 'old');
  const least = leastOf(cell);
  return { cell, ours, old, least, missed: missedBy(cell, least, ours) };
}

/** Judged from the start, by the worst of the seeds. */
function missedBy({ limits, strays: { kind } }: Cell, least: number | null, ours: readonly Result[]): Missed[] {
  // A stray 429 looks like a limit: the ceiling is not what counts from then on.
  const free = limits[0]?.per_second === unlimited && kind !== '429';
  const late = ({ reached_ms }: Result) => reached_ms === null || reached_ms > reachedWithinMs;
  return (
    [
      ['used', least !== null && ours.some(({ used }) => used < least)],
      ['throttled', least !== null && ours.some(({ throttled }) => throttled > mostThrottled)],
      ['while told', ours.some(({ while_told }) => while_told > 0)],
      ['ceiling', free && ours.some(late)],
    ] as const
  )
    .filter(([, missed]) => missed)
    .map(([what]) => what);
}

/** What has to be let through of what is allowed outside the time that the service told us to wait. */
function leastOf({ strays: { kind, share } }: Cell): number | null {
  if (kind === '429') return share >= 0.03 ? null : share >= 0.01 ? 0.7 : 0.9;
  return share >= 0.03 ? 0.8 : 0.9;
}

/** What the table says of itself. */
export const legend = [
  `Judged, from the start and by the worst seed: used ≥ its target (of what is allowed outside the time it told us to wait,`,
  `strays left out) · throttled beyond the planted strays ≤ 0.5 % · no call while told to wait · without a limit the ceiling`,
  `reached within 20 s (not where strays are 429: each counts as a limit met). At 3 % stray 429 only the calls while told.`,
  `"5 min on": the same without the first five of twenty minutes; "mean": over the seeds. Ideal is 1.00. The old rule by one seed.`,
] as const;

/** The table's columns, each as wide as what stands in it. */
const columns = [
  ['ceiling', 7],
  ['at once', 7],
  ['ms', 3],
  ['limit', 8],
  ['strays', 11],
  ['counted by', 14],
  ['says', 11],
  ['ours', 5],
  ['mean', 5],
  ['5 min on', 8],
  ['ideal', 5],
  ['old', 5],
  ['target', 8],
  ['throttled', 9],
  ['5 min on', 8],
  ['old', 6],
  ['told', 4],
  ['old', 5],
  ['20 s', 5],
  ['', 0],
] as const;

const line = (cells: readonly string[]) =>
  cells
    .map((cell, index) => cell.padEnd(columns[index]?.[1] ?? 0))
    .join('  ')
    .trimEnd();

export const head = line(columns.map(([name]) => name));

/** A row as it is printed: the worst of the seeds unless the column says otherwise. */
export function lineOf({ cell, ours, old, least, missed }: Row): string {
  const { ceiling, concurrency: together, shape, told, strays: stray } = cell;
  const limit = cell.limits
    .map(({ per_second }) => (Number.isFinite(per_second) ? String(per_second) : 'none'))
    .join(' ');
  const percent = (part: number, digits: number) => `${(100 * part).toFixed(digits)} %`;
  const lowest = (of: readonly Counted[]) => Math.min(...of.map(({ used }) => used)).toFixed(2);
  const highest = (of: readonly Counted[]) => percent(Math.max(...of.map(({ throttled }) => throttled)), 2);
  const settled = ours.map((each) => each.settled);
  const slowest = Math.max(...ours.map(({ reached_ms }) => reached_ms ?? Number.POSITIVE_INFINITY));
  return line([
    String(ceiling),
    String(together),
    String(cell.latency_ms),
    limit,
    stray.kind === 'none' ? '-' : `${stray.kind} ${percent(stray.share, 1)}`,
    shape,
    told,
    lowest(ours),
    (ours.reduce((sum, { used }) => sum + used, 0) / ours.length).toFixed(2),
    lowest(settled),
    '1.00',
    old.used.toFixed(2),
    least === null ? 'reported' : `≥ ${least}`,
    highest(ours),
    highest(settled),
    percent(old.throttled, 2),
    String(ours.reduce((sum, { while_told }) => sum + while_told, 0)),
    String(old.while_told),
    limit === 'none' && Number.isFinite(slowest) ? `${(slowest / 1000).toFixed(0)} s` : '-',
    missed.length === 0 ? 'met' : `MISSED: ${missed.join(', ')}`,
  ]);
}
