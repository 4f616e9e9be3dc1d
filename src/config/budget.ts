import { z } from 'zod';
import { section, share, whole } from './values.ts';

/** `budget`: how many calls the service may be sent. */
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
  audit: share(0.01).describe(
    'Share of all calls that read a random record at a random time, to measure how much is true; 0: none.',
  ),
}).describe('How many calls the service may be sent.');
