import type { FastifyInstance } from 'fastify';
import type { HeldCondition } from '../../domain/conditions/decide.ts';
import { limitOf } from '../../domain/evidence/claims.ts';
import { amountTexts, claimText, type HeldClaims, isOpen, stateText, whatToType } from '../../domain/evidence/hold.ts';
import type { JobRuns } from '../../domain/schedule/job-runs.ts';
import { fewestAudits } from '../../domain/truth/estimate.ts';
import { ago, counted, duration, megabytes, number } from '../../format.ts';
import type { MirrorStatus } from '../../mirror/status/status.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import { headlineOf } from '../../status/headline.ts';
import { jobDuration, jobNext, jobPeriod } from '../../status/job-messages.ts';
import { changesText, earlierText } from '../../status/on-sale-text.ts';
import { outdatedText } from '../../status/outdated-share.ts';
import { asOfText } from '../../status/status-line.ts';
import { acknowledgement, countedIn, problemOf, type StatusVerdict, verdictOf } from '../../status/verdict.ts';
import { framed } from './document.ts';
import { foldedPart } from './fold.ts';
import { sendPage } from './frame.ts';
import { freshnessPart, nearFirst } from './freshness.ts';
import { historyPart } from './history.ts';
import { type Html, html } from './html.ts';
import type { PageMemory } from './memory.ts';
import { backupPart, callsPart, imagesPart, notificationsPart, remarksPart, snapshotPart } from './parts.ts';
import { searchForm } from './product.ts';
import { progressPart } from './progress.ts';
import { changesPart, deliveriesPart, productLink } from './recent.ts';
import { tableOf } from './tables.ts';
import { errorRatePart, truthPart } from './truth.ts';

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
function verdictPart(status: DaemonStatus, now: number): Html {
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
function icon(verdict: StatusVerdict): string {
  const [color, path] = icons[toneOf(verdict)];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="${color}"/><path d="${path}" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

export interface PageOptions {
  shownStatus(): Promise<DaemonStatus>;
  memory(): PageMemory;
  now(): number;
}

const refreshSeconds = 30;

/** The form of the page that its address asks for. */
export interface PageView {
  /** Seconds until the page is loaded again; null: never. */
  readonly refresh: number | null;
  /** True: folded sections are open. */
  readonly unfolded: boolean;
}

/**
 * Adds `GET /`: shows people what shoppers see, and what is wrong. `?refresh=off` stops the refreshing, `?show=all`
 * unfolds everything.
 */
export function pageRoute(app: FastifyInstance, { shownStatus, memory, now }: PageOptions): void {
  app.get<{ Querystring: { refresh?: string; show?: string } }>('/', async ({ query }, reply) => {
    const view = { refresh: query.refresh === 'off' ? null : refreshSeconds, unfolded: query.show === 'all' };
    return sendPage(reply, renderPage(await shownStatus(), memory(), now(), view));
  });
}

/** Renders the whole page, without any script. */
export function renderPage(status: DaemonStatus, memory: PageMemory, now: number, view: PageView): string {
  const aged = asOfText(status, now);
  const { refresh, unfolded } = view;
  return framed({
    title: headlineOf(status, now),
    about: html`<code>${status.path}</code>${aged === null ? '' : `, ${aged}`}`,
    now,
    head: html`${refresh === null ? null : html`<meta http-equiv="refresh" content="${refresh}">`}
<link rel="icon" href="${icon(verdictOf(status, now))}">`,
    main: html`${verdictPart(status, now)}${figuresPart(status, now)}${searchPart(view)}${progressPart(status, memory, now)}${heldPart(status, now)}${remarksPart(status, now)}${freshnessPart(status, now, unfolded)}${historyPart(memory.conditions, nearFirst(status.freshness), now, unfolded)}${changesPart(memory.changes, now)}<div class="column">${truthPart(status.truth)}${errorRatePart(status.error_rate)}${imagesPart(status, now)}</div><div class="column">${callsPart(status)}${snapshotPart(status, now)}${backupPart(status, now)}</div>${notificationsPart(status, now)}${deliveriesPart(memory.deliveries, now)}${operationPart(status, now)}${jobsPart(status, now, unfolded)}`,
    footer: html`${
      refresh === null
        ? html`<a href="${address({ ...view, refresh: refreshSeconds })}">Refresh every ${refreshSeconds} s</a>`
        : html`Refreshes every ${refresh} s; <a href="${address({ ...view, refresh: null })}">hold it still</a>`
    } · <a href="${address({ ...view, unfolded: !unfolded })}">${unfolded ? 'fold what is well' : 'unfold everything'}</a> · <a href="/resync">Resync …</a> · <a href="/v1/status">as JSON</a> · <a href="/metrics">for Prometheus</a> · ${status.written_by}, up for ${duration(now - memory.started_at)}`,
  });
}

function address({ refresh, unfolded }: PageView): string {
  const query = new URLSearchParams({
    ...(refresh === null ? { refresh: 'off' } : {}),
    ...(unfolded ? { show: 'all' } : {}),
  }).toString();
  return query === '' ? '/' : `/?${query}`;
}

/** Shows the search for a product. A page that refreshes itself would clear what is typed, so it has a link instead. */
function searchPart({ refresh }: PageView): Html {
  return html`<section class="wide search">${
    refresh === null ? searchForm() : html`<a class="find" href="/product">Find a product: words or its id</a>`
  }</section>
`;
}

/** Shows what a shopper sees now, and what waits for a person. */
function figuresPart(status: DaemonStatus, now: number): Html {
  const { products, bookable, last_hour, conditions } = status;
  const waiting = countedIn(conditions);
  const before = (figure: 'sellable' | 'days') => earlierText(bookable.earlier, figure, now) ?? 'a week ago: not known';
  return html`<section class="wide lead" aria-label="What a shopper sees"><dl class="figures">
${figure('Products on sale', number(products.sellable), before('sellable'))}
${figure(bookable.currency === null ? 'Bookable days' : `Bookable days in ${bookable.currency}`, number(bookable.days), before('days'))}
${figure('Outdated data shown', ...outdated(status))}
${figure('Changes, last hour', number(last_hour.changes), changesText(last_hour) ?? 'none was found')}
${figure('Waits for a person', waiting.length === 0 ? 'nothing' : number(waiting.length), waiting.length === 0 ? null : waiting.map(({ about }) => about).join(', '))}
</dl></section>
`;
}

function outdated({ truth }: DaemonStatus): [value: string, more: string] {
  const { audited, from_at, to_at } = truth;
  const text = outdatedText(truth);
  if (text === null) return ['not known', `${number(audited)} of ${fewestAudits} random reads yet`];
  const over = from_at === null || to_at === null ? '' : ` in ${duration(to_at - from_at)}`;
  return [text, `by ${counted(audited, 'random read')}${over}`];
}

/** Shows the figures of the daemon and its file. */
function operationPart(status: DaemonStatus, now: number): Html {
  const { products, images, oldest_image_at, filled_at, records, file_bytes, wal_bytes, daemon } = status;
  const read = records.all - records.never_fetched;
  return html`<section class="wide"><h2>The daemon and its file</h2><dl class="figures">
${figure('Filled', filled_at === null ? 'not yet' : ago(filled_at, now), filled_at === null ? (records.all === 0 ? 'nothing read yet' : `${number(read)} of ${counted(records.all, 'record')} read`) : 'every record was read once')}
${figure('Products', number(products.visible), `visible; ${number(products.withdrawn)} withdrawn`)}
${figure('Images shown', images === 0 ? 'none' : number(images), oldest_image_at === null ? null : `oldest confirmed ${ago(oldest_image_at, now)}`)}
${figure('Calls a second', `≤ ${daemon.rate.toFixed(1)}`, `ceiling ${daemon.ceiling}; throttled ${times(daemon.throttled)}`)}
${figure('File', megabytes(file_bytes), `${megabytes(wal_bytes)} of write-ahead log`)}
</dl></section>
`;
}

function figure(name: string, value: string, more: string | null): Html {
  return html`<div><dt>${name}</dt><dd>${value}${more === null ? null : html`<small>${more}</small>`}</dd></div>`;
}

function times(count: number): string {
  return count === 1 ? 'once' : count === 0 ? 'never' : `${number(count)} times`;
}

/** Shows the held claims, their numbers of records, and the commands that decide about them; null: none is held. */
function heldPart({ held }: MirrorStatus, now: number): Html | null {
  if (held.length === 0) return null;
  return html`<section class="wide"><h2>Held</h2>
${tableOf<HeldClaims>(
  'Too many answers take these away at once',
  [
    { heading: 'claimed', cell: (each) => html`${claimText(each)}<code>${each.subject}</code>` },
    { heading: 'records', kind: 'number', cell: ({ claiming, able }) => `${number(claiming)} of ${number(able)}` },
    { heading: 'limit', kind: 'number', cell: ({ able }) => number(limitOf(able)) },
    { heading: 'since', kind: 'number', cell: ({ since }) => ago(since, now) },
    { heading: 'state', cell: (each) => stateText(each, now) },
    { heading: 'examples', cell: ({ subject, examples }) => examplesOf(subject, examples) },
    { heading: 'to decide, type', cell: (each) => (isOpen(each) ? commands(each.subject) : null) },
  ],
  held,
)}</section>
`;
}

function examplesOf(subject: HeldClaims['subject'], examples: HeldClaims['examples']): Html {
  return html`${examples.map((each, index) => {
    const [shown, said] = amountTexts(subject, each.edition, each);
    return html`${index === 0 ? '' : '; '}${productLink(each.product_id)}: ${shown}, answered ${said}`;
  })}`;
}

function commands(subject: HeldClaims['subject']): Html {
  return html`${whatToType(subject).map((line, index) => html`${index === 0 ? null : html`<br>`}<code class="typed">${line}</code>`)}`;
}

/** Shows the jobs that fail, wait or are late, and folds the others into one line. */
function jobsPart({ jobs }: DaemonStatus, now: number, unfolded: boolean): Html {
  const [well, ill] = [jobs.filter(isWell), jobs.filter((job) => !isWell(job))];
  const of = ill.length === 0 ? `All ${number(well.length)}` : `${number(well.length)} of ${number(jobs.length)}`;
  return html`${
    ill.length === 0
      ? null
      : html`<section class="wide"><h2>Jobs that do not run</h2>
${jobsTable(ill, now)}</section>
`
  }${well.length === 0 ? null : foldedPart(`${of} jobs run as planned`, unfolded, jobsTable(well, now))}`;
}

function isWell({ failure, kept_from, overdue }: JobRuns): boolean {
  return failure === null && kept_from === null && overdue === 0;
}

function jobsTable(jobs: readonly JobRuns[], now: number): Html {
  const none = (text: string | null) => text ?? html`<span class="none">none yet</span>`;
  return tableOf<JobRuns>(
    "The daemon's jobs since its start",
    [
      { heading: 'job', cell: ({ name }) => name },
      { heading: 'every', kind: 'number', cell: jobPeriod },
      { heading: 'last run', kind: 'number', cell: ({ last_run_at: at }) => none(at === null ? null : ago(at, now)) },
      { heading: 'took', kind: 'number', cell: (job) => none(jobDuration(job, now)) },
      { heading: 'next', kind: 'number', cell: (job) => jobNext(job, now) },
      { heading: 'state', cell: jobState },
    ],
    jobs,
  );
}

function jobState({ failure, kept_from, overdue, runs }: JobRuns): Html {
  if (failure !== null) return html`<span class="no">✗ failed</span> <code>${failure}</code>`;
  if (kept_from !== null) return html`<span class="some">waits</span> <code>${kept_from}</code>`;
  if (overdue === 0 && runs === 0) return html`<span class="none">not run yet</span>`;
  return overdue === 1 ? html`<span class="some">overdue</span>` : html`<span class="yes">✓ ok</span>`;
}
