import type { FastifyInstance } from 'fastify';
import { duration } from '../../format.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import { asOfText } from '../../status/status-line.ts';
import { type StatusVerdict, verdictOf } from '../../status/verdict.ts';
import { framed } from './document.ts';
import { sendPage } from './frame.ts';
import { heldPart } from './held.ts';
import { historyPart } from './history.ts';
import { type Html, html } from './html.ts';
import { jobsPart } from './jobs.ts';
import type { PageMemory } from './memory.ts';
import {
  backupPart,
  callsPart,
  figuresPart,
  imagesPart,
  notificationsPart,
  remarksPart,
  snapshotPart,
} from './parts.ts';
import { progressPart } from './progress.ts';
import { nearFirst, promisesPart } from './promises.ts';
import { changesPart, deliveriesPart } from './recent.ts';
import { errorRatePart, truthPart } from './truth.ts';
import { headline, verdictPart } from './verdict.ts';

export interface PageOptions {
  shownStatus(): Promise<DaemonStatus>;
  memory(): PageMemory;
  now(): number;
}

const refreshSeconds = 30;

/**
 * Adds `GET /`: shows people whether the mirror is up to date, and if not, the reason. `?refresh=off` stops the
 * refreshing.
 */
export function pageRoute(app: FastifyInstance, { shownStatus, memory, now }: PageOptions): void {
  app.get<{ Querystring: { refresh?: string } }>('/', async (request, reply) => {
    const refresh = request.query.refresh === 'off' ? null : refreshSeconds;
    const page = renderPage(await shownStatus(), memory(), now(), refresh);
    return sendPage(reply, page);
  });
}

/** Renders the whole page, without any script; `refresh` in seconds, null: never. */
export function renderPage(status: DaemonStatus, memory: PageMemory, now: number, refresh: number | null): string {
  const verdict = verdictOf(status, now);
  const aged = asOfText(status, now);
  return framed({
    title: headline(verdict),
    about: html`<code>${status.path}</code>${aged === null ? '' : `, ${aged}`}`,
    now,
    head: html`${refresh === null ? null : html`<meta http-equiv="refresh" content="${refresh}">`}
<link rel="icon" href="${icon(verdict)}">`,
    main: html`${verdictPart(verdict, status)}${progressPart(status, memory, now)}${figuresPart(status, now)}${remarksPart(status, now)}${heldPart(status, now)}${promisesPart(status, now)}${historyPart(memory.conditions, nearFirst(status.freshness), now)}${lookPart()}<div class="column">${truthPart(status.truth)}${errorRatePart(status.error_rate)}${imagesPart(status, now)}</div><div class="column">${callsPart(status)}${snapshotPart(status, now)}${backupPart(status, now)}</div>${notificationsPart(status, now)}${deliveriesPart(memory.deliveries, now)}${changesPart(memory.changes, now)}${jobsPart(status, now)}`,
    footer: html`${
      refresh === null
        ? html`<a href="/">Refresh every ${refreshSeconds} s</a>`
        : html`Refreshes every ${refresh} s; <a href="/?refresh=off">hold it still</a>`
    } · <a href="/v1/status">as JSON</a> · <a href="/metrics">for Prometheus</a> · ${status.written_by}, up for ${duration(now - memory.started_at)}`,
  });
}

/** Shows links to further pages. */
function lookPart(): Html {
  return html`<section class="wide"><h2>Look closer</h2>
<p><a href="/product">One product …</a> <a href="/resync">Resync …</a></p></section>
`;
}

/** Returns the icon, a disc with a tick, a cross or nothing, to be recognised among many tabs. */
function icon({ state }: StatusVerdict): string {
  const [color, path] = {
    true: ['#10693a', 'M4 8.5l3 3 5-6'],
    broken: ['#c62b20', 'M5 5l6 6M11 5l-6 6'],
    filling: ['#b97400', 'M4 8h8'],
  }[state];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="${color}"/><path d="${path}" fill="none" stroke="#fff" stroke-width="2"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
