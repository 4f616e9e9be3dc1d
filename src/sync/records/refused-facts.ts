import type { Instant } from '../../clock.ts';
import type { ProductEntry } from '../../domain/catalogue/product.ts';
import type { Ports } from './context.ts';

type RefusedPorts = Pick<Ports, 'mirror' | 'clock' | 'log'>;

/** The facts that a read had to leave out: images with unsafe URLs, negative prices. */
export interface RefusedFacts {
  readonly images: number;
  readonly prices: number;
}

/** The alarm about refused prices ends when no read has met one for this long. */
const forgottenMs = 24 * 3_600_000;
const logMessages = {
  images: 'images are not published: their URLs are not on public hosts',
  prices: 'negative prices are rejected: what they belong to is not sold',
} as const;

/** Returns what was left out of products, without those that are complete. */
export function refusedOf(entries: readonly Pick<ProductEntry, 'product_id' | 'refused'>[]) {
  return entries.flatMap(({ product_id, refused }) => (refused === undefined ? [] : [{ product_id, refused }]));
}

/**
 * Called inside the transaction that stores a read, with what was left out of each product. Products that one walk
 * meets from `started_at` on are counted together.
 */
export function noteRefused(
  { mirror, clock, log }: RefusedPorts,
  found: readonly { readonly product_id: number; readonly refused: RefusedFacts }[],
  started_at: Instant,
): void {
  for (const kind of ['images', 'prices'] as const) {
    const met = found.filter(({ refused }) => refused[kind] > 0);
    const [first] = met;
    if (first === undefined) continue;
    const alarm = { kind: `${kind}-refused`, at: clock.now(), started_at, products: met.length } as const;
    if (mirror.alarms.add(alarm) === 'new')
      log.warn({ product_id: first.product_id, products: met.length }, logMessages[kind]);
  }
}

/**
 * Called when a walk over the list has ended: clears the alarms about what it, and for prices the last day of reads,
 * did not meet again.
 */
export function clearRefused({ mirror }: RefusedPorts, started_at: Instant): void {
  for (const { kind, seen_at } of mirror.alarms.all()) {
    if (kind === 'images-refused' && seen_at < started_at) mirror.alarms.clear(kind);
    if (kind === 'prices-refused' && seen_at < started_at - forgottenMs) mirror.alarms.clear(kind);
  }
}
