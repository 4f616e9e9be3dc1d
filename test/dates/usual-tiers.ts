import type { Tiers } from '../../src/dates/availability.rules.ts';

const hour = 3_600_000;

export const tiers: Tiers = {
  horizon: 92,
  near: { days: 14, every: 6 * hour },
  middle: { days: 31, every: 12 * hour },
  far: { every: 24 * hour },
};
