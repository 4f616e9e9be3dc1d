import { ago, counted, duration, number, printable, short, spelled } from '../../kernel/format.ts';
import type { Severity } from '../conditions/condition.rules.ts';
import { type ActiveCondition, conditionsOf } from '../conditions/decide.rules.ts';
import type { StatusFacts } from '../conditions/facts.rules.ts';
import { type ConditionCode, conditionTable } from '../conditions/table.rules.ts';
import type { Freshness } from './status.store.ts';

/** Verdict on whether storefronts read correct data, shared by `status`, `/metrics` and the page. */
export interface StatusVerdict {
  /** `filling`: some records were never read, so nothing is known about them. */
  readonly state: 'true' | 'filling' | 'broken';
  /** The worst severity of the conditions that count, also while it fills; null: there are none. */
  readonly severity: Severity | null;
  /** Reasons why the state is not `true`, each a sentence; empty if it is. */
  readonly reasons: readonly string[];
}

/** Facts on which the verdict is based, beside the conditions. */
export type JudgedStatus = {
  readonly filled_at: number | null;
  readonly records: { readonly all: number; readonly never_fetched: number };
  readonly conditions: readonly ActiveCondition[];
};

/**
 * Returns the verdict. An acknowledged warning does not count: somebody knows about it, and no freshness target is missed. An
 * acknowledged error does.
 */
export function verdictOf({ filled_at, records, conditions }: JudgedStatus, now: number): StatusVerdict {
  const thatCount = countedIn(conditions);
  const severity = thatCount[0]?.severity ?? null;
  const reasons = thatCount.map((each) => `${each.about}: ${conditionSays(each, now)}`);
  if (filled_at !== null) return { state: reasons.length === 0 ? 'true' : 'broken', severity, reasons };
  return { state: 'filling', severity, reasons: [neverReadText(records), ...reasons] };
}

/** Returns how far the first fill is. */
export function neverReadText({ all, never_fetched }: JudgedStatus['records']): string {
  if (all === 0) return 'The product list has not been read yet';
  return `${number(never_fetched)} of ${counted(all, 'record')} ${never_fetched === 1 ? 'has' : 'have'} never been read`;
}

/** Returns the conditions that count, errors first. */
export function countedIn(conditions: readonly ActiveCondition[]): ActiveCondition[] {
  return conditions
    .filter(({ severity, acknowledged }) => severity === 'error' || acknowledged === null)
    .toSorted((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'));
}

/** Returns the problem, its duration and the instruction for it, without the heading. */
export function conditionSays(condition: ActiveCondition, now: number): string {
  return `${problemOf(condition, now)} ${condition.todo}.${acknowledgement(condition)}`;
}

/** Returns the problem and its duration, as a sentence. */
export function problemOf({ since, says, explains }: ActiveCondition, now: number): string {
  const lasts = since === null ? '' : ` (for ${duration(now - since)})`;
  const folded = explains.length === 0 ? '' : `, hence ${explains.join(', ')}`;
  return `${says}${lasts}${folded}.`;
}

/** Returns the reason for which somebody acknowledged it, after a space; empty if nobody did. */
export function acknowledgement({ acknowledged }: ActiveCondition): string {
  return acknowledged === null ? '' : ` Acknowledged: ${acknowledged}.`;
}

/** Adds to a status the conditions that hold according to the status alone. */
export function withConditions<Status extends StatusFacts>(
  status: Status,
  now: number,
): Status & { readonly conditions: readonly ActiveCondition[] } {
  return { ...status, conditions: conditionsOf({ ...status, at: now, watched: null, tried: null }) };
}

/** Returns the age of the figures: `as of 8 s ago`; null if they were counted for this answer. */
export function asOfText({ as_of }: { readonly as_of: number }, now: number): string | null {
  return now - as_of < 1000 ? null : `as of ${ago(as_of, now)}`;
}

/** Returns the state of the mirror in one line, for `systemctl status`. */
export function statusLine(
  status: JudgedStatus & { readonly products: { readonly visible: number } },
  now: number,
): string {
  const { state, severity, reasons } = verdictOf(status, now);
  const [first = '', ...others] = reasons;
  const more = others.length === 0 ? '' : ` (and ${others.length} more: catalogued status)`;
  if (state === 'true') return `up to date: ${counted(status.products.visible, 'product')}, every freshness target met`;
  return `${state === 'filling' ? 'filling' : severity}: ${short(printable(first), 200)}${more}`;
}

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
