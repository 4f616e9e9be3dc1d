import { ago, duration, number, resourceLabel } from '../../format.ts';
import type { Freshness, MirrorStatus } from '../../mirror/status/status.ts';
import { type Html, html } from './html.ts';
import { counted, tableOf } from './tables.ts';

export function promisesPart({ freshness, filled_at }: MirrorStatus, now: number): Html {
  return html`<section class="wide"><h2>Freshness targets</h2>
${
  freshness.length === 0
    ? html`<p class="none">None can be judged yet: nothing was read.</p>`
    : tableOf<Freshness>(
        'Freshness targets and how many records meet them',
        [
          {
            heading: 'what',
            cell: ({ resource, tier }) => resourceLabel(resource) + (tier === null ? '' : `, ${tier}`),
          },
          { heading: 'target', kind: 'number', cell: ({ target_ms }) => duration(target_ms) },
          { heading: 'records', kind: 'number', cell: ({ records }) => number(records) },
          { heading: 'share', cell: shares },
          { heading: 'fresh', kind: 'number', cell: ({ fresh }) => number(fresh) },
          { heading: 'stale', kind: 'number', cell: ({ stale }) => counted(stale, 'some') },
          { heading: 'expired', kind: 'number', cell: ({ expired }) => counted(expired, 'no') },
          { heading: 'oldest', kind: 'number', cell: ({ oldest_checked_at }) => oldest(oldest_checked_at, now) },
          { heading: 'met', cell: ({ met }) => verdictOn(met, filled_at) },
        ],
        nearFirst(freshness),
      )
}</section>
`;
}

/** Orders freshness targets by tier: the data that shoppers ask for most comes first. */
export function nearFirst(freshness: readonly Freshness[]): readonly Freshness[] {
  return freshness.toSorted((a, b) => tierOrder.indexOf(a.tier) - tierOrder.indexOf(b.tier));
}

const tierOrder: readonly (string | null)[] = ['near', 'middle', 'far', null];

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
