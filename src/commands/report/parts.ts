import { fewestSearches } from '../../domain/search/fruitless.ts';
import { moneyText } from '../../domain/values/money.ts';
import type { TitledMove, WeekReport } from '../../domain/week/report.ts';
import type { ProductEvent } from '../../domain/week/turnover.ts';
import type { Week } from '../../domain/week/week.ts';
import { counted, number } from '../../format.ts';
import { cannotTell, outdatedText } from '../../status/outdated-share.ts';
import { takedownsText } from '../images/report.ts';
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

/** Cells of a row, by their headings. */
type Columns<Row> = Readonly<Record<string, (row: Row) => string>>;

const named = {
  product: ({ product_id }: { readonly product_id: number }) => String(product_id),
  title: ({ title }: { readonly title: string | null }) => title ?? 'without a title',
};
const when = { ...named, when: ({ at }: ProductEvent) => minuteOf(at) };
const why = { ...when, why: ({ reason }: ProductEvent) => statedText(reason) };

/** The parts of a report, in their order. */
const parts: readonly {
  readonly title: string;
  says(report: WeekReport): readonly string[];
  tables(report: WeekReport): readonly (readonly ReportTable[])[];
}[] = [
  {
    title: 'Products',
    says: ({ products }) => (Object.values(products).every(isEmpty) ? ['Nothing came, went, closed or opened.'] : []),
    tables: ({ products: { added, returned, withdrawn, closed, reopened } }) => [
      tableOf('New', added, when),
      tableOf('Back after having been withdrawn', returned, when),
      tableOf('Withdrawn', withdrawn, why),
      tableOf('Closed', closed, { ...why, opens: ({ expected_reopening }) => statedText(expected_reopening) }),
      tableOf('On sale again', reopened, when),
    ],
  },
  {
    title: 'Prices',
    says: ({ prices: { products, dates } }) => [
      `Prices of products: ${number(products.moved)} moved, ${number(products.up)} up and ${number(products.down)} down.`,
      `Lowest prices of dates: ${number(dates.moved)} moved, ${number(dates.up)} up and ${number(dates.down)} down, of ${counted(dates.products, 'product')}.`,
      ...(products.by_rate + dates.by_rate === 0
        ? []
        : [
            `Moved by the exchange rate alone, and not counted above: ${counted(products.by_rate, 'price')} of products, ${number(dates.by_rate)} of dates.`,
          ]),
    ],
    tables: ({ prices: { products, dates }, currency }) => {
      const money = (amount: number) => moneyText(amount, currency ?? '');
      const move: Columns<TitledMove> = { was: (each) => money(each.old), is: (each) => money(each.new), by: percent };
      return [
        tableOf('The biggest moves of products', products.biggest, { ...named, ...move }),
        tableOf('The biggest of dates, one a product', dates.biggest, {
          ...named,
          date: ({ date }) => date ?? '',
          ...move,
        }),
      ];
    },
  },
  {
    title: 'Images and their licences',
    says: (report) => {
      const { must_go, went, back } = report.images;
      const soon = `To go soon: ${number(imagesDue(report))} of ${counted(must_go.length, 'product')} not confirmed for 12 days, which are hidden after 14.`;
      return [
        `Taken down: ${takedownsText(went.length + back.length, back.length)}.`,
        ...(went.length === 0
          ? []
          : [`Remove what is not back from wherever else you have copied it: ${number(went.length)}.`]),
        ...(must_go.length === 0 ? [] : [soon]),
      ];
    },
    tables: ({ images: { must_go, went, credit_changes } }) => [
      tableOf('Taken down, and not back', went, {
        ...named,
        image: ({ image_key }) => image_key,
        credit: ({ credit }) => credit ?? 'none',
        when: ({ withdrawn_at }) => minuteOf(withdrawn_at),
        because: ({ cause }) => (cause === 'image' ? 'a read without it' : 'product withdrawn'),
      }),
      tableOf('Hidden unless they are confirmed', must_go, {
        ...named,
        images: ({ images }) => number(images),
        'hidden from': ({ hidden_from }) => minuteOf(hidden_from),
      }),
      tableOf('Other credits', credit_changes, {
        ...named,
        image: ({ image_key }) => image_key,
        was: (change) => change.old ?? 'none',
        is: (change) => change.new ?? 'none',
      }),
    ],
  },
  {
    title: 'Sold without a subscription',
    says: ({ sold_without_subscription: { covers_sales, products } }) => [
      products.length === 0
        ? 'None: every product that was sold is covered, or none was sold.'
        : `Products sold that no working subscription covers: ${number(products.length)}. Their changes are found only by reading.`,
      ...(products.length > 0 && covers_sales === 1
        ? ['The subscription to what you sell may cover them: only the service knows.']
        : []),
    ],
    tables: ({ sold_without_subscription: { products } }) => [
      tableOf('Those that sold most', products, {
        ...named,
        tickets: ({ tickets }) => number(tickets),
        'orders judged': ({ orders }) => number(orders),
      }),
    ],
  },
  {
    title: 'Outdated data shown',
    says: ({ truth }) => {
      if (truth === null) return ['Not known: random reads are kept for seven days.'];
      const text = outdatedText(truth);
      if (text === null) return [`We ${cannotTell(truth)}.`];
      return [
        `${text} of what shoppers see is outdated, by ${counted(truth.audited, 'random read')} of the last seven days.`,
      ];
    },
    tables: () => [],
  },
  {
    title: 'Wrong at checkout',
    says: ({ checkout: { checks, wrong, orders, orders_wrong, rate, unknown, unanswered, ...said } }) => [
      ...(rate === null
        ? ['No check and no order has shown whether the mirror was right.']
        : [
            `Orders lost because the mirror was wrong: at most ${number(orders_wrong)} of ${number(orders)}. Checks that found it wrong before an order: ${number(wrong)} of ${number(checks)}.`,
            `What was wrong: ${number(said.said_available)} times what was shown could not be had, ${number(said.said_sold_out)} times what could be had was not shown, ${number(said.said_price)} times the price was another.`,
          ]),
      ...(unknown + unanswered === 0
        ? []
        : [
            `Not counted: ${number(unknown)} about dates that the mirror did not have, ${number(unanswered)} that the service did not answer.`,
          ]),
    ],
    tables: ({ checkout: { worst } }) => [
      tableOf('Products that were wrong most often', worst, {
        ...named,
        orders: ({ orders }) => number(orders),
        'wrong orders': ({ orders_wrong }) => number(orders_wrong),
        checks: ({ checks }) => number(checks),
        'wrong checks': ({ wrong }) => number(wrong),
      }),
    ],
  },
  {
    title: 'Searches in vain',
    says: ({ fruitless_searches: found }) =>
      found === null
        ? ['Not known: the inbox, where they are counted, cannot be read by this user.']
        : [
            found.length === 0
              ? `None: nothing was searched for ${fewestSearches} times or more that the catalogue does not have.`
              : 'What was searched for and nothing in the catalogue has.',
            `Of searches over POST /v1/search, from ${fewestSearches} on.`,
          ],
    tables: ({ fruitless_searches: found }) => [
      tableOf('The most frequent', found ?? [], {
        words: ({ words }) => words,
        searches: ({ searches }) => number(searches),
      }),
    ],
  },
];

export function partsOf(report: WeekReport): ReportPart[] {
  return parts.map(({ title, says, tables }) => ({ title, says: says(report), tables: tables(report).flat() }));
}

/** Returns no table where there is nothing to list. */
function tableOf<Row>(caption: string, rows: readonly Row[], columns: Columns<Row>): ReportTable[] {
  if (rows.length === 0) return [];
  const more = rows.length - listedAtMost;
  const all = more > 0 ? `${caption} (the first ${listedAtMost} of ${number(rows.length)}; --json has all)` : caption;
  const cells = Object.values(columns);
  const listed = rows.slice(0, listedAtMost).map((row) => cells.map((cell) => cell(row)));
  return [{ caption: all, headings: Object.keys(columns), rows: listed }];
}

function statedText(word: string | null): string {
  return word?.replaceAll('_', ' ') ?? 'not said';
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
