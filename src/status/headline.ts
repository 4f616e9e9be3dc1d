import { type ConditionCode, conditionTable } from '../domain/conditions/table.ts';
import { counted, number, spelled } from '../format.ts';
import type { Freshness } from '../mirror/status/status.ts';
import { countedIn, type JudgedStatus } from './verdict.ts';

type HeadlinedStatus = JudgedStatus & { readonly freshness: readonly Freshness[] };

/** Returns the state of the mirror as a headline: `Up to date. The service has been away for 4 minutes`. */
export function headlineOf(status: HeadlinedStatus, now: number): string {
  const [worst = null] = countedIn(status.conditions).filter(({ code }) => code !== 'freshness-missed');
  const data = dataHeadline(status);
  if (worst === null) return data ?? 'Up to date, except for what is held';
  const { code, since, severity } = worst;
  const trouble = `${conditionTable[code].headline}${since === null ? '' : ` for ${spelled(now - since)}`}`;
  const doubted = severity === 'error' || doubtData.has(code);
  return data === null || (data === upToDate && doubted) ? trouble : `${data}. ${trouble}`;
}

/** Warnings because of which data may be outdated although they were read in time. Any error may be such a reason. */
const doubtData: ReadonlySet<ConditionCode> = new Set([
  'held',
  'list-incomplete',
  'records-failing',
  'other-dates',
  'often-wrong',
  'changes-not-shown',
]);

const upToDate = 'Up to date';

/** Returns what is known of the data alone; null: its freshness targets are missed, but only by what is held. */
function dataHeadline({ filled_at, records, freshness, conditions }: HeadlinedStatus): string | null {
  if (filled_at === null) {
    if (records.all === 0) return 'Not filled yet';
    return `First fill: ${Math.floor((100 * (records.all - records.never_fetched)) / records.all)} % read`;
  }
  if (conditions.some(({ code, explains }) => code === 'freshness-missed' || explains.includes('freshness-missed'))) {
    const { late, all } = lateRecords(freshness);
    return `${number(late)} of ${counted(all, 'record')} ${late === 1 ? 'is' : 'are'} outdated`;
  }
  return freshness.every(({ met }) => met === 1) ? upToDate : null;
}

function lateRecords(freshness: readonly Freshness[]): { late: number; all: number } {
  const sum = (of: (line: Freshness) => number) => freshness.reduce((total, line) => total + of(line), 0);
  return { late: sum(({ stale, expired }) => stale + expired), all: sum(({ records }) => records) };
}
