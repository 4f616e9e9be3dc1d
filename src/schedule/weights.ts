import { setImmediate } from 'node:timers/promises';
import { faded } from '../catalogue/category.rules.ts';
import type { InterestScale, SurveyedInterest } from './budget.store.ts';
import {
  addInterest,
  addSplit,
  type Interest,
  interestIn,
  mostInterest,
  noInterest,
  shareOfGreatest,
  windowInterest,
} from './interest.rules.ts';
import type { RecordKey } from './record.rules.ts';
import type { SyncFacts } from './sync.ts';

/** Facts that the weight of a product follows from. */
export interface WeighedInterest extends Interest {
  /** The weight of its category, by configuration. */
  readonly category: number;
  /** Shoppers' interest in it, relative to the average product. */
  readonly interest: number;
  /** True: its interest was capped at the most that counts for one product. */
  readonly limited: boolean;
}

/** Harm that stale copies of a product do, where 1 is usual, and the facts it follows from. */
export interface ProductWeight extends WeighedInterest {
  /** Its views of each window of its dates, decayed until now. */
  readonly dated: readonly number[];
  /** The weight of each window of its dates. Its other records have `weight`, the mean of these. */
  readonly windows: readonly number[];
  readonly weight: number;
}

/** The number of products between two turns of the event loop. */
const slice = 200;

/** Computes the weight of a product relative to the others. `among`: the last survey of the interest in all products. */
export function weighProduct(
  { mirror, clock, policy }: SyncFacts,
  { product_id, category }: { readonly product_id: number; readonly category: string | null },
  among: InterestScale,
): ProductWeight {
  const { list_place, windows } = mirror.schedule.interest.of(product_id);
  const own = policy.of(category);
  const now = clock.now();
  const viewsIn = (part: number) =>
    windows
      .filter((each) => each.part === part)
      .reduce((sum, { views, counted_at }) => sum + faded(now, views, counted_at), 0);
  const dated = own.extent.windows.map(({ part }) => viewsIn(part));
  const views = dated.reduce((sum, each) => sum + each, viewsIn(noDate));
  const told = interestIn({ list_place, views }, among.products);
  const interest = Math.min(told, among.most);
  const weight = own.weight * interest;
  return {
    list_place,
    views,
    category: own.weight,
    interest,
    limited: told > among.most,
    dated,
    windows: dated.map((_, part) => weight * windowInterest(dated, part, among.split ?? [])),
    weight,
  };
}

/** Returns the weight of one of a product's records. */
export function weightOfRecord({ weight, windows }: ProductWeight, { resource, part }: RecordKey): number {
  return resource === 'availability' ? (windows[part] ?? weight) : weight;
}

/**
 * Returns a function that computes the weight of records. It weighs each product once if its records follow one
 * another.
 */
export function weighing(
  sync: SyncFacts,
  among: SurveyedInterest,
): (record: RecordKey & { readonly category: string | null }) => number {
  let last: { readonly product_id: number; readonly weight: ProductWeight } | null = null;
  return (record) => {
    const { product_id } = record;
    if (last?.product_id !== product_id) last = { product_id, weight: weighProduct(sync, record, among) };
    return weightOfRecord(last.weight, record);
  };
}

/** Milliseconds after which views have faded to a thousandth of their number. */
export const interestMemoryMs = 300 * 86_400_000;

/** The window index of views that were reported without a date. */
export const noDate = -1;

/** Adds up the interest in all visible products. */
export async function surveyInterest(sync: SyncFacts, signal: AbortSignal): Promise<SurveyedInterest> {
  const { products } = sync.mirror.catalogue;
  const among = { products: products.count(), most: Number.MAX_VALUE };
  let [all, views, viewed, split] = [noInterest, 0, 0, [] as number[]];
  for (let after = -1; !signal.aborted; ) {
    const ids = products.idsAfter({ product_id: after, limit: slice });
    for (const product_id of ids) {
      const product = weighProduct(sync, { product_id, category: null }, among);
      all = addInterest(all, product.interest);
      split = addSplit(split, product.dated);
      views += product.views;
      if (product.views >= 1) viewed += 1;
    }
    after = ids.at(-1) ?? after;
    if (ids.length < slice) break;
    await setImmediate();
  }
  const most = mostInterest(all);
  return { products: among.products, most, split, views, viewed, greatest: shareOfGreatest(all, most) };
}
