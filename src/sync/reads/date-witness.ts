import { namesOtherDates, trustAfter } from '../../domain/catalogue/answered-span.ts';
import { venueToday } from '../../domain/time/venue.ts';
import type { IgnoresDates } from '../records/context.ts';

const believedMs = 10_000;
/** From an earlier date of a product to the one it is asked for: so much shows even with a service that rounds to weeks. */
const weekDays = 7;

/**
 * An answer without any date looks the same whatever it is an answer to, so a product that is known to sell several dates
 * is asked for one of them. What it shows is believed for ten seconds.
 */
export function dateWitness(): IgnoresDates {
  let last: { readonly at: number; readonly isIgnoring: boolean } | null = null;
  return async (ports, currency, signal) => {
    const at = ports.clock.monotonic();
    if (last !== null && at - last.at < believedMs) return last.isIgnoring;
    last = { at, isIgnoring: await askWitnesses(ports, currency, signal) };
    return last.isIgnoring;
  };
}

/** Asks until one is answered for its date: where a single product is answered for others, the fault may be its own. */
async function askWitnesses(
  { upstream, mirror, clock, policy }: Parameters<IgnoresDates>[0],
  currency: string,
  signal: AbortSignal,
): Promise<boolean> {
  const [language] = policy.extent.languages;
  const after = venueToday(null, clock.now()).latest;
  let isIgnoring = false;
  for (const { product_id, date } of mirror.availability.witnesses({ currency, after, apart: weekDays })) {
    const asked = { from: date, to: date };
    const reading = await upstream.availability({ product_id, language, currency, ...asked, known_hash: null, signal });
    const named = reading.kind === 'read' ? reading.value.named : null;
    // Sold out meanwhile, or no answer.
    if (named === null) continue;
    if (!namesOtherDates(asked, named) || trustAfter(asked, named) === 'whole-weeks') return false;
    isIgnoring = true;
  }
  return isIgnoring;
}
