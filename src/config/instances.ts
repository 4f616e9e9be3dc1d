import { z } from 'zod';
import { plainText, section } from './values.ts';

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
