import type { HeldCondition } from '../../domain/conditions/decide.ts';
import { ago, counted, number } from '../../format.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import { headlineOf } from '../../status/headline.ts';
import { acknowledgement, countedIn, problemOf, type StatusVerdict, verdictOf } from '../../status/verdict.ts';
import { type Html, html } from './html.ts';

/** Look of the verdict: its colours, its sign and the icon of the tab. */
type Tone = 'well' | 'filling' | 'warning' | 'error';

/** The signs of the verdict, each with its own shape: a tick, an hourglass, an exclamation mark, a cross. */
const signs: Readonly<Record<Tone, Html>> = {
  well: html`<path d="M7 12.5l3.2 3.2L17 9"/>`,
  filling: html`<path d="M8.5 7h7M8.5 17h7M9.5 7c0 5 5 5 5 10M14.5 7c0 5-5 5-5 10"/>`,
  warning: html`<path d="M12 6.5v7M12 17v.1"/>`,
  error: html`<path d="M8.5 8.5l7 7M15.5 8.5l-7 7"/>`,
};

const icons: Readonly<Record<Tone, readonly [color: string, path: string]>> = {
  well: ['#10693a', 'M4 8.5l3 3 5-6'],
  filling: ['#2457b8', 'M4 8h8'],
  warning: ['#a86400', 'M8 3.5v5.5M8 12v.5'],
  error: ['#c62b20', 'M5 5l6 6M11 5l-6 6'],
};

function toneOf({ state, severity }: StatusVerdict): Tone {
  return severity ?? (state === 'filling' ? 'filling' : 'well');
}

/** Shows the state of the mirror as a headline, and each problem with the instruction for it. */
export function verdictPart(status: DaemonStatus, now: number): Html {
  const tone = toneOf(verdictOf(status, now));
  return html`<section class="wide verdict ${tone}" aria-labelledby="verdict">
<svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"><circle cx="12" cy="12" r="10.5"/>${signs[tone]}</svg>
<h1 id="verdict">${headlineOf(status, now)}</h1>
${fillingPart(status)}${problemsPart(status, now)}
</section>
`;
}

function fillingPart({ filled_at, records }: DaemonStatus): Html | null {
  if (filled_at !== null) return null;
  const read =
    records.all === 0
      ? 'The product list has not been read yet.'
      : `${number(records.never_fetched)} of ${counted(records.all, 'record')} ${records.never_fetched === 1 ? 'has' : 'have'} never been read.`;
  return html`<p>${read} Storefronts see what was read so far.</p>`;
}

function problemsPart({ conditions, filled_at, records }: DaemonStatus, now: number): Html | null {
  const counted = countedIn(conditions);
  if (counted.length > 0) return html`<ul>${counted.map((each) => problem(each, now))}</ul>`;
  const { all, last_read_at } = records;
  if (filled_at === null || last_read_at === null) return null;
  return html`<p>The last of ${number(all)} records was read ${ago(last_read_at, now)}.</p>`;
}

function problem(condition: HeldCondition, now: number): Html {
  const { severity, about, todo } = condition;
  return html`<li><b>${severity === 'error' ? 'Error' : 'Warning'}</b> · ${about}: ${problemOf(condition, now)}
<span class="todo">${todo}.${acknowledgement(condition)}</span></li>
`;
}

/** Returns the icon, to be recognised among many tabs. */
export function icon(verdict: StatusVerdict): string {
  const [color, path] = icons[toneOf(verdict)];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="${color}"/><path d="${path}" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
