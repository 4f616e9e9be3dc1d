import { z } from 'zod';
import { leaseProblem } from '../domain/leadership/lease.ts';
import { duration, printDuration } from './units.ts';
import { always, plainText, section } from './values.ts';

const advertise = 'expected an address like https://host-a.example.com:8490';

/** `instance`: what sets this instance apart from others that share its database. */
export const instance = section({
  name: plainText()
    .nullable()
    .default(null)
    .describe('What it is called where instances are told apart; null: the name of its host.'),
  advertise: z
    .url({ protocol: /^https?$/, hostname: /./, error: advertise })
    .refine((value) => !/^\w+:\/\/[^/]*@|[?#]/.test(value), { error: `has credentials or a query; ${advertise}` })
    .nullable()
    .default(null)
    .describe('Where the others reach its admin interface; null: no other instance shares the database.'),
}).describe('One of several instances: one calls the service, the others stand by.');

/** `leadership`: the lease by which one instance leads. */
export const leadership = section({
  lease: duration('5s', { min: '1s', max: '5m' }).describe('Another instance takes over after so long a silence.'),
  renew: duration('1s', { min: '100ms', max: '1m' }).describe('How often the leader says that it is there.'),
  margin: duration('2s', { min: '100ms', max: '1m' }).describe(
    'A leader that cannot say so stops calling so long before another may begin.',
  ),
})
  .superRefine(({ lease, renew, margin }, context) => {
    if (![lease, renew, margin].every((each) => typeof each === 'number')) return;
    const problem = leaseProblem({ lease, renew, margin });
    const least = printDuration(2 * renew + margin);
    if (problem !== null)
      context.addIssue({ code: 'custom', path: ['lease'], message: `${problem}; expected at least ${least}` });
  }, always)
  .describe('When another instance takes over.');
