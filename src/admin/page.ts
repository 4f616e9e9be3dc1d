import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { duration } from '../format.ts';
import type { DaemonStatus } from '../status/daemon-status.ts';
import { type StatusVerdict, verdictOf } from '../status/verdict.ts';
import { type Html, html } from './html.ts';
import { historyPart } from './page-history.ts';
import { jobsPart } from './page-jobs.ts';
import type { PageMemory } from './page-memory.ts';
import {
  backupPart,
  callsPart,
  errorRatePart,
  figuresPart,
  imagesPart,
  notificationsPart,
  promisesPart,
  remarksPart,
  snapshotPart,
} from './page-parts.ts';
import { progressPart } from './page-progress.ts';
import { changesPart, deliveriesPart } from './page-recent.ts';
import { pageStyle } from './page-style.ts';
import { headline, verdictPart } from './page-verdict.ts';

export interface PageOptions {
  /** Returns a status that is at most a few seconds old. */
  recentStatus(): Promise<DaemonStatus>;
  memory(): PageMemory;
  now(): number;
}

const refreshSeconds = 30;

/**
 * The content security policy: nothing is loaded or run, nobody may frame the page, and its one inline style sheet is
 * allowed by its hash.
 */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(pageStyle).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Adds `GET /`: shows people whether the mirror is true, and if not, why. `?refresh=off` stops the refreshing. */
export function pageRoute(app: FastifyInstance, { recentStatus, memory, now }: PageOptions): void {
  app.get<{ Querystring: { refresh?: string } }>('/', async (request, reply) => {
    const refresh = request.query.refresh === 'off' ? null : refreshSeconds;
    const page = renderPage(await recentStatus(), memory(), now(), refresh);
    return reply
      .headers({
        'content-security-policy': policy,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cache-control': 'no-store',
      })
      .type('text/html; charset=utf-8')
      .send(page);
  });
}

/** Renders the whole page, without any script; `refresh` in seconds, null: never. */
export function renderPage(status: DaemonStatus, memory: PageMemory, now: number, refresh: number | null): string {
  const verdict = verdictOf(status, now);
  const at = new Date(now).toISOString();
  const style: Html = { markup: `<style>${pageStyle}</style>` };
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${refresh === null ? null : html`<meta http-equiv="refresh" content="${refresh}">`}
<title>${headline(verdict)} – catalogued</title>
<link rel="icon" href="${icon(verdict)}">
${style}
</head>
<body>
<header><strong>catalogued</strong> <span><code>${status.path}</code></span> <span>as of <time datetime="${at}">${at.slice(0, 19).replace('T', ' ')} UTC</time></span></header>
<main>
${verdictPart(verdict, status)}${progressPart(status, memory, now)}${figuresPart(status, now)}${remarksPart(status, now)}${promisesPart(status.freshness, now)}${historyPart(memory.conditions, now)}<div class="column">${errorRatePart(status.error_rate)}${imagesPart(status, now)}</div><div class="column">${callsPart(status)}${snapshotPart(status, now)}${backupPart(status, now)}</div>${notificationsPart(status, now)}${deliveriesPart(memory.deliveries, now)}${changesPart(memory.changes, now)}${jobsPart(status, now)}</main>
<footer>${
    refresh === null
      ? html`<a href="/">Refresh every ${refreshSeconds} s</a>`
      : html`Refreshes every ${refresh} s; <a href="/?refresh=off">hold it still</a>`
  } · <a href="/v1/status">as JSON</a> · <a href="/metrics">for Prometheus</a> · ${status.written_by}, up for ${duration(now - memory.started_at)}</footer>
</body>
</html>
`.markup;
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
