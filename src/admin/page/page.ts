import type { FastifyInstance } from 'fastify';
import type { JobRuns } from '../../daemon/job-runs.rules.ts';
import { type Listing, listing, type Section } from '../../kernel/document-section.ts';
import { ago, counted, duration, number, remaining, resourceLabel } from '../../kernel/format.ts';
import type { ActiveCondition } from '../../says/conditions/decide.rules.ts';
import type { DaemonStatus } from '../../says/status/daemon-status.ts';
import {
  changesText,
  earlierText,
  jobsTable,
  type StatusSections,
  serviceText,
  statusSections,
  targetsTable,
} from '../../says/status/sections.ts';
import {
  acknowledgement,
  asOfText,
  countedIn,
  headlineOf,
  neverReadText,
  problemOf,
  type StatusVerdict,
  verdictOf,
} from '../../says/status/verdict.ts';
import { fewestAudits, outdatedText } from '../../trust/error-estimate.rules.ts';
import { framed, sendPage } from './document.ts';
import { historyPart } from './history.ts';
import { foldedPart, type Html, html, listPart, sectionPart } from './html.ts';
import type { PageMemory } from './memory.ts';
import { searchForm } from './product.ts';
import { changesPart, deliveriesPart } from './recent.ts';

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
  return html`<p>${neverReadText(records)}. Storefronts see what was read so far.</p>`;
}

function problemsPart({ conditions, filled_at, records }: DaemonStatus, now: number): Html | null {
  const counted = countedIn(conditions);
  if (counted.length > 0) return html`<ul>${counted.map((each) => problem(each, now))}</ul>`;
  const { all, last_read_at } = records;
  if (filled_at === null || last_read_at === null) return null;
  return html`<p>The last of ${number(all)} records was read ${ago(last_read_at, now)}.</p>`;
}

function problem(condition: ActiveCondition, now: number): Html {
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
  const said = statusSections(status, now);
  const { refresh, unfolded } = view;
  return framed({
    title: headlineOf(status, now),
    about: html`<code>${status.path}</code>${aged === null ? '' : `, ${aged}`}`,
    now,
    head: html`${refresh === null ? null : html`<meta http-equiv="refresh" content="${refresh}">`}
<link rel="icon" href="${icon(verdictOf(status, now))}">`,
    main: html`${verdictPart(status, now)}${figuresPart(status, now)}${searchPart(view)}${progressPart(status, memory, now)}${sectionPart(said.held, 'wide')}${remarksPart(status, said, now)}${targetsPart(status, said, now, unfolded)}${historyPart(memory.conditions, said.freshness, now, unfolded)}${changesPart(memory.changes, now)}${columnPart(said.outdated, said.errors, said.images)}${columnPart(said.calls, said.snapshot, said.backup)}${sectionPart(said.notifications, 'wide')}${deliveriesPart(memory.deliveries, now)}${operationPart(said)}${jobsPart(status, now, unfolded)}`,
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

function figure(name: string, value: string, more: string | null): Html {
  return html`<div><dt>${name}</dt><dd>${value}${more === null ? null : html`<small>${more}</small>`}</dd></div>`;
}

interface Progress {
  readonly what: string;
  readonly done: number;
  readonly all: number;
  readonly failed: number;
  /** The remaining time as text. */
  readonly left: string;
}

/** Shows the progress of the first fill and of resyncs; null: none is under way. */
function progressPart(status: DaemonStatus, { resyncs }: PageMemory, now: number): Html | null {
  const rows = [...fillOf(status, now), ...resyncs.map((job) => resyncOf(job, status, now))];
  if (rows.length === 0) return null;
  const table = listing('What is read beside the schedule', rows, {
    what: ({ what }) => what,
    share: shareOf,
    records: ({ done, all }) => `${number(done)} of ${number(all)}`,
    failed: ({ failed }) => failed,
    left: ({ left }) => left,
  });
  return listPart('Under way', table);
}

function shareOf({ done, all }: Progress) {
  const fresh = all === 0 ? 0 : done / all;
  return { fresh, label: `${Math.floor(100 * fresh)} %` };
}

function fillOf(status: DaemonStatus, now: number): Progress[] {
  const { filled_at, records, daemon } = status;
  if (filled_at !== null) return [];
  const left = standsStill(status, now) ?? atRate(records.never_fetched, daemon.rate);
  const done = records.all - records.never_fetched;
  const what = 'First fill';
  return [{ what, done, all: records.all, failed: records.failing, left: records.all === 0 ? 'not known yet' : left }];
}

/**
 * Returns the progress of a resync. The remaining time follows from its speed so far, which depends on other reads and
 * on the service.
 */
function resyncOf(job: PageMemory['resyncs'][number], status: DaemonStatus, now: number): Progress {
  const { job_id, requested_at, records, left: unread, failed, selection } = job;
  const done = records - unread;
  const { kinds, product_ids } = selection;
  const named = [...new Set(kinds.map(({ resource }) => resourceLabel(resource)))].join(', ');
  const products = product_ids?.filter((id) => id !== 0) ?? null;
  const of =
    products === null
      ? ''
      : ` of ${products.length === 1 ? `product ${products[0]}` : `${number(products.length)} products`}`;
  const so_far = Math.max(0, now - requested_at);
  const left =
    standsStill(status, now) ??
    (done === 0 ? atRate(unread, status.daemon.rate) : `about ${remaining((unread * so_far) / done)}`);
  return { what: `Resync ${job_id}: ${named}${of}`, done, all: records, failed, left };
}

function standsStill({ daemon: { key_refused, told_until, unreachable_since } }: DaemonStatus, now: number) {
  if (key_refused !== null) return 'waits for a key';
  if (unreachable_since !== null) return 'waits for the service';
  return told_until !== null && told_until > now ? `waits another ${duration(told_until - now)}` : null;
}

function atRate(records: number, rate: number): string {
  return rate <= 0 ? 'not known' : `at least ${remaining((records / rate) * 1000)}`;
}

/** Shows what does not affect the verdict, and that no condition tells. */
function remarksPart({ daemon, conditions }: DaemonStatus, said: StatusSections, now: number): Html | null {
  const shown = new Set(conditions.map(({ code }) => code));
  const away = shown.has('service-unreachable') || shown.has('service-unusable') || shown.has('service-pause');
  const service = away ? null : serviceText(daemon, now);
  const remarks = [
    ...(service === null ? [] : [{ title: 'Service', says: [service] }]),
    ...[said.closures, said.gaps, said.missing, shown.has('job-failing') ? null : said.jobTroubles, said.failing],
  ].filter((each) => each !== null);
  if (remarks.length === 0) return null;
  return html`<section class="wide"><h2>Worth knowing</h2>
<ul>${remarks.flatMap(({ title, says }: Section) => says.map((each) => html`<li>${title}: ${each}.</li>`))}</ul>
${remarks.flatMap(({ tables = [] }: Section) => tables)}</section>
`;
}

/** Shows the missed freshness targets, and folds those that are met into one line. */
function targetsPart(status: DaemonStatus, { freshness }: StatusSections, now: number, unfolded: boolean): Html {
  const [met, missed] = [freshness.filter((line) => line.met === 1), freshness.filter((line) => line.met === 0)];
  return apart({
    well: [met.length, targetsTable(met, status.filled_at, now)],
    ill: [missed.length, targetsTable(missed, status.filled_at, now)],
    title: status.filled_at === null ? 'Freshness targets' : 'Missed freshness targets',
    summary: 'freshness targets are met',
    unfolded,
  });
}

/** Shows the jobs that fail, wait or are late, and folds the others into one line. */
function jobsPart({ jobs }: DaemonStatus, now: number, unfolded: boolean): Html {
  const [well, ill] = [jobs.filter(isWell), jobs.filter((job) => !isWell(job))];
  return apart({
    well: [well.length, jobsTable(well, now)],
    ill: [ill.length, jobsTable(ill, now)],
    title: 'Jobs that do not run',
    summary: 'jobs run as planned',
    unfolded,
  });
}

function isWell({ failure, kept_from, overdue }: JobRuns): boolean {
  return failure === null && kept_from === null && overdue === 0;
}

interface Apart {
  readonly well: readonly [count: number, table: Listing];
  readonly ill: readonly [count: number, table: Listing];
  /** The title over those that are not well. */
  readonly title: string;
  readonly summary: string;
  readonly unfolded: boolean;
}

/** Shows what is not well, and folds the rest into one line. */
function apart({ well: [well, folded], ill: [ill, shown], title, summary, unfolded }: Apart): Html {
  const of = ill === 0 ? `All ${number(well)}` : `${number(well)} of ${number(well + ill)}`;
  const missed = { title, says: [], tables: [shown] };
  return html`${ill === 0 ? null : sectionPart(missed, 'wide')}${well === 0 ? null : foldedPart(`${of} ${summary}`, unfolded, folded)}`;
}

function columnPart(...sections: readonly (Section | null)[]): Html {
  return html`<div class="column">${sections.map((each) => sectionPart(each, 'half'))}</div>`;
}

/** Shows the facts about the daemon and its file. */
function operationPart({ filled, products, mirror }: StatusSections): Html {
  const facts = [filled, products, mirror].map(({ title, says }) => html`<dt>${title}</dt><dd>${says}</dd>\n`);
  return html`<section class="wide"><h2>The daemon and its file</h2><dl class="facts">
${facts}</dl></section>
`;
}
