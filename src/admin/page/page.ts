import type { FastifyInstance } from 'fastify';
import { duration } from '../../format.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import { headlineOf } from '../../status/headline.ts';
import { asOfText } from '../../status/status-line.ts';
import { verdictOf } from '../../status/verdict.ts';
import { framed } from './document.ts';
import { figuresPart, operationPart } from './figures.ts';
import { sendPage } from './frame.ts';
import { freshnessPart, nearFirst } from './freshness.ts';
import { heldPart } from './held.ts';
import { historyPart } from './history.ts';
import { type Html, html } from './html.ts';
import { jobsPart } from './jobs.ts';
import type { PageMemory } from './memory.ts';
import { backupPart, callsPart, imagesPart, notificationsPart, remarksPart, snapshotPart } from './parts.ts';
import { searchForm } from './product.ts';
import { progressPart } from './progress.ts';
import { changesPart, deliveriesPart } from './recent.ts';
import { errorRatePart, truthPart } from './truth.ts';
import { icon, verdictPart } from './verdict.ts';

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
