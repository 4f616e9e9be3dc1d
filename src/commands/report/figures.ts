import type { ReportCounts } from '../../domain/checks/error-rate.ts';
import type { WeekCounts, WeekReport } from '../../domain/week/report.ts';
import { number } from '../../format.ts';
import { outdatedText } from '../../status/outdated-share.ts';

/** A figure to be seen at a glance. */
export interface Figure {
  readonly name: string;
  readonly value: string;
  /** The same of the week before; null: not known. */
  readonly before: string | null;
  readonly more: string;
}

const unknown = 'not known';

export function figuresOf(report: WeekReport): Figure[] {
  const { products, prices, images, sold_without_subscription: bare, checkout, fruitless_searches: vain } = report;
  const { added, returned, closed, reopened, withdrawn } = products;
  const { moved, up, down } = prices.products;
  const searches = vain?.reduce((sum, each) => sum + each.searches, 0) ?? null;
  const moves = `${number(up)} up, ${number(down)} down; ${number(prices.dates.moved)} of dates`;
  const lost = `at most, of ${number(checkout.orders)}: ${lostShare(checkout)}`;
  const figure = (name: string, of: keyof WeekCounts, count: number | null, more: string): Figure => {
    const before = report.week_before?.[of] ?? null;
    return {
      name,
      value: count === null ? unknown : number(count),
      before: before === null ? null : number(before),
      more,
    };
  };
  return [
    figure('New products', 'added', added.length, `${number(returned.length)} back`),
    figure('Closed', 'closed', closed.length, `${number(reopened.length)} on sale again`),
    figure('Withdrawn', 'withdrawn', withdrawn.length, 'no longer offered'),
    figure('Prices moved', 'prices_moved', moved, moves),
    figure('Images that went', 'images_went', images.went.length, `${number(imagesDue(report))} to go soon`),
    figure('Sold without a subscription', 'sold_without_subscription', bare.products.length, 'products'),
    figure('Orders lost', 'orders_lost', checkout.orders_wrong, lost),
    {
      name: 'Outdated data shown',
      value: (report.truth && outdatedText(report.truth)) ?? unknown,
      // Random reads are kept for seven days.
      before: null,
      more: 'of what they see, at a random moment',
    },
    figure('Searches in vain', 'searches_in_vain', searches, `${number(vain?.length ?? 0)} different words`),
  ];
}

/** Returns how many images are hidden soon. */
export function imagesDue({ images }: WeekReport): number {
  return images.must_go.reduce((sum, each) => sum + each.images, 0);
}

function lostShare({ orders, orders_wrong }: ReportCounts): string {
  return orders === 0 ? 'none judged' : `${((100 * orders_wrong) / orders).toFixed(1)} %`;
}
