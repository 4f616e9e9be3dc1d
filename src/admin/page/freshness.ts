import { ago, duration, number, resourceLabel } from '../../format.ts';
import type { Freshness, MirrorStatus } from '../../mirror/status/status.ts';
import { foldedPart } from './fold.ts';
import { type Html, html } from './html.ts';
import { counted, tableOf } from './tables.ts';

/** Shows the missed freshness targets, and folds those that are met into one line. */
export function freshnessPart({ freshness, filled_at }: MirrorStatus, now: number, unfolded: boolean): Html | null {
  if (freshness.length === 0) return null;
  const ordered = nearFirst(freshness);
  const [met, missed] = [ordered.filter((line) => line.met === 1), ordered.filter((line) => line.met === 0)];
  const of = missed.length === 0 ? `All ${number(met.length)}` : `${number(met.length)} of ${number(ordered.length)}`;
  return html`${
    missed.length === 0
      ? null
      : html`<section class="wide"><h2>${filled_at === null ? 'Freshness targets' : 'Missed freshness targets'}</h2>
${targets(missed, filled_at, now)}</section>
`
  }${met.length === 0 ? null : foldedPart(`${of} freshness targets are met`, unfolded, targets(met, filled_at, now))}`;
}

function targets(lines: readonly Freshness[], filled_at: number | null, now: number): Html {
  return tableOf<Freshness>(
    'How old records may become, and how many are younger',
    [
      { heading: 'what', cell: ({ resource, tier }) => resourceLabel(resource) + (tier === null ? '' : `, ${tier}`) },
      { heading: 'target', kind: 'number', cell: ({ target_ms }) => duration(target_ms) },
      { heading: 'records', kind: 'number', cell: ({ records }) => number(records) },
      { heading: 'share', cell: shares },
      { heading: 'fresh', kind: 'number', cell: ({ fresh }) => number(fresh) },
      { heading: 'stale', kind: 'number', cell: ({ stale }) => counted(stale, 'some') },
      { heading: 'expired', kind: 'number', cell: ({ expired }) => counted(expired, 'no') },
      { heading: 'oldest', kind: 'number', cell: ({ oldest_checked_at }) => oldest(oldest_checked_at, now) },
      { heading: 'met', cell: ({ met }) => verdictOn(met, filled_at) },
    ],
    lines,
  );
}

/** Orders freshness targets by tier: the data that shoppers ask for most comes first. */
export function nearFirst(freshness: readonly Freshness[]): readonly Freshness[] {
  return freshness.toSorted((a, b) => tierOrder.indexOf(a.tier) - tierOrder.indexOf(b.tier));
}

const tierOrder: readonly (string | null)[] = ['near', 'middle', 'far', 'beyond', null];

/** Draws fresh, stale and expired as parts of one bar, beside their numbers. */
function shares({ records, fresh, stale, expired }: Freshness): Html {
  const width = (count: number) => (records === 0 ? 0 : Math.round((count / records) * 10_000) / 100);
  // Any count above 0 is visible.
  const [late, gone] = [stale, expired].map((count) => (count === 0 ? 0 : Math.max(1.5, width(count)))) as [
    number,
    number,
  ];
  return html`<svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="fresh" width="${Math.max(0, (fresh === 0 ? 0 : 100) - late - gone)}" height="4"/><rect class="stale" x="${100 - late - gone}" width="${late}" height="4"/><rect class="expired" x="${100 - gone}" width="${gone}" height="4"/></svg>`;
}

function oldest(at: number | null, now: number): Html | string {
  if (at === null) return html`<span class="none">none</span>`;
  return at === 0 ? html`<span class="some">never</span>` : ago(at, now);
}

function verdictOn(met: 0 | 1, filled_at: number | null): Html {
  if (met === 0 && filled_at === null) return html`<span class="none">filling</span>`;
  return met === 1 ? html`<span class="yes">✓ met</span>` : html`<span class="no">✗ missed</span>`;
}
