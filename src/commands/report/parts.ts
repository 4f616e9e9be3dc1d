import type { ReportCounts } from '../../desk/error-rate.rules.ts';
import { type Listing, listing, type Section } from '../../kernel/document-section.ts';
import { counted, dayText, minuteText, number, percent } from '../../kernel/format.ts';
import { moneyText } from '../../kernel/values/money.ts';
import { uncounted } from '../../says/status/sections.ts';
import type { ProductEvent } from '../../says/status/turnover.rules.ts';
import { countsOf, type TitledMove, type WeekCounts, type WeekReport } from '../../says/week/report.rules.ts';
import type { Week } from '../../says/week/week.rules.ts';
import { fewestSearches } from '../../storefront/search/fruitless.rules.ts';
import { cannotTell, outdatedText } from '../../trust/error-estimate.rules.ts';
import { takedownsText } from '../images/report.ts';

/** Number of rows of a table; the others are in the JSON only. */
const listedAtMost = 20;

/** A figure to be seen at a glance. */
export interface Figure {
  readonly name: string;
  readonly value: string;
  /** The same of the week before; null: not known. */
  readonly before: string | null;
  readonly more: string;
}

export function figuresOf(report: WeekReport): Figure[] {
  const { products, prices, checkout, truth, fruitless_searches, week_before } = report;
  const { up, down } = prices.products;
  const counts = countsOf(report);
  const unknown = 'not known';
  const figure = (name: string, of: keyof WeekCounts, more: string): Figure => {
    const before = week_before?.[of] ?? null;
    const count = counts[of];
    return {
      name,
      value: count === null ? unknown : number(count),
      before: before === null ? null : number(before),
      more,
    };
  };
  return [
    figure('New products', 'added', `${number(products.returned.length)} back`),
    figure('Closed', 'closed', `${number(products.reopened.length)} on sale again`),
    figure('Withdrawn', 'withdrawn', 'no longer offered'),
    figure(
      'Prices moved',
      'prices_moved',
      `${number(up)} up, ${number(down)} down; ${number(prices.dates.moved)} of dates`,
    ),
    figure('Images that went', 'images_went', `${number(imagesDue(report))} to go soon`),
    figure('Sold without a subscription', 'sold_without_subscription', 'products'),
    figure('Orders lost', 'orders_lost', `at most, of ${number(checkout.orders)}: ${lostShare(checkout)}`),
    {
      name: 'Outdated data shown',
      value: (truth && outdatedText(truth)) ?? unknown,
      // Random reads are kept for seven days.
      before: null,
      more: 'of what they see, at a random moment',
    },
    figure('Searches in vain', 'searches_in_vain', `${number(fruitless_searches?.length ?? 0)} different words`),
  ];
}

/** Returns how many images are hidden soon. */
function imagesDue({ images }: WeekReport): number {
  return images.must_go.reduce((sum, each) => sum + each.images, 0);
}

function lostShare({ orders, orders_wrong }: ReportCounts): string {
  return orders === 0 ? 'none judged' : percent(orders_wrong / orders);
}

/** Returns the days of a week in words: `2026-11-09 to 2026-11-15, UTC`. */
export function daysText({ from, to }: Week): string {
  return `${dayText(from)} to ${dayText(to - 1)}, UTC`;
}

/** Returns why the report does not cover the whole week; null if it does. */
export function unknownText({ filled_at, known_since }: WeekReport): string | null {
  if (filled_at === null) return 'The mirror is not filled yet: what was new or changed is not known.';
  if (known_since === null) return null;
  return known_since === filled_at
    ? `The mirror was first filled on ${minuteText(filled_at)}: what changed before is not known, and what it found is not new.`
    : `Changes are kept since ${minuteText(known_since)}: what happened before in this week is not known.`;
}

/** Returns the sections of a report, in their order. */
export function partsOf(report: WeekReport): Section[] {
  return [
    products(report),
    prices(report),
    images(report),
    sales(report),
    truth(report),
    checkout(report),
    searches(report),
  ];
}

function products({ products: { added, returned, withdrawn, closed, reopened } }: WeekReport): Section {
  const tables = [
    ...listed('New', added, when),
    ...listed('Back after having been withdrawn', returned, when),
    ...listed('Withdrawn', withdrawn, why),
    ...listed('Closed', closed, { ...why, opens: ({ expected_reopening }) => statedText(expected_reopening) }),
    ...listed('On sale again', reopened, when),
  ];
  return { title: 'Products', says: tables.length === 0 ? ['Nothing came, went, closed or opened.'] : [], tables };
}

function prices({ prices: { products: of, dates }, currency }: WeekReport): Section {
  const money = (amount: number) => moneyText(amount, currency ?? '');
  const move: Columns<TitledMove> = { was: (each) => money(each.old), is: (each) => money(each.new), by: movedBy };
  const byRate = `Moved by the exchange rate alone, and not counted above: ${counted(of.by_rate, 'price')} of products, ${number(dates.by_rate)} of dates.`;
  return {
    title: 'Prices',
    says: [
      `Prices of products: ${number(of.moved)} moved, ${number(of.up)} up and ${number(of.down)} down.`,
      `Lowest prices of dates: ${number(dates.moved)} moved, ${number(dates.up)} up and ${number(dates.down)} down, of ${counted(dates.products, 'product')}.`,
      ...(of.by_rate + dates.by_rate === 0 ? [] : [byRate]),
    ],
    tables: [
      ...listed('The biggest moves of products', of.biggest, { ...named, ...move }),
      ...listed('The biggest of dates, one a product', dates.biggest, {
        ...named,
        date: ({ date }) => date ?? '',
        ...move,
      }),
    ],
  };
}

function images(report: WeekReport): Section {
  const { must_go, went, back, credit_changes } = report.images;
  const soon = `To go soon: ${number(imagesDue(report))} of ${counted(must_go.length, 'product')} not confirmed for 12 days, which are hidden after 14.`;
  return {
    title: 'Images and their licences',
    says: [
      `Taken down: ${takedownsText(went.length + back.length, back.length)}.`,
      ...(went.length === 0
        ? []
        : [`Remove what is not back from wherever else you have copied it: ${number(went.length)}.`]),
      ...(must_go.length === 0 ? [] : [soon]),
    ],
    tables: [
      ...listed('Taken down, and not back', went, {
        ...named,
        image: ({ image_key }) => image_key,
        credit: ({ credit }) => credit ?? 'none',
        when: ({ withdrawn_at }) => minuteText(withdrawn_at),
        because: ({ cause }) => (cause === 'image' ? 'a read without it' : 'product withdrawn'),
      }),
      ...listed('Hidden unless they are confirmed', must_go, {
        ...named,
        images: (each) => each.images,
        'hidden from': ({ hidden_from }) => minuteText(hidden_from),
      }),
      ...listed('Other credits', credit_changes, {
        ...named,
        image: ({ image_key }) => image_key,
        was: (change) => change.old ?? 'none',
        is: (change) => change.new ?? 'none',
      }),
    ],
  };
}

function sales({ sold_without_subscription: { covers_sales, products: bare } }: WeekReport): Section {
  return {
    title: 'Sold without a subscription',
    says: [
      bare.length === 0
        ? 'None: every product that was sold is covered, or none was sold.'
        : `Products sold that no working subscription covers: ${number(bare.length)}. Their changes are found only by reading.`,
      ...(bare.length > 0 && covers_sales === 1
        ? ['The subscription to what you sell may cover them: only the service knows.']
        : []),
    ],
    tables: listed('Those that sold most', bare, {
      ...named,
      tickets: ({ tickets }) => tickets,
      'orders judged': ({ orders }) => orders,
    }),
  };
}

function truth({ truth: of }: WeekReport): Section {
  const text = of && outdatedText(of);
  const reads = of && `by ${counted(of.audited, 'random read')} of the last seven days`;
  const says =
    of === null
      ? 'Not known: random reads are kept for seven days.'
      : text === null
        ? `We ${cannotTell(of)}.`
        : `${text} of what shoppers see is outdated, ${reads}.`;
  return { title: 'Outdated data shown', says: [says] };
}

function checkout({ checkout: of }: WeekReport): Section {
  const { checks, wrong, orders, orders_wrong, said_available, said_sold_out, said_price } = of;
  const says = [
    `Orders lost because the mirror was wrong: at most ${number(orders_wrong)} of ${number(orders)}. Checks that found it wrong before an order: ${number(wrong)} of ${number(checks)}.`,
    `What was wrong: ${number(said_available)} times what was shown could not be had, ${number(said_sold_out)} times what could be had was not shown, ${number(said_price)} times the price was another.`,
  ];
  const none = ['No check and no order has shown whether the mirror was right.'];
  return {
    title: 'Wrong at checkout',
    says: [...(of.rate === null ? none : says), ...uncounted(of).map((each) => `${each}.`)],
    tables: listed('Products that were wrong most often', of.worst, {
      ...named,
      orders: (each) => each.orders,
      'wrong orders': (each) => each.orders_wrong,
      checks: (each) => each.checks,
      'wrong checks': (each) => each.wrong,
    }),
  };
}

function searches({ fruitless_searches: found }: WeekReport): Section {
  const title = 'Searches in vain';
  if (found === null)
    return { title, says: ['Not known: the inbox, where they are counted, cannot be read by this user.'] };
  return {
    title,
    says: [
      found.length === 0
        ? `None: nothing was searched for ${fewestSearches} times or more that the catalogue does not have.`
        : 'What was searched for and nothing in the catalogue has.',
      `Of searches over POST /v1/search, from ${fewestSearches} on.`,
    ],
    tables: listed('The most frequent', found, {
      words: ({ words }) => words,
      searches: (each) => each.searches,
    }),
  };
}

/** Cells of a row, by their headings. */
type Columns<Row> = Readonly<Record<string, (row: Row) => string | number>>;

const named = {
  product: ({ product_id }: { readonly product_id: number }) => String(product_id),
  title: ({ title }: { readonly title: string | null }) => title ?? 'without a title',
};
const when = { ...named, when: ({ at }: ProductEvent) => minuteText(at) };
const why = { ...when, why: ({ reason }: ProductEvent) => statedText(reason) };

/** Returns no table where there is nothing to list. */
function listed<Row>(caption: string, rows: readonly Row[], columns: Columns<Row>): Listing<string>[] {
  if (rows.length === 0) return [];
  const first = `${caption} (the first ${listedAtMost} of ${number(rows.length)}; --json has all)`;
  return [listing(rows.length > listedAtMost ? first : caption, rows.slice(0, listedAtMost), columns)];
}

function statedText(word: string | null): string {
  return word?.replaceAll('_', ' ') ?? 'not said';
}

function movedBy({ old, new: now }: TitledMove): string {
  if (old === 0) return 'from free';
  const by = Math.round((100 * (now - old)) / old);
  return `${by > 0 ? '+' : ''}${number(by)} %`;
}
