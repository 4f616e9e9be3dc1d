import { z } from 'zod';
import { minorUnitExponent } from '../domain/money.ts';
import { duration, size } from './units.ts';

/*
 * The configuration, key by key (design 3.2). What is written here is also schema/config.schema.json and, with its
 * defaults, config/catalogued.yaml: tests hold the three equal.
 */

const text = (fallback: string) =>
  z.string({ error: 'expected text' }).min(1, { error: 'expected text' }).default(fallback);
const flag = (fallback: boolean) => z.boolean({ error: 'expected true or false' }).default(fallback);
const whole = (fallback: number, min: number, max: number) => {
  const error = `expected a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error }).default(fallback);
};
const share = (fallback: number) => {
  const error = 'expected a share from 0 to 1';
  return z.number({ error }).min(0, { error }).max(1, { error }).default(fallback);
};
const id = () => z.int({ error: 'expected a whole number' }).positive({ error: 'expected a positive number' });
const ids = () => z.array(id(), { error: 'expected a list of numbers' });
const file = () =>
  z
    .string({ error: 'expected the path of a file' })
    .min(1, { error: 'expected the path of a file' })
    .nullable()
    .default(null);
const path = (fallback: string) =>
  z
    .string({ error: 'expected a path starting with /' })
    .regex(/^\//, { error: 'expected a path starting with /' })
    .default(fallback);
const optionalPath = (fallback: string) =>
  z
    .string({ error: 'expected a path starting with /, or null' })
    .regex(/^\//, { error: 'expected a path starting with /, or null' })
    .nullable()
    .default(fallback);
const statuses = (fallback: number[]) =>
  z
    .array(
      z
        .int({ error: 'expected an HTTP status' })
        .min(400, { error: 'expected an HTTP status from 400 on' })
        .max(599, { error: 'expected an HTTP status up to 599' }),
      { error: 'expected a list of HTTP statuses' },
    )
    .default(fallback);
/** An object all of whose keys have defaults may be left out as a whole. */
const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, { error: 'expected keys and values' }).prefault({} as never);

const language = z
  .string({ error: 'expected a language code like en' })
  .regex(/^[a-z]{2}$/, { error: 'expected a language code of two lower case letters, like en' });
const currency = z
  .string({ error: 'expected a currency code like EUR' })
  .refine((code) => minorUnitExponent(code) !== null, {
    error: 'expected an ISO 4217 currency code in upper case, like EUR',
  });
const listOf = <Item extends z.ZodType<string>>(item: Item, what: string, fallback: [string]) =>
  z
    .tuple([item], item, { error: `expected a list of at least one ${what}` })
    .refine((list) => new Set(list).size === list.length, { error: `expected each ${what} once` })
    .default(fallback as never);

const baseUrl = z
  .string({ error: 'is required: expected the address of the service, like https://api.example.com' })
  .superRefine((value, context) => {
    const problem = problemOfBaseUrl(value);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  });

function problemOfBaseUrl(value: string): string | null {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol))
    return 'expected the address of the service, like https://api.example.com';
  if (url.username !== '' || url.password !== '')
    return 'has credentials in it: expected the key in service.api_key_file';
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return 'has more than a host: expected the path in service.profile.paths';
  return null;
}

const profile = section({
  authorization: section({
    header: text('Authorization')
      .nullable()
      .describe('The header that carries the key; null: no key is sent and none is needed.'),
    scheme: text('Token').describe('The word before the key.'),
  }).describe('How the key is sent.'),
  paths: section({
    products: path('/v2/products'),
    product: optionalPath('/v2/products/{product_id}'),
    checkout_information: optionalPath('/v2/products/{product_id}/checkout_information'),
    availability: path('/v2/products/{product_id}/availability'),
    variants: optionalPath('/v2/products/{product_id}/product-variants'),
    experiences: optionalPath('/v2/experiences'),
    subscription: optionalPath('/v2/product-change-notification/{subscription_id}'),
    reactivate: optionalPath('/v2/product-change-notification/{subscription_id}/reactivate'),
  }).describe('Where the service answers; null switches a resource off.'),
  parameters: section({
    page: text('page'),
    page_size: text('page_size'),
    language: text('lang'),
    currency: text('currency'),
    from: text('start_date'),
    to: text('end_date'),
  }).describe('What the query parameters are called.'),
  page_size: whole(100, 1, 100).describe('Rows asked for on a list page.'),
  days_per_request: whole(31, 1, 31).describe('Dates that one availability answer covers.'),
  throttle_statuses: statuses([429, 503]).describe('Answers that mean "less, please".'),
  burst_statuses: statuses([403]).describe(
    "Throttling when several come together, a record's own failure when single.",
  ),
  timeouts: section({
    connect: duration('5s'),
    headers: duration('15s'),
    idle: duration('10s'),
    total: duration('60s'),
    list: duration('180s'),
  }).describe('How long one call may take.'),
  max_bytes: section({ list: size('32MiB'), product: size('4MiB') }).describe('How large an answer may be, inflated.'),
});

const service = z.strictObject(
  {
    base_url: baseUrl.describe('The address of the service, without a path. No default.'),
    api_key_file: file().describe(
      'The file that holds the key; else the systemd credential api_key or CATALOGUED_API_KEY.',
    ),
    user_agent: text('catalogued').describe('The service asks for the name of your brand in it.'),
    languages: listOf(language, 'language', ['en']).describe('The first is primary: it decides what is visible.'),
    currencies: listOf(currency, 'currency', ['EUR']).describe('The first is primary.'),
    select: z
      .object({
        include_product_ids: ids().default([]).describe('Mirrored although the filters leave them out.'),
        exclude_product_ids: ids().default([]).describe('Not mirrored.'),
      })
      .catchall(
        z.union([z.string(), z.number(), z.array(z.union([z.string(), z.number()]))], {
          error: 'expected a value or a list of values',
        }),
      )
      .prefault({})
      .describe('Filters of the product list, passed through: city_id, country_id, tag_id …'),
    profile: profile.describe('What the specification leaves open, never checked against the live service.'),
  },
  { error: 'is required: expected at least base_url' },
);

const availability = section({
  horizon: whole(92, 1, 365).describe("Days from the venue's today."),
  near: section({ days: whole(14, 1, 365), every: duration('6h', { min: '1m' }) }).describe(
    'The dates most likely to sell out.',
  ),
  middle: section({ days: whole(31, 1, 365), every: duration('12h', { min: '1m' }) }).describe('Up to a month ahead.'),
  far: section({ every: duration('24h', { min: '1m' }) }).describe('The rest of the horizon.'),
}).superRefine(({ horizon, near, middle }, context) => {
  if (near.days >= middle.days)
    context.addIssue({
      code: 'custom',
      path: ['near', 'days'],
      message: `expected fewer than middle.days (${middle.days})`,
    });
  if (middle.days > horizon)
    context.addIssue({
      code: 'custom',
      path: ['middle', 'days'],
      message: `expected at most the horizon (${horizon})`,
    });
});

const cadence = section({
  products: duration('7d', { min: '1h', max: '28d' }).describe(
    'The list walk: prices, images and sale status of everything.',
  ),
  product_detail: duration('28d', { min: '1h', max: '90d' }).describe(
    'The single-product read, where the profile has it.',
  ),
  checkout_information: duration('7d', { min: '1h', max: '28d' }).describe('Rules, identification, flags.'),
  variants: duration('7d', { min: '1h', max: '28d' }).describe('Their prices change less than once a month.'),
  experiences: duration('7d', { min: '1h', max: '28d' }).describe('Which products belong to which venue.'),
  dynamic_pricing: section({
    products: duration('1d', { min: '1h' }),
    checkout_information: duration('1d', { min: '1h' }),
  }).describe('For products with dynamic pricing.'),
  covered: section({
    checkout_information: duration('28d', { min: '1h', max: '28d' }),
    variants: duration('28d', { min: '1h', max: '28d' }),
  }).describe('For products that a working, trusted subscription covers.'),
  images: duration('7d', { min: '1h', max: '14d' }).describe('When images are confirmed; none is shown after 14 days.'),
  availability: availability.describe('Dates, timeslots and prices, by how far ahead they lie.'),
});

const laneNames = ['checkout', 'notification', 'reopening', 'near', 'far', 'weekly', 'fill'] as const;
const lanes = section(
  Object.fromEntries(laneNames.map((name) => [name, share(0)])) as Record<
    (typeof laneNames)[number],
    ReturnType<typeof share>
  >,
).refine((shares) => Object.values(shares).reduce((sum, each) => sum + each, 0) <= 1 + 1e-9, {
  error: 'expected shares of at most 1 in total',
});

const category = z.strictObject({
  name: z.string({ error: 'expected a name' }).min(1),
  match: z.strictObject({
    product_ids: ids().optional(),
    experience_ids: ids().optional(),
    city_ids: ids().optional(),
    tag_ids: ids().optional(),
    supplier: z.string().optional(),
    dynamic_pricing: z.boolean().optional(),
    top_sellers: id().optional(),
  }),
  weight: z.number().positive().optional(),
  cadence: z.record(z.string(), z.unknown()).optional(),
  horizon: z.int().min(1).max(365).optional(),
});

const changeTypes = ['checkout_disabled', 'checkout_enabled', 'product_details_update'] as const;
const subscription = z
  .strictObject({
    id: z
      .string({ error: 'expected a name of your choice' })
      .regex(/^[\w.-]{1,100}$/, { error: 'expected letters, digits, dots and dashes' }),
    type: z.enum(['product_ids', 'experience_ids', 'products_i_sell'], {
      error: 'expected product_ids, experience_ids or products_i_sell',
    }),
    entities: z
      .union([z.literal('mirrored'), ids().min(1)], { error: 'expected mirrored or a list of ids' })
      .optional(),
    change_types: z
      .array(z.enum(changeTypes, { error: `expected ${changeTypes.join(', ')}` }))
      .min(1)
      .default([...changeTypes]),
  })
  .superRefine(({ type, entities }, context) => {
    const own = type === 'products_i_sell';
    if (own && entities !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['entities'],
        message: 'expected none with products_i_sell: the service keeps that list',
      });
    if (!own && entities === undefined)
      context.addIssue({
        code: 'custom',
        path: ['entities'],
        message: `expected mirrored or a list of ids with ${type}`,
      });
  });

export const configSchema = z.strictObject(
  {
    service,
    signing: section({
      key_file: file().describe('The RSA private key (PEM) for subscription requests.'),
      algorithm: z.enum(['RS256'], { error: 'expected RS256' }).default('RS256'),
      body: z.enum(['jwt', 'json'], { error: 'expected jwt or json' }).default('jwt'),
      claims: flag(false).describe('Whether iat, exp and jti are added to the payload.'),
    }).describe('How subscription requests are signed.'),
    mirror: section({
      path: text('./data/mirror.db').describe('The file that storefronts read.'),
      inbox_path: text('./data/state/inbox.db').describe("The daemon's own file."),
      state_dir: text('./data/state').describe('Lock, socket and inbox: mode 0700, shared with nobody.'),
      commission: flag(false).describe(
        "Whether the distributor's commission is mirrored; readers of the file would see it.",
      ),
    })
      .refine(({ path, inbox_path }) => path !== inbox_path, {
        error: 'expected two different files for path and inbox_path',
      })
      .describe('Where the files are.'),
    cadence: cadence.describe('How often each thing is read again.'),
    scheduling: z.enum(['adaptive', 'fixed'], { error: 'expected adaptive or fixed' }).default('adaptive'),
    categories: z
      .array(category, { error: 'expected a list of categories' })
      .default([])
      .describe('Cadence, weight and horizon of parts of the catalogue; the first match wins.'),
    budget: section({
      requests_per_second: z
        .number({ error: 'expected a number of calls a second' })
        .positive({ error: 'expected more than 0 calls a second' })
        .max(100_000, { error: 'expected at most 100000' })
        .default(10)
        .describe('The ceiling; the rate below it is learned.'),
      concurrency: whole(4, 1, 64).describe('Calls in flight at a time.'),
      lanes: lanes.describe('Shares of the rate that are reserved.'),
    }).describe('How much may be asked of the service.'),
    receiver: section({
      listen: text('127.0.0.1:8480'),
      public_url: z
        .url({ error: 'expected the public address of the receiver, like https://hooks.example.com/c' })
        .nullable()
        .default(null),
      secret_file: file().describe('The master secret of the callback addresses.'),
      allow: z.array(z.string()).default([]).describe('Addresses and networks that may call.'),
      trusted_proxies: z.array(z.string()).default([]).describe('Whose X-Forwarded-For is believed.'),
      rotate_every: duration('30d', { min: '1d' }),
      grace: duration('7d', { min: '1h' }),
    }).describe('Takes the notifications.'),
    subscriptions: z
      .array(subscription, { error: 'expected a list of subscriptions' })
      .default([])
      .describe('What the service should notify.'),
    admin: section({
      listen: text('unix:./data/state/admin.sock').describe('unix:PATH or HOST:PORT.'),
      token_file: file().describe('Needed outside a unix socket.'),
    }).describe('The local interface of the daemon.'),
    images: section({
      files: flag(false).describe('Whether the image files are fetched too.'),
      directory: text('./data/images'),
      sizes: z
        .array(
          z.enum(['small', 'medium', 'large', 'extra_large'], {
            error: 'expected small, medium, large or extra_large',
          }),
        )
        .min(1)
        .default(['large']),
      hosts: z.array(z.string()).default([]),
      max_bytes: size('20MiB'),
      disk: size('10GiB'),
    }),
    removals: section({ hold_share: share(0.1), hold_count: whole(5, 0, 1_000_000) }).describe(
      'More missing at once than this is held back.',
    ),
    retention: section({ changes: duration('90d', { min: '1d' }), deliveries: duration('30d', { min: '1d' }) }),
    backup: section({
      every: duration('24h', { min: '1h' }),
      directory: text('./data/backup'),
      keep: whole(7, 1, 365),
    }),
    snapshot: section({
      every: duration('1h', { min: '1m' })
        .nullable()
        .prefault(null as never),
      path: text('').nullable().default(null),
    }).describe('A copy for readers on other hosts.'),
    log: section({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
          error: 'expected debug, info, warn or error',
        })
        .default('info'),
    }),
  },
  { error: 'expected keys and values' },
);

/** The configuration: keys as in the file, durations in milliseconds, sizes in bytes. */
export type Config = z.output<typeof configSchema>;
