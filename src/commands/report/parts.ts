import { fewestSearches } from '../../domain/search/fruitless.ts';
import { moneyText } from '../../domain/values/money.ts';
import type { TitledMove, WeekReport } from '../../domain/week/report.ts';
import type { ProductEvent } from '../../domain/week/turnover.ts';
import type { Week } from '../../domain/week/week.ts';
import { number } from '../../format.ts';
import { cannotTell, outdatedText } from '../../status/outdated-share.ts';
import { imagesDue } from './figures.ts';

/* What a report says, in the words that text and HTML have in common. */

/** A table of text; its first column names the row. */
export interface ReportTable {
  readonly caption: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface ReportPart {
  readonly title: string;
  /** Whole sentences. */
  readonly says: readonly string[];
  readonly tables: readonly ReportTable[];
}

/** Number of rows in the text; the others are in the JSON only. */
const listedAtMost = 20;

/** Returns the days of a week in words: `2026-11-09 to 2026-11-15, UTC`. */
export function daysText({ from, to }: Week): string {
  return `${dayOf(from)} to ${dayOf(to - 1)}, UTC`;
}

/** Returns why the report does not cover the whole week; null if it does. */
export function unknownText({ filled_at, known_since }: WeekReport): string | null {
  if (filled_at === null) return 'The mirror is not filled yet: what was new or changed is not known.';
  if (known_since === null) return null;
  return known_since === filled_at
    ? `The mirror was first filled on ${minuteOf(filled_at)}: what changed before is not known, and what it found is not new.`
    : `Changes are kept since ${minuteOf(known_since)}: what happened before in this week is not known.`;
}

export function partsOf(report: WeekReport): ReportPart[] {
  return [
    productsPart(report),
    pricesPart(report),
    imagesPart(report),
    subscriptionPart(report),
    truthPart(report),
    checkoutPart(report),
    searchesPart(report),
  ];
}

function productsPart({ products }: WeekReport): ReportPart {
  const { added, returned, withdrawn, closed, reopened } = products;
  const listed = (caption: string, events: readonly ProductEvent[]) =>
    tableOf(caption, ['product', 'title', 'when'], events, (event) => [...named(event), minuteOf(event.at)]);
  const said = (word: string | null) => word?.replaceAll('_', ' ') ?? 'not said';
  return {
    title: 'Products',
    says: [added, returned, withdrawn, closed, reopened].every(isEmpty)
      ? ['Nothing came, went, closed or opened.']
      : [],
    tables: [
      ...listed('New', added),
      ...listed('Back after having been withdrawn', returned),
      ...tableOf('Withdrawn', ['product', 'title', 'when', 'why'], withdrawn, (event) => [
        ...named(event),
        minuteOf(event.at),
        said(event.reason),
      ]),
      ...tableOf('Closed', ['product', 'title', 'when', 'why', 'opens'], closed, (event) => [
        ...named(event),
        minuteOf(event.at),
        said(event.reason),
        said(event.expected_reopening),
      ]),
      ...listed('On sale again', reopened),
    ],
  };
}

function pricesPart({ prices, currency }: WeekReport): ReportPart {
  const { products, dates } = prices;
  const money = (amount: number) => moneyText(amount, currency ?? '');
  const by = (move: TitledMove) => [money(move.old), money(move.new), percent(move)];
  const headings = ['was', 'is', 'by'];
  return {
    title: 'Prices',
    says: [
      `Prices of products: ${number(products.moved)} moved, ${number(products.up)} up and ${number(products.down)} down.`,
      `Lowest prices of dates: ${number(dates.moved)} moved, ${number(dates.up)} up and ${number(dates.down)} down, of ${number(dates.products)} products.`,
    ],
    tables: [
      ...tableOf('The biggest moves of products', ['product', 'title', ...headings], products.biggest, (move) => [
        ...named(move),
        ...by(move),
      ]),
      ...tableOf(
        'The biggest of dates, one a product',
        ['product', 'title', 'date', ...headings],
        dates.biggest,
        (move) => [...named(move), move.date ?? '', ...by(move)],
      ),
    ],
  };
}

function imagesPart(report: WeekReport): ReportPart {
  const { must_go, went, credit_changes } = report.images;
  return {
    title: 'Images and their licences',
    says: [
      went.length === 0
        ? 'No image was taken down.'
        : `Taken down: ${number(went.length)}. Remove them from wherever else you have copied them.`,
      ...(must_go.length === 0
        ? []
        : [
            `To go soon: ${number(imagesDue(report))} of ${number(must_go.length)} products were not confirmed for 12 days, and are hidden after 14.`,
          ]),
    ],
    tables: [
      ...tableOf('Taken down', ['product', 'title', 'image', 'credit', 'when', 'because'], went, (image) => [
        ...named(image),
        image.image_key,
        image.credit ?? 'none',
        minuteOf(image.withdrawn_at),
        image.cause === 'image' ? 'a read without it' : 'product withdrawn',
      ]),
      ...tableOf('Hidden unless they are confirmed', ['product', 'title', 'images', 'hidden from'], must_go, (late) => [
        ...named(late),
        number(late.images),
        minuteOf(late.hidden_from),
      ]),
      ...tableOf('Other credits', ['product', 'title', 'image', 'was', 'is'], credit_changes, (change) => [
        ...named(change),
        change.image_key,
        change.old ?? 'none',
        change.new ?? 'none',
      ]),
    ],
  };
}

function subscriptionPart({ sold_without_subscription: { covers_sales, products } }: WeekReport): ReportPart {
  const covered = 'The subscription to what you sell may cover them: only the service knows.';
  return {
    title: 'Sold without a subscription',
    says:
      products.length === 0
        ? ['None: every product that was sold is covered, or none was sold.']
        : [
            `Products sold that no working subscription covers: ${number(products.length)}. Their changes are found only by reading.`,
            ...(covers_sales === 1 ? [covered] : []),
          ],
    tables: tableOf('Those that sold most', ['product', 'title', 'tickets', 'orders judged'], products, (sale) => [
      ...named(sale),
      number(sale.tickets),
      number(sale.orders),
    ]),
  };
}

function truthPart({ truth }: WeekReport): ReportPart {
  const title = 'Outdated data shown';
  const text = truth === null ? null : outdatedText(truth);
  const says =
    truth === null
      ? 'Not known: random reads are kept for seven days.'
      : text === null
        ? `We ${cannotTell(truth)}.`
        : `${text} of what shoppers see is outdated, by ${number(truth.audited)} random reads of the last seven days.`;
  return { title, says: [says], tables: [] };
}

function checkoutPart({ checkout }: WeekReport): ReportPart {
  const { checks, wrong, orders, orders_wrong, rate, unknown, unanswered, worst } = checkout;
  const apart = `Not counted: ${number(unknown)} about dates that the mirror did not have, ${number(unanswered)} that the service did not answer.`;
  return {
    title: 'Wrong at checkout',
    says: [
      ...(rate === null
        ? ['No check and no order has shown whether the mirror was right.']
        : [
            `At most ${number(orders_wrong)} of ${number(orders)} orders were lost because the mirror was wrong; ${number(wrong)} of ${number(checks)} checks found it wrong before an order.`,
            `What was wrong: ${number(checkout.said_available)} times what was shown could not be had, ${number(checkout.said_sold_out)} times what could be had was not shown, ${number(checkout.said_price)} times the price was another.`,
          ]),
      ...(unknown + unanswered === 0 ? [] : [apart]),
    ],
    tables: tableOf(
      'Products that were wrong most often',
      ['product', 'title', 'orders', 'wrong orders', 'checks', 'wrong checks'],
      worst,
      (product) => [
        ...named(product),
        ...[product.orders, product.orders_wrong, product.checks, product.wrong].map(number),
      ],
    ),
  };
}

function searchesPart({ fruitless_searches: found }: WeekReport): ReportPart {
  const title = 'Searches in vain';
  if (found === null)
    return { title, says: ['Not known: the inbox, where they are counted, cannot be read by this user.'], tables: [] };
  return {
    title,
    says: [
      found.length === 0
        ? `None: nothing was searched for ${fewestSearches} times or more that the catalogue does not have.`
        : 'What was searched for and nothing in the catalogue has.',
      `Of searches over POST /v1/search, from ${fewestSearches} on.`,
    ],
    tables: tableOf('The most frequent', ['words', 'searches'], found, ({ words, searches }) => [
      words,
      number(searches),
    ]),
  };
}

/** Returns no table where there is nothing to list. */
function tableOf<Row>(
  caption: string,
  headings: readonly string[],
  rows: readonly Row[],
  cells: (row: Row) => readonly string[],
): ReportTable[] {
  if (rows.length === 0) return [];
  const more = rows.length - listedAtMost;
  const all = more > 0 ? `${caption} (the first ${listedAtMost} of ${number(rows.length)}; --json has all)` : caption;
  return [{ caption: all, headings, rows: rows.slice(0, listedAtMost).map(cells) }];
}

function named({ product_id, title }: { readonly product_id: number; readonly title: string | null }) {
  return [String(product_id), title ?? 'without a title'] as const;
}

function percent({ old, new: now }: TitledMove): string {
  if (old === 0) return 'from free';
  const by = Math.round((100 * (now - old)) / old);
  return `${by > 0 ? '+' : ''}${number(by)} %`;
}

function isEmpty(list: readonly unknown[]): boolean {
  return list.length === 0;
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function minuteOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}
