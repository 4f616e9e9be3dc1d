import type { FastifyInstance, FastifyReply } from 'fastify';
import { imageLimitMs } from '../../catalogue/image.rules.ts';
import type { ShownDay, ShownImage } from '../../catalogue/product-reads.store.ts';
import type { FeedChange } from '../../feed/changes.store.ts';
import { listing, marked, type Words } from '../../kernel/document-section.ts';
import { ago, counted, duration, number, short } from '../../kernel/format.ts';
import { moneyText } from '../../kernel/values/money.ts';
import type { Explanation } from '../../says/explain/explain.ts';
import { explainedFacts, explainedSections, titleOf } from '../../says/explain/explain-text.ts';
import type { Answer } from '../api.ts';
import { framed, sendPage } from './document.ts';

import { type Html, html, listPart, sectionPart } from './html.ts';
import { changesOfProduct } from './recent.ts';

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
${listing(`${listed}, the best match first`, hits, {
  product: ({ product_id, title }) =>
    html`<a href="/product?id=${product_id}">${short(title ?? String(product_id))}</a>`,
  id: ({ product_id }) => String(product_id),
  city: ({ city_name }) => short(city_name ?? '-'),
  'adult price from': priceText,
  'on sale': ({ sellable }) => (sellable === 1 ? marked('yes', '✓ yes') : marked('no', '✗ no')),
  read: (hit) => readText(hit, now),
})}</section>
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
  const { claims, refused, reads, closures } = explainedSections(explanation, now);
  return framed({
    title: `${product_id} ${titleOf(explanation.title)}`,
    about: html`product ${product_id}`,
    now,
    main: html`${factsPart(explanation, now)}${sectionPart(claims, 'wide')}${sectionPart(refused, 'wide')}${datesPart(days, now)}${sectionPart(reads, 'wide')}${sectionPart(closures, 'wide')}${changesOfProduct(changes, now)}${imagesPart(images, now)}`,
    footer: html`<a href="/">the mirror as a whole</a> · <a href="/v1/explain/${product_id}">as JSON</a> · <a href="/resync?product=${product_id}">resync</a> · ${searchForm()}`,
  });
}

function factsPart(found: Explanation, now: number): Html {
  return html`<section class="wide"><h1>${titleOf(found.title)}</h1>
<dl class="facts">
${explainedFacts(found, now).map(([heading, says]) => html`<dt>${heading}</dt><dd>${says}</dd>\n`)}</dl></section>
`;
}

function datesPart(days: readonly ShownDay[], now: number): Html | null {
  const states: Readonly<Record<string, 'yes' | 'some' | 'no'>> = {
    available: 'yes',
    sold_out: 'some',
    not_on_sale: 'no',
  };
  const table = listing('As storefronts see them', days, {
    date: ({ date }) => date,
    state: ({ state }) => marked(states[state] ?? 'none', state),
    'adult price': ({ lowest_adult_price, ...day }) => priceText({ ...day, price: lowest_adult_price }),
    read: (day) => readText(day, now),
  });
  return listPart('Next dates', days.length === 0 ? 'None is known' : table);
}

/** Returns when something was read, and whether that is too long ago. */
function readText({ checked_at, stale }: { readonly checked_at: number; readonly stale: 0 | 1 }, now: number): Words {
  return stale === 1 ? [`${ago(checked_at, now)} `, marked('some', 'stale')] : ago(checked_at, now);
}

/** Prints the price that shops print, with the type of its tickets where no adult can buy them. */
function priceText(of: { price: number | null; price_variant_type: string | null; currency: string }): string {
  const { price, price_variant_type: type, currency } = of;
  if (price === null) return '-';
  return `${moneyText(price, currency)}${type === 'adult' || type === null ? '' : ` (${short(type, 40)})`}`;
}

function imagesPart(images: readonly ShownImage[], now: number): Html | null {
  const none = marked('none', 'none');
  const table = listing('As storefronts see them', images, {
    position: ({ position }) => position,
    credit: ({ credit }) => credit ?? none,
    'alternative text': ({ alt_text }) => alt_text ?? none,
    hidden: ({ verified_at }) => `in ${duration(verified_at + imageLimitMs - now)}`,
  });
  return listPart('Images', images.length === 0 ? 'None is shown' : table);
}
