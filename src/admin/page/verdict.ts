import { number } from '../../format.ts';
import type { MirrorStatus } from '../../mirror/status/status.ts';
import type { StatusVerdict } from '../../status/verdict.ts';
import { type Html, html } from './html.ts';

const headlines: Readonly<Record<StatusVerdict['state'], string>> = {
  true: 'The mirror is true',
  filling: 'The mirror is not filled yet',
  broken: 'The mirror is not entirely true',
};

/** The icons of the verdict, each with its own shape: a tick, a cross, an hourglass. */
const signs: Readonly<Record<StatusVerdict['state'], Html>> = {
  true: html`<path d="M7 12.5l3.2 3.2L17 9"/>`,
  filling: html`<path d="M8.5 7h7M8.5 17h7M9.5 7c0 5 5 5 5 10M14.5 7c0 5-5 5-5 10"/>`,
  broken: html`<path d="M8.5 8.5l7 7M15.5 8.5l-7 7"/>`,
};

export function headline({ state }: StatusVerdict): string {
  return headlines[state];
}

export function verdictPart(verdict: StatusVerdict, { freshness, records }: MirrorStatus): Html {
  const { state, reasons } = verdict;
  const text =
    state === 'true'
      ? html`<p class="soft">All ${freshness.length} freshness targets are met: each of ${number(records.all)} records was read in time, and nothing needs a person.</p>`
      : html`<ul>${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`;
  return html`<section class="wide verdict ${state}" aria-labelledby="verdict">
<svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"><circle cx="12" cy="12" r="10.5"/>${signs[state]}</svg>
<h1 id="verdict">${headline(verdict)}</h1>
${text}
</section>
`;
}
