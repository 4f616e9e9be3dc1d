import { type Cell, type Result, runCell } from './run.ts';
import { shapes } from './services.ts';

/** A cell with what came of it under our rule and under the one before it, and what it has to reach. */
export interface Row {
  readonly cell: Cell;
  readonly ours: Result;
  readonly old: Result;
  /** Null: only reported, because a stray 429 cannot be told from a limit. */
  readonly least: number | null;
  readonly met: boolean;
}

/** Calls in flight that the ceiling needs at the latency: more than its product. */
const concurrency: Readonly<Record<number, number>> = { 10: 4, 30: 8, 300: 64 };
const latency_ms = 120;
const limits = [5, 8, 10, 20, 50, 100, Number.POSITIVE_INFINITY] as const;
const strays: readonly Cell['strays'][] = [
  { kind: 'none', share: 0 },
  ...(['503', 'reset', '429'] as const).flatMap((kind) => [0.001, 0.01, 0.03].map((share) => ({ kind, share }))),
];
/** Beyond the planted strays. */
const mostThrottled = 0.005;

/** Every cell of the table; `limits` below the ceiling, and none. */
export function allCells(minutes: number, settle: number): Cell[] {
  const cells: Cell[] = [];
  for (const ceiling of [10, 30, 300])
    for (const per_second of limits.filter((limit) => limit <= ceiling || limit === Number.POSITIVE_INFINITY))
      for (const stray of strays)
        for (const shape of per_second === Number.POSITIVE_INFINITY ? (['fixed window'] as const) : shapes)
          for (const told of ['retry-after', 'nothing'] as const)
            cells.push(cellOf({ ceiling, per_second, strays: stray, shape, told, minutes, settle }));
  for (const ceiling of [10, 30])
    for (const shape of shapes)
      for (const told of ['retry-after', 'nothing'] as const) {
        const cell = cellOf({
          ceiling,
          per_second: 5,
          strays: { kind: 'none', share: 0 },
          shape,
          told,
          minutes,
          settle,
        });
        const third = ((minutes + settle) / 3) * 60_000;
        const changing = [5, 10, 5].map((limit, index) => ({ from_ms: index * third, per_second: limit }));
        cells.push({ ...cell, limits: changing });
      }
  return cells;
}

export function cellOf({
  ceiling,
  per_second,
  ...rest
}: Pick<Cell, 'ceiling' | 'strays' | 'shape' | 'told' | 'minutes' | 'settle'> & { per_second: number }): Cell {
  const limits = [{ from_ms: 0, per_second }];
  return { ...rest, ceiling, concurrency: concurrency[ceiling] ?? 4, latency_ms, limits, status: 429, seed: 1 };
}

export async function runRow(cell: Cell): Promise<Row> {
  const [ours, old] = [await runCell(cell, 'ours'), await runCell(cell, 'old')];
  const least = leastOf(cell);
  // What a stray 429 looks like is a limit: the calls beyond the strays are counted, but nothing is promised of them.
  const counted = cell.strays.kind === '429' ? 0 : ours.throttled;
  const reached =
    cell.limits[0]?.per_second !== Number.POSITIVE_INFINITY || cell.strays.kind === '429' ? 0 : ours.reached_ms;
  const met =
    (least === null || ours.used >= least) &&
    counted <= mostThrottled &&
    ours.while_told === 0 &&
    reached !== null &&
    reached <= 20_000;
  return { cell, ours, old, least, met };
}

/** What has to be let through of what is allowed outside the time that the service told us to wait. */
function leastOf({ strays: { kind, share }, limits }: Cell): number | null {
  if (kind === '429') return share >= 0.03 ? null : share >= 0.01 ? 0.7 : 0.9;
  // Found again twice: what is between is time that no rule has.
  if (limits.length > 1) return 0.8;
  return share >= 0.03 ? 0.8 : 0.9;
}

/** The cells of a row's line. */
export function lineOf({ cell, ours, old, least, met }: Row): string[] {
  const { ceiling, concurrency: together, shape, told, strays: stray } = cell;
  const limit = cell.limits
    .map(({ per_second }) => (Number.isFinite(per_second) ? String(per_second) : 'none'))
    .join(', ');
  const share = (part: number) => `${(100 * part).toFixed(1)} %`;
  return [
    `${ceiling} (${together} at a time, ${latency_ms} ms)`,
    limit,
    stray.kind === 'none' ? '-' : `${stray.kind} ${share(stray.share)}`,
    shape,
    told,
    ours.used.toFixed(2),
    '1.00',
    old.used.toFixed(2),
    least === null ? 'reported' : `≥ ${least}`,
    `${(100 * ours.throttled).toFixed(2)} %`,
    `${(100 * old.throttled).toFixed(2)} %`,
    String(ours.while_told),
    met ? 'yes' : 'NO',
  ];
}

export const head = [
  'ceiling',
  'limit',
  'strays',
  'counted by',
  'says',
  'ours',
  'ideal',
  'old rule',
  'target',
  'throttled',
  'old rule',
  'while told',
  'met',
];
