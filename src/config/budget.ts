import { z } from 'zod';
import { always, section, share, whole } from './values.ts';

const laneNames = ['checkout', 'notification', 'reopening', 'near', 'far', 'weekly', 'fill'] as const;
/** Shares of the rate that the sweeps always get, whatever the lanes before them need: together half of it. */
const laneShares = { checkout: 0, notification: 0, reopening: 0, near: 0.3, far: 0.1, weekly: 0.1, fill: 0 };
const lanes = section(
  Object.fromEntries(laneNames.map((name) => [name, share(laneShares[name])])) as Record<
    (typeof laneNames)[number],
    ReturnType<typeof share>
  >,
).superRefine((shares, context) => {
  const sum = Object.values(shares).reduce((total: number, each) => total + (typeof each === 'number' ? each : 0), 0);
  // Ten times 0.1 is a little more than 1 in floating point.
  if (sum > 1 + 1e-9)
    context.addIssue({
      code: 'custom',
      message: `reserves ${Math.round(sum * 100)} % of the rate; expected at most 100 %`,
    });
}, always);

/** `budget`: how many calls the service may be sent, and who comes first. */
export const budget = section({
  requests_per_second: z
    .number({ error: 'expected a number of calls a second' })
    .positive({ error: 'expected more than 0 calls a second' })
    .max(100_000, { error: 'expected at most 100000 calls a second' })
    .default(10)
    .describe('The ceiling; the rate below it is learned.'),
  concurrency: whole(4, 1, 64).describe('Most calls in flight at once.'),
  share: share(0.25).describe(
    'Idle calls go into extra availability reads up to this share of the learned rate; 0: none.',
  ),
  times: z
    .number({ error: 'expected a number from 1 to 100' })
    .min(1, { error: 'expected a number from 1 to 100' })
    .max(100, { error: 'expected a number from 1 to 100' })
    .default(5)
    .describe('… or up to so many times what the cadences need, if that is less.'),
  audit: share(0.01).describe(
    'Share of all calls that read a random record at a random time, to measure how much is true; 0: none.',
  ),
  extra_calls: z
    .number({ error: 'expected a share from 0 to 10' })
    .min(0, { error: 'expected a share from 0 to 10' })
    .max(10, { error: 'expected a share from 0 to 10' })
    .optional()
    .meta({ deprecated: true, description: 'Understood until contract 3: write share and times.' }),
  lanes: lanes.describe('Shares of the rate that are reserved.'),
}).describe('How many calls the service may be sent.');

/** Returns the budget with what `extra_calls` meant: a share of what the cadences need, up to most of the rate. */
export function extraLimitsOf<Budget extends { share: number; times: number; extra_calls?: number | undefined }>(
  budget: Budget,
): Budget & { extra_calls: number | null } {
  const { extra_calls = null } = budget;
  return extra_calls === null
    ? { ...budget, extra_calls }
    : { ...budget, extra_calls, share: 0.7, times: 1 + extra_calls };
}
