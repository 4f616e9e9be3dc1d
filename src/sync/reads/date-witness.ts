import { namesOtherDates, trustAfter } from '../../domain/catalogue/answered-span.ts';
import { addDays } from '../../domain/time/dates.ts';
import { venueToday } from '../../domain/time/venue.ts';
import type { IgnoresDates } from '../records/context.ts';

const believedMs = 10_000;
/** From an earlier date of a product to those it is asked for: so much shows even with a service that rounds to weeks. */
const weekDays = 7;

/**
 * An answer without any date looks the same whatever it is an answer to, so a product that is known to sell several dates
 * is asked for the later ones. What it shows is believed for ten seconds; where none shows anything, a product whose last
 * read was answered for other dates does.
 */
export function dateWitness(): IgnoresDates {
  let last: { readonly at: number; readonly isIgnoring: boolean | null } | null = null;
  return async (ports, currency, signal) => {
    const at = ports.clock.monotonic();
    if (last === null || at - last.at >= believedMs)
      last = { at, isIgnoring: await askWitnesses(ports, currency, signal) };
    return last.isIgnoring ?? ports.mirror.records.answeredAstray() > 0;
  };
}

/** Asks until one is answered for its dates: where a single product is answered for others, the fault may be its own. */
async function askWitnesses(
  { upstream, mirror, clock, policy }: Parameters<IgnoresDates>[0],
  currency: string,
  signal: AbortSignal,
): Promise<boolean | null> {
  const [language] = policy.extent.languages;
  const after = venueToday(null, clock.now()).latest;
  let isIgnoring: boolean | null = null;
  for (const { product_id, date } of mirror.availability.witnesses({ currency, after, apart: weekDays })) {
    const asked = { from: date, to: addDays(date, policy.daysPerRequest - 1) };
    const reading = await upstream.availability({ product_id, language, currency, ...asked, known_hash: null, signal });
    const named = reading.kind === 'read' ? reading.value.named : null;
    // Sold out meanwhile, or no answer.
    if (named === null) continue;
    if (!namesOtherDates(asked, named) || trustAfter(asked, named) === 'whole-weeks') return false;
    isIgnoring = true;
  }
  return isIgnoring;
}
