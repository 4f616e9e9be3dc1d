import type { ReportCounts } from '../../domain/checks/error-rate.ts';
import { duration, number } from '../../format.ts';
import type { ErrorRate, Truth } from '../../mirror/status/status.ts';
import { cannotTell, outdatedText } from '../../status/outdated-share.ts';
import { type Html, html } from './html.ts';
import { productLink } from './recent.ts';
import { counted, tableOf } from './tables.ts';

/** Shows the share of outdated data by random reads, in total and by tier. */
export function truthPart(truth: Truth): Html {
  const { from_at, to_at } = truth;
  const text = outdatedText(truth);
  const over = from_at === null || to_at === null ? '' : ` over ${duration(to_at - from_at)}`;
  return html`<section><h2>Outdated data shown</h2>
${
  text === null
    ? html`<p class="none">We ${cannotTell(truth)}.</p>`
    : html`<p><strong>${text}</strong>, by ${number(truth.audited)} random reads${over}: the service answered something else than the mirror showed.</p>`
}
${
  truth.by_tier.length === 0
    ? null
    : tableOf<Truth['by_tier'][number]>(
        'By tier of the date',
        [
          { heading: 'tier', cell: ({ tier }) => tier },
          { heading: 'random reads', kind: 'number', cell: ({ audited }) => number(audited) },
          {
            heading: 'outdated',
            kind: 'number',
            cell: (row) => outdatedText(row) ?? html`<span class="none">not known yet</span>`,
          },
        ],
        truth.by_tier,
      )
}</section>
`;
}

export function errorRatePart(rate: ErrorRate): Html {
  if (rate.rate === null)
    return html`<section><h2>Availability error rate</h2>
<p class="none">None yet: no check and no order has shown whether the mirror was right.</p></section>
`;
  return html`<section><h2>Availability error rate</h2>
<p>The mirror was wrong in <strong>${wrongShare(rate)}</strong> of the checks and orders (${number(reports(rate))}).${unanswered(rate)}</p>
${tableOf<ErrorRate['by_tier'][number]>('By tier of the date', [{ heading: 'tier', cell: ({ tier }) => tier }, ...reportColumns], rate.by_tier)}
${
  rate.worst.length === 0
    ? null
    : tableOf<ErrorRate['worst'][number]>(
        'Products that were wrong most often',
        [{ heading: 'product', cell: ({ product_id }) => productLink(product_id) }, ...reportColumns],
        rate.worst,
      )
}</section>
`;
}

const reportColumns = [
  { heading: 'checks and orders', kind: 'number', cell: (row: ReportCounts) => number(reports(row)) },
  { heading: 'wrong', kind: 'number', cell: (row: ReportCounts) => counted(row.wrong + row.orders_wrong, 'some') },
  { heading: 'share', kind: 'number', cell: wrongShare },
] as const;

function reports({ checks, orders }: ReportCounts): number {
  return checks + orders;
}

function wrongShare(row: ReportCounts): Html | string {
  if (reports(row) === 0) return html`<span class="none">none yet</span>`;
  return `${((100 * (row.wrong + row.orders_wrong)) / reports(row)).toFixed(1)} %`;
}

/** Describes the checks that count in no share, because they show nothing about the mirror. */
function unanswered({ unknown, unanswered: silent }: ErrorRate): string {
  return unknown + silent === 0
    ? ''
    : ` Not counted: ${number(unknown)} about dates that the mirror does not have, ${number(silent)} that the service did not answer.`;
}
