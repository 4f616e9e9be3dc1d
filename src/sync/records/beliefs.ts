import type { RecordFacts } from '../../domain/schedule/record.ts';
import { usualLane } from '../../domain/schedule/resources.ts';
import { priorVolatility, type Volatility } from '../../domain/schedule/volatility.ts';

/** Returns the believed rate of change of a record: learned from its visits, or the usual one of its kind. */
export function believed(record: Pick<RecordFacts, 'resource' | 'part' | 'shape' | 'exposure'>): Volatility {
  const { shape, exposure } = record;
  return shape === null || exposure === null ? priorOf(record) : { shape, exposure };
}

/** Returns what is believed of a record that nobody has seen yet. */
export function priorOf({ resource, part }: Pick<RecordFacts, 'resource' | 'part'>): Volatility {
  return priorVolatility(usualLane(resource, part));
}
