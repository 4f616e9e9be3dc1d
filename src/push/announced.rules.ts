import { hourMs, minuteMs } from '../kernel/clock.ts';

/*
 * Products that notifications name and the mirror lacks: how often they are asked for. Their list may come from a cache for
 * hours, and their own read for minutes.
 */

/** The most products that are asked for at a time, however many are named. */
export const mostAnnounced = 1000;
/** Milliseconds after which an announced product that was not read is late. */
export const announcedLateMs = hourMs;

/** Returns after how many milliseconds a product is asked for again that the service does not have, by its refusals; null: never. */
export function askMissingAgainAfter(refusals: number): number | null {
  return [2 * minuteMs, 10 * minuteMs][refusals - 1] ?? null;
}

/**
 * Returns after how many milliseconds a product is asked for again that the service has and lists lack, by the time since
 * its own read first showed it; null: never.
 */
export function askUnlistedAgainAfter(since_ms: number): number | null {
  return [hourMs, 6 * hourMs, 24 * hourMs].find((wait) => since_ms < wait) ?? null;
}
