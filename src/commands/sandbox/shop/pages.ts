import { type Html, html } from '../../../admin/page/html.ts';
import type {
  CheckAnswer,
  CheckQuestion,
  City,
  Day,
  Found,
  Image,
  Product,
  SearchHit,
  Slot,
} from '../../../storefront/reader.ts';

/** A page of the shop: `main` is its content below the header with the search box. */
export interface ShopPage {
  readonly status: number;
  readonly title: string;
  readonly main: Html;
  /** The product that the page is about, and the chosen date. */
  readonly subject: { readonly product_id: number; readonly date: string | null } | null;
}

/** Prints minor units of a currency. */
type Printed = (amount: number, currency: string) => string;

/** A hit of a search, with the image that its card shows. */
export type CardHit = SearchHit & { readonly image: Image | null };

/** The content of a product page. */
export interface ProductShown {
  readonly product: Product;
  readonly images: readonly Image[];
  readonly alternatives: readonly Product[];
  readonly must_know: string | null;
  /** The view `policies`: what a storefront does with a resource in a state. */
  readonly actions: ReadonlyMap<string, string>;
  readonly money: Printed;
  /** YYYY-MM */
  readonly month: string;
  readonly today: string;
  readonly days: readonly Day[];
  /** The chosen date, its times, and the tickets of the chosen time. */
  readonly date: string | null;
  readonly times: readonly string[];
  readonly time: string | null;
  readonly slots: readonly Slot[];
  readonly labels: ReadonlyMap<number, string>;
}

/** A question about tickets of one kind, at the price that was shown. */
export interface WantedTickets extends CheckQuestion {
  readonly time: string;
  readonly variants: readonly [{ readonly variant_id: number; readonly count: number }];
  readonly expect_price: { readonly amount: number; readonly currency: string };
}

export interface CheckShown {
  readonly question: WantedTickets;
  readonly answer: CheckAnswer;
  readonly title: string;
  readonly label: string;
  readonly money: Printed;
  /** The id of the order that the page offers; null: it was ordered just now. */
  readonly order_id: string | null;
}

export function homePage(money: Printed, offered: Offers): ShopPage {
  return page('Tickets', html`<h1>Tickets for museums, towers and tours</h1>\n${offers(money, offered)}`);
}

/** Cities, and what sells best. */
export interface Offers {
  readonly cities: readonly City[];
  readonly hits: readonly CardHit[];
}

function offers(money: Printed, { cities, hits }: Offers): Html {
  const links = cities.map(
    ({ city_id, name, sellable_products }) =>
      html`<a href="/search?city=${city_id}">${name ?? 'Elsewhere'} <small>${sellable_products}</small></a>`,
  );
  return html`<nav class="cities">${links}</nav>
<h2>Popular now</h2>${cards(money, hits)}`;
}

/** The result of a search: `instead` is offered where nothing was found. */
export interface FoundShown extends Found {
  readonly text: string;
  readonly city: string | null;
  readonly hits: readonly CardHit[];
  readonly instead: Offers | null;
}

export function searchPage(money: Printed, { text, city, hits, total, meant, dropped, instead }: FoundShown): ShopPage {
  const about = [text === '' ? null : `“${text}”`, city === null ? null : `in ${city}`].filter((each) => each !== null);
  const notes = [
    ...(meant === null ? [] : [html`<p class="soft">Results for <b>${meant}</b></p>`]),
    ...(dropped.length === 0 || total === 0 ? [] : [html`<p class="soft">Without: ${dropped.join(', ')}</p>`]),
  ];
  return page(
    `Search ${about.join(' ')}`,
    html`<h1>${total === 0 ? 'Nothing found' : `${total} ${total === 1 ? 'ticket' : 'tickets'}`} ${about.join(' ')}</h1>
${notes}${instead === null ? cards(money, hits) : offers(money, instead)}`,
  );
}

function cards(money: Printed, hits: readonly CardHit[]): Html {
  const card = (hit: CardHit) => html`<li><a href="/product/${hit.product_id}">${hit.title}</a>
${hit.image === null ? html`<div class="no-image"></div>` : figure(hit.image, hit.image.medium_url)}
<p><span class="soft">${hit.city_name}</span> <b>${hit.sellable === 0 ? 'closed now' : hit.price === null ? 'see dates' : `from ${money(hit.price, hit.currency)}`}</b></p></li>`;
  return html`<ul class="cards">${hits.map(card)}</ul>`;
}

/** An image never stands without its credit, and no longer than the view `images` has it. */
function figure({ alt_text, credit }: Image, url: string | null): Html {
  return html`<figure><img src="${url}" alt="${alt_text}" loading="lazy">${credit === null ? null : html`<figcaption>${credit}</figcaption>`}</figure>`;
}

export function productPage(shown: ProductShown): ShopPage {
  const { product, images, must_know, date } = shown;
  const rating =
    product.rating === null ? null : html`★ ${product.rating.toFixed(1)} <small>(${product.rating_count})</small>`;
  const main = html`<p class="soft"><a href="/search?city=${product.city_id}">${product.city_name}</a>, ${product.country_name} ${rating}</p>
<h1>${product.title}</h1>
<p>${product.tagline}</p>
${images.length === 0 ? null : html`<div class="gallery">${images.map((image) => figure(image, image.large_url))}</div>`}
${product.sellable === 1 ? null : closed(shown)}
${calendar(shown)}
${must_know === null ? null : html`<p><b>Must know:</b> ${must_know}</p>`}
${date === null ? null : tickets(shown, date)}
${lines('Included', product.whats_included)}${lines('Not included', product.whats_excluded)}`;
  return { status: 200, title: product.title ?? 'Product', main, subject: { product_id: product.product_id, date } };
}

/** The service sends a line each, which an asterisk begins. */
function lines(heading: string, text: string | null): Html | null {
  const each = (text ?? '')
    .split(/\r?\n/)
    .map((line) => line.replace(/^\s*\*\s*/, '').trim())
    .filter(Boolean);
  return each.length === 0 ? null : html`<h2>${heading}</h2><ul>${each.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function closed({ product, alternatives }: ProductShown): Html {
  const back = product.expected_reopening === null ? '' : `, expected back ${spoken(product.expected_reopening)}`;
  const instead = alternatives.map(
    ({ product_id, title }) => html` Instead: <a href="/product/${product_id}">${title}</a>.`,
  );
  return html`<p class="notice">Not on sale now (${spoken(product.disabled_reason ?? 'the service gives no reason')}${back}).${instead}</p>`;
}

function calendar(shown: ProductShown): Html {
  const { product, month, days, today } = shown;
  const [first] = days;
  const before = first === undefined ? 0 : (new Date(first.date).getUTCDay() + 6) % 7;
  const name = new Date(`${month}-01`).toLocaleString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  const link = (months: number, text: string) => {
    const to = new Date(`${month}-01`);
    to.setUTCMonth(to.getUTCMonth() + months);
    return html`<a href="/product/${product.product_id}?month=${to.toISOString().slice(0, 7)}" aria-label="${text === '‹' ? 'the month before' : 'the next month'}">${text}</a>`;
  };
  return html`<h2 class="month">${link(-1, '‹')} ${name} ${link(1, '›')}</h2>
<div class="calendar">${['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su'].map((each) => html`<i>${each}</i>`)}${Array.from({ length: before }, () => html`<span></span>`)}${days.map((day) => dayCell(shown, day, day.date < today))}</div>
<p class="legend soft"><span class="available">on sale</span> <span class="check">to be checked</span> <span class="sold_out">sold out</span> <span class="not_on_sale">closed</span> <span class="unknown">not known</span></p>`;
}

function dayCell(shown: ProductShown, day: Day, isPast: boolean): Html {
  const { product, date } = shown;
  const number = html`<b>${Number(day.date.slice(8))}</b>`;
  if (isPast) return html`<span class="past">${number}</span>`;
  const [kind, words] = dayWords(shown, day);
  const chosen = day.date === date ? ' chosen' : '';
  return kind === 'available' || kind === 'check'
    ? html`<a class="${kind}${chosen}" data-date="${day.date}" href="/product/${product.product_id}?date=${day.date}#tickets">${number}${words}</a>`
    : html`<span class="${kind}${chosen}" data-date="${day.date}">${number}${words}</span>`;
}

/** The view `policies` decides: a date that is too old to be believed is not known, and a stale price is a "from". */
function dayWords({ actions, money }: ProductShown, day: Day): readonly [kind: string, words: string] {
  const state = day.freshness ?? 'unknown';
  const action = actions.get(`availability ${state}`);
  if (day.state === 'unknown' || (action === 'hide' && day.state !== 'not_on_sale')) return ['unknown', 'not known'];
  if (day.state !== 'available') return [day.state, day.state === 'sold_out' ? 'sold out' : 'closed'];
  const pricing = actions.get(`day_prices ${state}`);
  const price =
    day.lowest_adult_price === null || pricing === 'hide' ? '' : money(day.lowest_adult_price, day.currency);
  return [action === 'show' ? 'available' : 'check', pricing === 'show_as_from' ? `from ${price}` : price];
}

function tickets({ product, times, time, slots, labels, money }: ProductShown, date: string): Html {
  const { product_id } = product;
  const heading = html`<h2 id="tickets">${spokenDate(date)}</h2>`;
  if (slots.length === 0) return html`${heading}<p class="notice">No tickets are left on this date.</p>`;
  const chips = times.map(
    (each) =>
      html`<a class="${each === time ? 'chosen' : ''}" href="/product/${product_id}?date=${date}&amp;time=${each}#tickets">${spokenTime(each)}</a>`,
  );
  const rows = slots.map((slot) => {
    const most = Math.min(slot.availability ?? 9, slot.max_tickets ?? 9, 9);
    const fields = {
      product: product_id,
      date,
      time: slot.time,
      variant: slot.variant_id,
      price: slot.retail_price ?? 0,
      currency: slot.currency,
    };
    return html`<li><span>${labels.get(slot.variant_id) ?? 'Ticket'}</span> <b>${money(slot.retail_price ?? 0, slot.currency)}</b>
<form method="post" action="/check">${hidden(fields)}<select name="count" aria-label="number of tickets">${Array.from({ length: most }, (_, index) => html`<option>${index + 1}</option>`)}</select><button>Check</button></form></li>`;
  });
  return html`${heading}<nav class="times">${chips}</nav><ul class="tickets">${rows}</ul>`;
}

/** The result of a check, and of an order: each verdict has its own words, and `unknown` never leads to an order. */
export function verdictPage({ question, answer, title, label, money, order_id }: CheckShown): ShopPage {
  const { product_id, date, time, variants, expect_price } = question;
  const [{ variant_id, count }] = variants;
  const price = answer.verdict === 'changed' ? (answer.now?.price ?? null) : expect_price;
  const wanted = html`<dl><dt>Ticket</dt><dd>${count} × ${label}</dd><dt>When</dt><dd>${spokenDate(date)}, ${spokenTime(time)}</dd>
<dt>Price</dt><dd>${price === null ? 'not known' : money(price.amount, price.currency)}</dd></dl>`;
  const back = html`<p><a href="/product/${product_id}?date=${date}#tickets">Back to the dates</a></p>`;
  const fields = (amount: number) => ({
    product: product_id,
    date,
    time,
    variant: variant_id,
    count,
    price: amount / count,
    currency: expect_price.currency,
  });
  const form = (action: string, button: string, amount = expect_price.amount) =>
    html`<form method="post" action="${action}">${hidden(fields(amount))}${hidden({ order: order_id ?? '' })}<button>${button}</button></form>`;
  const orderable = answer.now?.sellable === true && price !== null;
  const [kind, heading, action] = ordered(
    answer,
    order_id,
    () => (orderable ? form('/order', 'Order', price.amount) : null),
    () => form('/check', 'Ask again'),
  );
  const reasons =
    answer.reasons.length === 0 ? null : html`<p class="soft">${answer.reasons.map(spoken).join(', ')}</p>`;
  const alternatives = answer.alternatives
    .slice(0, 5)
    .map(
      (each) =>
        html`<li><a href="/product/${each.product_id}?date=${each.date}#tickets">${spokenDate(each.date)}${each.time === null ? '' : `, ${spokenTime(each.time)}`}</a></li>`,
    );
  const main = html`<h1>${title}</h1><section class="verdict ${kind}"><h2>${heading}</h2>${wanted}${reasons}${action}</section>
${alternatives.length === 0 ? null : html`<h2>Instead</h2><ul>${alternatives}</ul>`}${back}`;
  return { status: 200, title: heading, main, subject: { product_id, date } };
}

function ordered(
  { verdict }: CheckAnswer,
  order_id: string | null,
  offer: () => Html | null,
  again: () => Html,
): readonly [kind: string, heading: string, action: Html | null] {
  if (order_id === null) return ['holds', 'Ordered. Enjoy your visit!', null];
  switch (verdict) {
    case 'holds':
      return ['holds', 'Still on sale at this price', offer()];
    case 'changed':
      return ['changed', 'The offer has changed', offer()];
    case 'gone':
      return ['gone', 'No longer on sale', null];
    case 'unknown':
      return ['unknown', 'Nobody can tell at the moment, so nothing is ordered', again()];
  }
}

/** A page for a request that has no answer. */
export function stopPage(status: number, text: string): ShopPage {
  return { ...page('Tickets', html`<h1>${text}</h1><p><a href="/">To the start</a></p>`), status };
}

function page(title: string, main: Html): ShopPage {
  return { status: 200, title, main, subject: null };
}

function hidden(fields: Readonly<Record<string, string | number>>): Html[] {
  return Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
}

function spoken(word: string): string {
  return word
    .replace('within_month', 'within a month')
    .replace('more_than_month', 'in more than a month')
    .replaceAll(/[_-]/g, ' ');
}

function spokenTime(time: string): string {
  return time === 'whole_day' ? 'any time' : time;
}

function spokenDate(date: string): string {
  return new Date(date).toLocaleDateString('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    timeZone: 'UTC',
  });
}
