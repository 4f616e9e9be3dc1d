import type { Instant } from '../../clock.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { usualLane } from '../../domain/schedule/resources.ts';
import type { Looks } from '../../domain/schedule/signal.ts';
import { priorVolatility, type Volatility } from '../../domain/schedule/volatility.ts';
import type { KnownProduct } from '../../mirror/catalogue/product/reads.ts';

/** Returns the estimated rate of change of a record: learned from its reads, or the usual rate of its kind. */
export function believed(record: Pick<RecordFacts, 'resource' | 'part' | 'shape' | 'exposure'>): Volatility {
  const { shape, exposure } = record;
  return shape === null || exposure === null ? priorOf(record) : { shape, exposure };
}

/** Returns the estimated rate of change of a record that was never read. */
export function priorOf({ resource, part }: Pick<RecordFacts, 'resource' | 'part'>): Volatility {
  return priorVolatility(usualLane(resource, part));
}

/**
 * Returns the change that the product list showed after a read at `read_at`, up to `at`. Null: it showed none, or a
 * wrong clock wrote the instant.
 */
export function signalOf(
  { signal_at, signal_before_at }: Pick<KnownProduct, 'signal_at' | 'signal_before_at'>,
  read_at: Instant,
  at: Instant,
): Looks | null {
  if (signal_at === null || signal_before_at === null || signal_at <= read_at || signal_at > at) return null;
  return { before_at: signal_before_at, at: signal_at };
}
