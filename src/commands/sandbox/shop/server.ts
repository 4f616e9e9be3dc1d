import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { refusalOf } from '../../../admin/guard.ts';
import { type Html, html } from '../../../admin/page/html.ts';
import { listen, readBody } from '../../../sandbox/listen.ts';
import type { Reader } from '../../../storefront/reader.ts';
import type { Breaking, Button, DaemonLog, Target } from '../breaking.ts';
import { type ShopPage, stopPage } from './pages.ts';
import { shopScript } from './script.ts';
import { type Shop, type ShopRequest, shopAnswer } from './shop.ts';
import { shopStyle } from './style.ts';

export interface ShopServerOptions {
  readonly shop: Shop;
  readonly breaking: Breaking;
  readonly log: DaemonLog;
  /** Images are loaded from there only. */
  readonly image_origin: string;
  /** The operator's page. */
  readonly page: string;
  /** The product that the buttons act on where the page is about none. */
  readonly product_id: number;
}

export interface ShopServer extends AsyncDisposable {
  readonly url: string;
}

/** Serves the shop, and the buttons beside it, on this machine's own address. */
export async function startShopServer(options: ShopServerOptions): Promise<ShopServer> {
  const server = createServer((request, response) => {
    serve(options, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error));
    });
  });
  await listen(server, 0, '127.0.0.1');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(options: ShopServerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', headers } = request;
  // Nobody has to log in: pages of other origins, and names that lead here by DNS rebinding, are refused.
  const refusal = refusalOf({ method, headers, route: '/' }, { token: null, host: '127.0.0.1', hosts: [] });
  if (refusal !== null)
    return send(
      response,
      refusal.status,
      'text/plain',
      'this shop is for this machine alone: open it at its own address',
    );
  const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://shop');
  if (path === '/shop.css') return send(response, 200, 'text/css', shopStyle);
  if (path === '/shop.js') return send(response, 200, 'text/javascript', shopScript);
  const form = new URLSearchParams(method === 'POST' ? await readBody(request) : '');
  const by = headers['sec-fetch-dest'] === 'empty' ? 'script' : 'person';
  const page = await answerTo(options, { method, path, query, form, by });
  if ('location' in page) return void response.writeHead(303, { location: page.location }).end();
  const { image_origin } = options;
  response.setHeader(
    'content-security-policy',
    `default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src ${image_origin} data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  );
  return send(
    response,
    page.status,
    'text/html',
    documentOf(options, page, query.get('text') ?? '', method === 'GET' ? (request.url ?? '/') : null),
  );
}

/** Returns the page that answers a request, or where it leads. A failure is a page too: people read it. */
async function answerTo(options: ShopServerOptions, request: ShopRequest): Promise<ShopPage | { location: string }> {
  try {
    const isPress = request.method === 'POST' && request.path === '/press';
    return isPress ? await press(options, request.form) : await shopAnswer(options.shop, request);
  } catch (error) {
    return stopPage(500, `The demo has failed: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

async function press({ breaking }: ShopServerOptions, form: URLSearchParams): Promise<ShopPage | { location: string }> {
  const text = (name: string) => form.get(name) ?? '';
  const name = text('button');
  if (!breaking.isButton(name)) return stopPage(400, 'There is no such button.');
  const target = { product_id: Number(text('product')), date: text('date') };
  if (!breaking.isTarget(target)) return stopPage(400, 'There is no such product, or no such date.');
  await breaking.press(name, target);
  return { location: /^\/(?![/\\])/.test(text('back')) ? text('back') : '/' };
}

function documentOf(
  options: ShopServerOptions,
  { title, main, subject }: ShopPage,
  text: string,
  here: string | null,
): string {
  const aside: Html = panel(
    options,
    subject,
    here ?? (subject === null ? '/' : `/product/${subject.product_id}?date=${subject.date}`),
  );
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/shop.css">
<script src="/shop.js" type="module"></script>
</head>
<body>
<header><a href="/">Tickets</a><form action="/search"><input type="search" name="text" value="${text}" placeholder="museum amsterdam" aria-label="Search" autocomplete="off"></form></header>
<p class="notice" role="alert" hidden></p>
<a class="to-panel" href="#panel">Break the service</a>
<div class="beside"><main id="shop">${main}</main>
<aside id="panel" aria-label="Demo">${aside}</aside></div>
</body>
</html>
`.markup;
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'content-type': `${type}; charset=utf-8`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
  });
  response.end(text);
}

interface PanelParts {
  readonly shop: { readonly reader: Reader; today(): string };
  readonly breaking: Breaking;
  readonly log: DaemonLog;
  readonly page: string;
  readonly product_id: number;
}

/** The buttons that break the service, and the newest lines of the daemon's log. */
function panel(
  { shop, breaking, log, page, product_id }: PanelParts,
  subject: { readonly product_id: number; readonly date: string | null } | null,
  here: string,
): Html {
  const id = subject?.product_id ?? product_id;
  const title = shop.reader.product(id)?.title ?? 'a product';
  const date = subject?.date ?? breaking.dateOf(id) ?? firstDate(shop.reader, id, shop.today());
  const buttons = breaking.buttons();
  const fields = { product: id, date, back: here };
  return html`<a class="close" href="#closed">Close</a><h2>Break the service</h2>
<p>The buttons change the simulated service. They act on <b>${title}</b> on ${date}. Watch the shop, <a href="${page}">the page</a> and the log.</p>
<form method="post" action="/press">${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${buttons.map((button) => buttonPart(shop.reader, button, { product_id: id, date }))}</form>
<h2>Log of the daemon</h2>
<pre>${log.newest(12).toReversed().map(lineOf).join('\n')}</pre>`;
}

function buttonPart(reader: Reader, { name, label, about, state, target }: Button, here: Target): Html {
  const beside = html`<p class="soft">${about}</p>`;
  if (state === 'whole' || target === null)
    return html`<button name="button" value="${name}">${label}</button>${beside}`;
  // An undo acts where the press did, which may be another product or date than those of this page.
  const elsewhere = target.product_id !== here.product_id || target.date !== here.date;
  const of = elsewhere ? ` (${reader.product(target.product_id)?.title ?? 'a product'}, ${target.date})` : '';
  return html`<button name="button" value="${name}" class="undo">${label}${of}</button>${beside}`;
}

/** Shortens a line of JSON to its time, its message and its fields. */
function lineOf(line: string): string {
  try {
    const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
    return `${String(time).slice(11, 19)} ${level === 'info' ? '' : `${String(level)} `}${String(msg)} ${JSON.stringify(fields)}`;
  } catch {
    return line;
  }
}

function firstDate(reader: Reader, product_id: number, today: string): string {
  const days = reader.calendar(product_id, { from: today, columns: ['state'] });
  return (days.find(({ state }) => state === 'available') ?? days[0])?.date ?? today;
}
