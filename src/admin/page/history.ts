import { listing } from '../../kernel/document-section.ts';
import { ago, dayText, duration, minuteText, number, short } from '../../kernel/format.ts';
import { ageCode, ageLabel } from '../../says/conditions/ages.rules.ts';
import type { Severity } from '../../says/conditions/condition.rules.ts';
import {
  grouped,
  type ShownSpan,
  type ShownWithin,
  shownWithin,
  wholeOf,
} from '../../says/conditions/history.rules.ts';
import { promiseTable } from '../../says/conditions/promises.rules.ts';
import { type ConditionCode, conditionCodes, conditionTable, isCondition } from '../../says/conditions/table.rules.ts';
import type { Freshness } from '../../says/status/status.store.ts';
import { foldedPart, type Html, html } from './html.ts';
import { type ConditionMemory, memoryMs } from './memory.ts';

const dayMs = 86_400_000;

interface Row {
  readonly about: string;
  /** Code of the condition; null: several conditions together, or a freshness target. */
  readonly code: string | null;
  readonly severity: Severity;
  readonly periods: ConditionMemory['periods'];
}

/**
 * Draws when each target was missed and each condition shown, as strips of 24 hours and of 90 days. Folds targets that
 * were never missed into one line.
 */
export function historyPart(
  memory: ConditionMemory | null,
  freshness: readonly Freshness[],
  now: number,
  unfolded: boolean,
): Html {
  if (memory === null) return part(html`<p class="none">Not known: the inbox, where it is kept, cannot be read.</p>`);
  const { watched_since } = memory;
  if (watched_since === null) return part(html`<p class="none">None yet: no daemon has watched.</p>`);
  const periods = memory.periods.filter(({ ended_at }) => ended_at === null || ended_at > now - memoryMs);
  const conditions = conditionRows(periods);
  const others = conditionCodes.length - conditions.filter(({ code }) => code !== null).length;
  const span = duration(Math.min(now - watched_since, memoryMs));
  const since = now - watched_since < memoryMs ? `, watched since ${dayText(watched_since)}` : '';
  const strips = (span_ms: number) => (row: Row) => stripOf(row, Math.max(now - span_ms, 0), now, watched_since);
  const list = (caption: string, rows: readonly Row[]) =>
    listing(caption, rows, {
      what: ({ about, code }) => html`${about}${code === null ? null : html` <code>${code}</code>`}`,
      '24 hours': strips(dayMs),
      '90 days': strips(memoryMs),
      last: (row) => lastOf(row, now),
    });
  const targets = targetRows(periods, freshness);
  const [missed, met] = [targets.filter(wasMissed), targets.filter((row) => !wasMissed(row))];
  const rest = html`<p class="soft">${others === conditionCodes.length ? 'None' : `None of the other ${number(others)}`} of the <a href="/v1/conditions">conditions</a> was active in this time.</p>`;
  const seldom = met.length === 0 ? null : list(`Targets that were never missed${since}`, met);
  if (periods.length === 0) return foldedPart(`Nothing was wrong in ${span}`, unfolded, html`${seldom}${rest}`);
  return html`${part(html`${missed.length === 0 ? null : list(`When a target was missed, as the daemon saw it${since}`, missed)}
${list(`When something was wrong${missed.length === 0 ? since : ''}`, conditions)}
${rest}`)}${seldom === null ? null : foldedPart(`${missed.length === 0 ? `None of ${number(met.length)} targets was` : `${number(met.length)} of ${number(targets.length)} targets were never`} missed in ${span}`, unfolded, seldom)}`;
}

function part(inner: Html): Html {
  return html`<section class="wide"><h2>History</h2>
${inner}</section>
`;
}

function wasMissed({ periods }: Row): boolean {
  return periods.length > 0;
}

/** Returns the rows of the freshness targets, then of the other targets, which conditions break. */
function targetRows(periods: ConditionMemory['periods'], freshness: readonly Freshness[]): Row[] {
  const of = (about: string, codes: readonly string[]): Row => {
    const own = periods.filter(({ code }) => codes.includes(code));
    return { about, code: null, severity: 'error', periods: own };
  };
  return [
    // Keeps a number and its unit on one line.
    ...freshness.map((line) =>
      of(`${ageLabel(line)}, ${duration(line.target_ms).replaceAll(' ', '\u00a0')}`, [ageCode(line)]),
    ),
    ...promiseTable.map(({ promise, broken_by }) => of(promise, broken_by)),
  ];
}

/** Returns a row for all conditions together, then one for each condition that was shown, in the order of the table. */
function conditionRows(periods: ConditionMemory['periods']): Row[] {
  const shown = periods.filter(({ code }) => isCondition(code));
  const rows = conditionCodes
    .map((code: ConditionCode): Row => {
      const { about, severity } = conditionTable[code];
      return { code, about, severity, periods: shown.filter((each) => each.code === code) };
    })
    .filter(({ periods: own }) => own.length > 0);
  const severity = rows.some((row) => row.severity === 'error') ? 'error' : 'warning';
  return [{ code: null, about: 'Anything', severity, periods: shown }, ...rows];
}

function lastOf({ about, severity, periods }: Row, now: number): Html | string {
  const last = periods.toSorted((a, b) => (a.ended_at ?? now) - (b.ended_at ?? now)).at(-1);
  if (last === undefined) return html`<span class="none">never</span>`;
  const until =
    last.ended_at === null
      ? html`<span class="${severity === 'error' ? 'no' : 'some'}">lasts</span>`
      : html`until ${ago(last.ended_at, now)}`;
  return about === 'Anything' ? until : html`${until}: ${short(last.says)}`;
}

/** The width of a strip in its own units, and the least width of a period on it. */
const units = 1000;
const leastUnits = 6;

function stripOf({ severity, periods }: Row, from: number, to: number, watched_since: number): Html {
  const shown = shownWithin(periods, from, to);
  const scale = units / (to - from);
  const unit_ms = leastUnits / scale;
  const begun = Math.min(Math.max(0, Math.round((watched_since - from) * scale)), units);
  const text = saidOf(shown);
  const drawn = grouped(shown.spans, unit_ms).map((group) => {
    const whole = wholeOf(group);
    const width = Math.max(leastUnits, Math.round((whole.to - whole.from) * scale));
    const x = Math.min(units - width, Math.round((whole.from - from) * scale));
    return html`<rect class="${severity === 'error' ? 'expired' : 'stale'}" x="${x}" width="${width}" height="10"><title>${groupText(group)}</title></rect>`;
  });
  const label = [text, ...shown.spans.slice(-toldAtMost).map(spanText)].join('; ');
  return html`<svg class="strip" viewBox="0 0 ${units} 10" preserveAspectRatio="none" role="img" aria-label="${label}"><rect class="watched" x="${begun}" width="${units - begun}" height="10"/>${drawn}</svg><small>${text}</small>`;
}

/** The most periods that a strip lists in its text for screen readers. */
const toldAtMost = 5;

/** Returns the number of periods and their total length: `3 ×, 41 min`. */
function saidOf({ times, shown_ms }: ShownWithin): string {
  return times === 0 ? 'never' : `${number(times)} ×, ${duration(shown_ms)}`;
}

function spanText(span: ShownSpan): string {
  return `${fromTo(span)}, ${duration(span.to - span.from)}`;
}

function groupText(group: readonly ShownSpan[]): string {
  const shown_ms = group.reduce((sum, { from, to }) => sum + to - from, 0);
  return `${fromTo(wholeOf(group))}, ${group.length === 1 ? '' : `${number(group.length)} ×, `}${duration(shown_ms)}`;
}

function fromTo({ from, to, lasts }: ShownSpan): string {
  return `${minuteText(from)} to ${lasts ? 'now' : minuteText(to)} UTC`;
}
