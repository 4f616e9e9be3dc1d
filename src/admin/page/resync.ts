import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { type ResyncCost, type ResyncRequest, resyncResources } from '../../cycle/request-resync.ts';
import { listing } from '../../kernel/document-section.ts';
import { counted, remaining } from '../../kernel/format.ts';
import { type ResyncResource, resyncHelp } from '../../schedule/resources.rules.ts';
import { operations } from '../api.ts';
import { readRequest } from '../request.ts';
import { framed, sendPage } from './document.ts';

import { type Html, html } from './html.ts';

export interface ResyncPageOptions {
  readonly resync: {
    /** Returns the cost of a resync; changes nothing. */
    price(wanted: ResyncRequest): Promise<ResyncCost>;
    start(wanted: ResyncRequest): Promise<unknown>;
    readonly tokens: FormTokens;
  };
  now(): number;
}

/** The fields of a form: each name with one value, or several. */
type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Adds `GET /resync`, which asks what to read and shows the cost, and `POST /resync`, which starts the resync. The
 * latter needs the token of the form that showed the cost.
 */
export function resyncRoutes(app: FastifyInstance, { resync, now }: ResyncPageOptions): void {
  app.get<{ Querystring: Fields }>('/resync', async ({ query }, reply) => {
    if (query.resources !== undefined) return sendPage(reply, await priced(wantedBy(query)));
    const nothing = query.chosen === undefined ? null : 'Choose at least one of these.';
    const choice = page('Resync', choicePart(query.product, nothing), now());
    return sendPage(reply, choice, nothing === null ? 200 : 400);
  });
  const priced = async (wanted: ResyncRequest, refusal: string | null = null): Promise<string> => {
    const part = pricePart(wanted, await resync.price(wanted), resync.tokens.issue(textOf(wanted)), refusal);
    return page('What this resync costs', part, now());
  };
  // Registered in a separate scope, so that no other route accepts content that a form of another page could send.
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 16 * 1024 },
      async (_: unknown, body: string | Buffer) => fieldsOf(String(body)),
    );
    scope.post<{ Body: Fields | undefined }>('/resync', async ({ body: fields = {} }, reply) => {
      const wanted = wantedBy(fields);
      const refusal = resync.tokens.refusalOf(fields.token, textOf(wanted));
      if (refusal !== null) return sendPage(reply, await priced(wanted, refusal), 403);
      await resync.start(wanted);
      return reply.redirect('/', 303);
    });
  });
}

function fieldsOf(body: string): Fields {
  const fields = new URLSearchParams(body);
  const names = [...new Set(fields.keys())];
  return Object.fromEntries(names.map((name) => [name, several(fields.getAll(name))]));
}

function several(values: readonly string[]): string | readonly string[] {
  const [first = ''] = values;
  return values.length === 1 ? first : values;
}

/** Parses a request as the API does. Throws a 400 that names all errors. */
function wantedBy({ resources, product }: Fields): ResyncRequest {
  const named = typeof product === 'string' ? product.trim() : product;
  const body = {
    resources: [resources ?? []].flat(),
    product_ids: named === undefined || named === '' ? [] : [named].flat(),
  };
  const given = { params: {}, query: {}, body };
  const { dry_run: _, ...wanted } = readRequest<'POST /v1/resync'>(operations['POST /v1/resync'], given).body;
  return wanted;
}

/** Returns the text that the token of a form signs. */
function textOf(wanted: ResyncRequest): string {
  return JSON.stringify(wanted);
}

function page(title: string, main: Html, now: number): string {
  return framed({ title, about: html`resync`, now, main, footer: html`<a href="/">the mirror as a whole</a>` });
}

/** Shows the form for choosing a resync. Its answer is the cost. */
function choicePart(product: Fields[string], refusal: string | null): Html {
  const box = (name: ResyncResource) => {
    const help = resyncHelp[name] === name ? null : html` <span class="soft">${resyncHelp[name]}</span>`;
    return html`<label><input type="checkbox" name="resources" value="${name}"> ${name}${help}</label>\n`;
  };
  return html`<section class="wide"><h1>Resync</h1>
<p>Reads again now what is named, and leaves all other schedules unchanged. The price comes first.</p>
${refused(refusal)}<form class="choice" action="/resync" method="get">
${resyncResources.map(box)}<label>Product <input name="product" inputmode="numeric" pattern="[0-9]*" size="12" value="${typeof product === 'string' ? product : ''}"> <span class="soft">empty: all of them</span></label>
<button name="chosen" value="1">Show the price</button></form></section>
`;
}

/** Shows why a form was refused; null: it was not. */
function refused(refusal: string | null): Html | null {
  return refusal === null ? null : html`<p class="no" role="alert">${refusal}</p>\n`;
}

function pricePart(wanted: ResyncRequest, price: ResyncCost, token: string, refusal: string | null): Html {
  const rows = Object.entries(price.records);
  const hidden = (name: string, value: string | number) => html`<input type="hidden" name="${name}" value="${value}">`;
  return html`<section class="wide"><h1>${price.at_least ? 'At least ' : ''}${counted(price.calls, 'call')}, about ${remaining(price.minutes * 60_000)}</h1>
${refused(refusal)}<p>${wanted.product_ids.length === 0 ? 'For all products' : `For product ${wanted.product_ids.join(', ')}`}, at the configured rate. Nothing was made due.</p>
${listing('What would be read', rows, { resource: ([resource]) => resource, records: ([, records]) => records })}<form action="/resync" method="post">${wanted.resources.map((name) => hidden('resources', name))}${wanted.product_ids.map((id) => hidden('product', id))}${hidden('token', token)}<button>Start</button> <a href="/">leave it</a></form></section>
`;
}

/**
 * Tokens of forms. A token shows that our own page was displayed a short while ago with exactly this request. Pages of
 * other origins cannot read it.
 */
export interface FormTokens {
  /** Returns a token for a request, written as text. */
  issue(request: string): string;
  /** Returns the reason why a request is refused, in one line; null: it is accepted. */
  refusalOf(token: unknown, request: string): string | null;
}

export const formValidMs = 15 * 60_000;

/** Creates the tokens. `key` lives as long as the daemon, so after a restart every form is too old. */
export function formTokens(key: Uint8Array, now: () => number): FormTokens {
  const signed = (at: number, request: string) =>
    createHmac('sha256', key).update(`${at} ${request}`).digest('base64url');
  return {
    issue: (request) => {
      const at = now();
      return `${at}.${signed(at, request)}`;
    },
    refusalOf: (token, request) => {
      const [, at = '', given = ''] = /^(\d{1,15})\.([\w-]{43})$/.exec(typeof token === 'string' ? token : '') ?? [];
      if (given === '') return 'The form token is missing: look at the price, then start.';
      const good = timingSafeEqual(Buffer.from(given), Buffer.from(signed(Number(at), request)));
      const age = now() - Number(at);
      return good && age >= 0 && age <= formValidMs
        ? null
        : 'This form was too old, or was changed. Look at the price again, then start.';
    },
  };
}
