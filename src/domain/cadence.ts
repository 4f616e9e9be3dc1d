import { hash } from 'node:crypto';
import type { Due, RecordKey, Resource } from './record.ts';

/*
 * When is a record due? Pure functions of the facts and the cadence, without `now`.
 */

/**
 * In which order a first fill goes: the lists, then the near dates of everything, what a checkout page needs, and
 * the far dates last. As an instant in 1970 it also puts what was never fetched before everything else.
 */
const fillOrder: Readonly<Record<Resource, number>> = {
  products: 1,
  experiences: 2,
  availability: 10,
  checkout_information: 20,
  variants: 30,
  product_detail: 40,
};
const farOrder = 50;

/** A record that was never fetched is due since 1970, in the order of a first fill. */
export function dueNeverFetched({ resource, part }: Pick<RecordKey, 'resource' | 'part'>): Due {
  const order = resource === 'availability' && part > 0 ? farOrder + part : fillOrder[resource];
  return { at: order, reason: 'never-fetched' };
}

/**
 * A record that was asked for is due at once: before everything where it is one of a few, else like a fill, so that
 * a large resync does not hold up what a person waits for.
 */
export function dueRequested(key: Pick<RecordKey, 'resource' | 'part'>, few: boolean): Due {
  return { at: few ? 0 : dueNeverFetched(key).at, reason: 'requested' };
}

/**
 * A record is due again up to a tenth of its cadence early: never later than promised, and each product at a phase
 * of its own, so that a thousand products filled in one minute are not all due in one minute.
 */
export function dueByCadence(key: RecordKey, fetched_at: number, cadence: number): Due {
  return { at: fetched_at + Math.round(cadence * (1 - 0.1 * phase(key))), reason: 'cadence-elapsed' };
}

/** A number in [0, 1) that is the record's own. */
function phase({ resource, product_id, edition, part }: RecordKey): number {
  return Number.parseInt(hash('sha1', `${resource} ${product_id} ${edition} ${part}`).slice(0, 8), 16) / 2 ** 32;
}
