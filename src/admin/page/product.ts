import type { FastifyInstance, FastifyReply } from 'fastify';
import { imageLimitMs } from '../../domain/catalogue/image.ts';
import { moneyText } from '../../domain/values/money.ts';
import { ago, counted, duration, number, short } from '../../format.ts';
import type { ShownDay, ShownImage } from '../../mirror/catalogue/product-reads.ts';
import type { FeedChange } from '../../mirror/changes/changes.ts';
import type { ExplainedRecord, Explanation } from '../../sync/reports/explain.ts';
import { claimTexts } from '../../sync/reports/explain-claims.ts';
import {
  closureCells,
  closureHeadings,
  explainedFacts,
  leftOutMembers,
  partOf,
  recordCells,
  recordHeadings,
  titleOf,
  unansweredDates,
} from '../../sync/reports/explain-text.ts';
import type { Answer } from '../api.ts';
import { framed } from './document.ts';
import { sendPage } from './frame.ts';
import { type Html, html } from './html.ts';
import { changesOfProduct } from './recent.ts';
import { type TableColumn, tableOf } from './tables.ts';

/** The result of a search. */
type Found = NonNullable<Answer<'POST /v1/search'>>;

/** The data about a product for people: the facts of `explain`, and the data shown to storefronts. */
export interface ProductView {
  readonly explanation: Explanation;
  readonly days: readonly ShownDay[];
  readonly images: readonly ShownImage[];
  /** Newest first. */
  readonly changes: readonly FeedChange[];
}

export interface ProductPageOptions {
  /** Returns null for a product that is not mirrored. */
  product(product_id: number): ProductView | null;
  /** Finds visible products by words. */
  find(text: string, limit: number): Promise<Found>;
  now(): number;
}

/**
 * Adds `GET /product?id=`: shows people one product and the reasons for its state. `?q=` finds products by words or an
 * id; one that is found alone is shown at once. Without either shows the form.
 */
export function productRoute(app: FastifyInstance, { product, find, now }: ProductPageOptions): void {
  app.get<{ Querystring: { id?: unknown; q?: unknown } }>('/product', async ({ query: { id, q } }, reply) => {
    if (id === undefined) return await searched(reply, typeof q === 'string' ? q.trim() : '');
    const product_id = typeof id === 'string' && /^[1-9]\d{0,14}$/.test(id.trim()) ? Number(id) : null;
    if (product_id === null) return sendPage(reply, questionPage('A product id is a whole number above 0', now()), 400);
    const view = product(product_id);
    if (view === null) return sendPage(reply, questionPage(`Product ${product_id} is not in the mirror`, now()), 404);
    return sendPage(reply, renderProduct(view, now()));
  });

  async function searched(reply: FastifyReply, words: string): Promise<FastifyReply> {
    if (words === '') return sendPage(reply, questionPage('Find a product', now()));
    if (/^[1-9]\d{0,14}$/.test(words) && product(Number(words)) !== null) return shown(reply, Number(words));
    const found = await find(short(words, longestWords), hitsAtMost);
    const [only] = found.hits;
    if (only !== undefined && found.hits.length === 1) return shown(reply, only.product_id);
    return sendPage(reply, foundPage(words, found, now()), only === undefined ? 404 : 200);
  }
}

/** The most characters that are searched for, and the most products that are listed. */
const longestWords = 200;
const hitsAtMost = 25;

/** Leads to the view of a product. */
function shown(reply: FastifyReply, product_id: number): FastifyReply {
  return reply.header('cache-control', 'no-store').redirect(`/product?id=${product_id}`, 303);
}

/** Shows a form that finds a product. Not for a page that refreshes itself, which would clear the input. */
export function searchForm(words = '', focused = false): Html {
  return html`<form class="find" action="/product" method="get" role="search"><label for="q">Find a product</label> <input type="search" id="q" name="q" value="${words}" placeholder="words or its id" required maxlength="200" autocomplete="off"${focused ? html` autofocus` : null}> <button>Find</button></form>`;
}

/** Renders the products that were found. */
function foundPage(words: string, { hits, total }: Found, now: number): string {
  if (hits.length === 0) return questionPage(`No product matches “${short(words, 60)}”`, now, words);
  const listed =
    total > hits.length ? `The first ${number(hits.length)} of ${number(total)}` : counted(total, 'product');
  const main = html`<section class="wide"><h1>Products that match “${short(words, 60)}”</h1>
${searchForm(words)}
${tableOf<Found['hits'][number]>(
  `${listed}, the best match first`,
  [
    {
      heading: 'product',
      cell: ({ product_id, title }) =>
        html`<a href="/product?id=${product_id}">${short(title ?? String(product_id))}</a>`,
    },
    { heading: 'id', kind: 'number', cell: ({ product_id }) => String(product_id) },
    { heading: 'city', cell: ({ city_name }) => short(city_name ?? '-') },
    {
      heading: 'adult price from',
      kind: 'number',
      cell: priceText,
    },
    {
      heading: 'on sale',
      cell: ({ sellable }) =>
        sellable === 1 ? html`<span class="yes">✓ yes</span>` : html`<span class="no">✗ no</span>`,
    },
    {
      heading: 'read',
      kind: 'number',
      cell: ({ checked_at, stale }) =>
        html`${ago(checked_at, now)}${stale === 1 ? html` <span class="some">stale</span>` : null}`,
    },
  ],
  hits,
)}</section>
`;
  return framed({ title: words, about: html`search`, now, main, footer: html`<a href="/">the mirror as a whole</a>` });
}

/** Renders a page with a message and the form. */
function questionPage(says: string, now: number, words = ''): string {
  const main = html`<section class="wide"><h1>${says}</h1>
${searchForm(words, true)}</section>
`;
  return framed({ title: says, about: html`product`, now, main, footer: html`<a href="/">the mirror as a whole</a>` });
}

/** Renders the view of a product. */
export function renderProduct({ explanation, days, images, changes }: ProductView, now: number): string {
  const { product_id } = explanation;
  return framed({
    title: `${product_id} ${titleOf(explanation.title)}`,
    about: html`product ${product_id}`,
    now,
    main: html`${factsPart(explanation, now)}${claimsPart(explanation, now)}${refusedPart(explanation, now)}${datesPart(days, now)}${recordsPart(explanation, now)}${closuresPart(explanation, now)}${changesOfProduct(changes, now)}${imagesPart(images, now)}`,
    footer: html`<a href="/">the mirror as a whole</a> · <a href="/v1/explain/${product_id}">as JSON</a> · <a href="/resync?product=${product_id}">resync</a> · ${searchForm()}`,
  });
}

function factsPart(found: Explanation, now: number): Html {
  return html`<section class="wide"><h1>${titleOf(found.title)}</h1>
<dl class="facts">
${explainedFacts(found, now).map(([heading, says]) => html`<dt>${heading}</dt><dd>${says}</dd>\n`)}</dl></section>
`;
}

/** Shows the latest answers that remove data, and the state of each claim. */
function claimsPart({ claims }: Explanation, now: number): Html | null {
  if (claims.length === 0) return null;
  return html`<section class="wide"><h2>Answers that take something away</h2>
<ul>${claimTexts(claims, now).map((each) => html`<li>${each}</li>`)}</ul></section>
`;
}

/** Shows the latest answers that were refused or failed, each with its part of the product. */
function refusedPart(found: Explanation, now: number): Html {
  const failing = found.records.filter(({ failure }) => failure !== null);
  const unanswered = unansweredDates(found, now);
  return html`<section class="wide"><h2>Answers that could not be used</h2>
${
  failing.length === 0
    ? html`<p class="none">None: the last answer of each part was good.</p>`
    : tableOf<ExplainedRecord>(
        'The last of each part; what was mirrored before is kept',
        [
          { heading: 'part', cell: (record) => `${partOf(record)} (${record.edition})` },
          {
            heading: 'when',
            kind: 'number',
            cell: ({ failed_at }) => (failed_at === null ? '-' : ago(failed_at, now)),
          },
          { heading: 'in a row', kind: 'number', cell: ({ failures }) => number(failures) },
          { heading: 'why', cell: ({ failure }) => html`<code>${short(failure ?? '', 400)}</code>` },
        ],
        failing,
      )
}${unanswered.length === 0 ? null : html`<ul>${unanswered.map((each) => html`<li>${each}</li>`)}</ul>`}</section>
`;
}

function datesPart(days: readonly ShownDay[], now: number): Html {
  const states: Readonly<Record<string, string>> = { available: 'yes', sold_out: 'some', not_on_sale: 'no' };
  return html`<section class="wide"><h2>Next dates</h2>
${
  days.length === 0
    ? html`<p class="none">None is known.</p>`
    : tableOf<ShownDay>(
        'As storefronts see them',
        [
          { heading: 'date', cell: ({ date }) => date },
          { heading: 'state', cell: ({ state }) => html`<span class="${states[state] ?? 'none'}">${state}</span>` },
          {
            heading: 'adult price',
            kind: 'number',
            cell: ({ lowest_adult_price, ...day }) => priceText({ ...day, price: lowest_adult_price }),
          },
          {
            heading: 'read',
            kind: 'number',
            cell: ({ checked_at, stale }) =>
              html`${ago(checked_at, now)}${stale === 1 ? html` <span class="some">stale</span>` : null}`,
          },
        ],
        days,
      )
}</section>
`;
}

/** Prints the price that shops print, with the type of its tickets where no adult can buy them. */
function priceText(of: { price: number | null; price_variant_type: string | null; currency: string }): string {
  const { price, price_variant_type: type, currency } = of;
  if (price === null) return '-';
  return `${moneyText(price, currency)}${type === 'adult' || type === null ? '' : ` (${short(type, 40)})`}`;
}

function recordsPart(found: Explanation, now: number): Html {
  const rows = found.records.map((record) => recordCells(record, now));
  const leftOut = leftOutMembers(found, now);
  return html`<section class="wide"><h2>Reads</h2>
${tableOf('When and why each part was read, and will be', columnsOf(recordHeadings), rows)}${leftOut.length === 0 ? null : html`<ul>${leftOut.map((each) => html`<li>${each}</li>`)}</ul>`}</section>
`;
}

function closuresPart({ closures }: Explanation, now: number): Html | null {
  if (closures.length === 0) return null;
  const rows = closures.map((closure) => closureCells(closure, now));
  return html`<section class="wide"><h2>Announced closures</h2>
${tableOf('The newest first, and what reads found', columnsOf(closureHeadings), rows)}</section>
`;
}

function columnsOf(headings: readonly string[]): TableColumn<readonly string[]>[] {
  return headings.map((heading, index) => ({ heading, cell: (cells) => cells[index] ?? null }));
}

function imagesPart(images: readonly ShownImage[], now: number): Html {
  return html`<section class="wide"><h2>Images</h2>
${
  images.length === 0
    ? html`<p class="none">None is shown.</p>`
    : tableOf<ShownImage>(
        'As storefronts see them',
        [
          { heading: 'position', cell: ({ position }) => String(position) },
          { heading: 'credit', cell: ({ credit }) => credit ?? html`<span class="none">none</span>` },
          { heading: 'alternative text', cell: ({ alt_text }) => alt_text ?? html`<span class="none">none</span>` },
          {
            heading: 'hidden',
            kind: 'number',
            cell: ({ verified_at }) => `in ${duration(verified_at + imageLimitMs - now)}`,
          },
        ],
        images,
      )
}</section>
`;
}
