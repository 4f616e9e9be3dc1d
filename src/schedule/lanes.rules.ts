import type { DueReason, KindKey } from './record.rules.ts';
import { usualLane } from './resources.rules.ts';

/*
 * Shares of the call budget. The most urgent lane goes first. But each lane has a share of the rate that
 * no other lane can take from it, so that a shopper never queues behind a sweep and a sweep never starves.
 */

/** Lanes, most urgent first. Records store the index. */
export const lanes = ['checkout', 'notification', 'reopening', 'near', 'far', 'weekly', 'fill', 'audit'] as const;
export type Lane = (typeof lanes)[number];

/**
 * Queue in which a call waits: a lane, or `triggered`, the part of the notification lane that anyone who knows a
 * callback address can fill. Reads that notifications request are never more than `triggeredShare` of the rate.
 */
export type LaneEntry = Lane | 'triggered';
export const laneEntries: readonly LaneEntry[] = [...lanes, 'triggered'];
export const triggeredShare = 0.3;

/** Share of the rate that is reserved for each lane, from 0 to 1. */
type Reserved = Readonly<Record<Lane, number>>;

/** Same, before the minimum shares are applied. Random reads are left out, because they have the share that they need. */
export type LaneShares = Omit<Reserved, 'audit'>;

/**
 * Shares of the sweeps. Together they are half of the rate, so shoppers, notifications and reopenings, which go first, always have the
 * other half. The near dates get most: they sell out first and have the shortest cadence.
 */
export const laneShares: LaneShares = {
  checkout: 0,
  notification: 0,
  reopening: 0,
  near: 0.3,
  far: 0.1,
  weekly: 0.1,
  fill: 0,
};

/** Most calls that a lane may be owed: with more, an idle lane would return with a burst. */
const mostOwed = 2;

/**
 * Number of checks in a row that go before everything else, two seconds' worth of calls: a shopper waits only for other
 * shoppers. A longer flood of checks leaves the other lanes their reserved shares.
 */
const checksAhead = { seconds: 2, least: 4, most: 30 };

/**
 * Minimum shares. Reads that notifications request proceed while shoppers flood the
 * checkout lane, and first and random reads proceed while the near lane is never empty.
 */
const floors: Partial<Reserved> = { notification: 0.15, fill: 0.1, audit: 0.01 };

/**
 * Returns the shares, raised to the minimum shares. The others are reduced if all together would be more
 * than the rate.
 */
export function withFloors(shares: LaneShares): Reserved {
  const wanted = lanes.map((lane) => Math.max(reservedFor(lane, shares), floors[lane] ?? 0));
  const fixed = lanes.reduce((sum, lane) => sum + (floors[lane] ?? 0), 0);
  const rest = wanted.reduce((sum, share) => sum + share, 0) - fixed;
  const scale = rest <= 1 - fixed ? 1 : (1 - fixed) / rest;
  return Object.fromEntries(
    lanes.map((lane, index) => {
      const floor = floors[lane] ?? 0;
      return [lane, floor + ((wanted[index] ?? 0) - floor) * scale];
    }),
  ) as Record<Lane, number>;
}

/** Returns the share of the rate that is reserved for a lane. */
export function reservedFor(lane: Lane, shares: LaneShares): number {
  return lane === 'audit' ? 0 : shares[lane];
}

/** Number of calls that each lane is owed of its reserved share. */
export type LaneCredit = Readonly<Record<Lane, number>>;

/** Returns the credit at the start: only checks are owed anything. */
export function noCredit(): LaneCredit {
  return Object.fromEntries(lanes.map((lane) => [lane, lane === 'checkout' ? checksAhead.most : 0])) as Record<
    Lane,
    number
  >;
}

/**
 * Returns the lane whose call is sent next, among the lanes with waiting calls: the most urgent one that is owed a call
 * of its reserved share, else the most urgent one. Null if no call waits.
 */
export function nextLane(credit: LaneCredit, waiting: (lane: Lane) => boolean): Lane | null {
  return lanes.find((lane) => credit[lane] >= 1 && waiting(lane)) ?? lanes.find(waiting) ?? null;
}

/**
 * Returns the credit after a call was sent in lane `taken`, at `rate` calls a second: each lane gains its share of that
 * call, and `taken` pays for it.
 */
export function afterTurn(credit: LaneCredit, shares: Reserved, taken: Lane, rate: number): LaneCredit {
  const next = Object.fromEntries(
    lanes.map((lane) => [lane, Math.min(mostOwed, credit[lane] + shares[lane])]),
  ) as Record<Lane, number>;
  const unreserved = 1 - lanes.reduce((sum, lane) => sum + (lane === 'checkout' ? 0 : shares[lane]), 0);
  const { seconds, least, most } = checksAhead;
  const ahead = Math.min(Math.max(seconds * rate, least), most);
  next.checkout = Math.min(ahead, credit.checkout + Math.max(shares.checkout, unreserved));
  next[taken] = Math.max(0, next[taken] - 1);
  return next;
}

/** Returns the lane in which a record is read: by its due reason, else by its resource. */
export function laneOf({ resource, part }: KindKey, reason: DueReason): Lane {
  switch (reason) {
    case 'never-fetched':
      return 'fill';
    case 'audit':
      return 'audit';
    case 'live-check':
    case 'order-failed':
      return 'checkout';
    case 'notified':
    case 'not-shown-yet':
    case 'closure-unconfirmed':
    case 'requested':
    case 'order-recheck':
    case 'other-currency':
    case 'image-limit':
    case 'sale-status-changed':
    case 'sale-status-doubted':
      return 'notification';
    case 'claimed':
    case 'reopening-look':
      return 'reopening';
    case 'gap-healing':
      // The list finds first what was closed meanwhile: one call covers a hundred products.
      return resource === 'products' ? 'notification' : usualLane(resource, part);
    default:
      return usualLane(resource, part);
  }
}

/** Returns the number under which a lane is stored. */
export function laneIndex(lane: Lane): number {
  return lanes.indexOf(lane);
}
