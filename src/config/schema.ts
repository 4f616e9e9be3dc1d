import { dirname, join } from 'node:path';
import { z } from 'zod';
import { imageLimitMs } from '../catalogue/image.rules.ts';
import { minorUnitExponent } from '../kernel/values/money.ts';
import { changeTypes } from '../push/subscription.rules.ts';
import {
  coveredResources,
  dynamicResources,
  isList,
  type NeededResourcePath,
  type ResourcePath,
  resourceNames,
  resources,
  textResources,
  type UntieredResource,
  untieredResources,
} from '../schedule/resources.rules.ts';
import { isSamePlace, realPath } from './real-path.ts';
import { duration, durationIfSet, optionalDuration, printDuration, size } from './units.ts';
import {
  address,
  always,
  alwaysOfList,
  areDistinct,
  cronPattern,
  eachOnce,
  flag,
  headerText,
  hostNames,
  ids,
  matching,
  mediaType,
  networks,
  oneOf,
  optionalAddress,
  optionalCronPattern,
  optionalFile,
  origins,
  plainText,
  publicKey,
  refuse,
  schemaName,
  section,
  share,
  structure,
  text,
  token,
  webAddress,
  whole,
  wholeIn,
  zone,
} from './values.ts';

const monthly = { min: '1h', max: '28d' } as const;
/** Images are not shown after 14 days without a confirmation (specification §8): no configuration can loosen that. */
const imageLimit = { min: '1h', max: printDuration(imageLimitMs), maxIs: 'the hard limit' };
const tier = { min: '1m', max: '28d' } as const;
const daysAhead = [1, 365] as const;

const availability = section({
  horizon: whole(92, ...daysAhead).describe("Days from the venue's today."),
  near: section({ days: whole(14, ...daysAhead), every: duration('6h', tier) }).describe(
    'The dates most likely to sell out.',
  ),
  middle: section({ days: whole(31, ...daysAhead), every: duration('12h', tier) }).describe(
    'Up to a month ahead. Those in one request with near dates are read as often as near dates; this says when they are stale.',
  ),
  far: section({ every: duration('24h', tier) }).describe('The rest of the horizon, or up to beyond.days.'),
  beyond: section({ days: whole(92, ...daysAhead), every: optionalDuration(tier) }).describe(
    'The dates from beyond.days on; null: they are far dates.',
  ),
}).superRefine((value, context) => {
  const [near, middle, horizon] = [value.near?.days, value.middle?.days, value.horizon];
  // A value that is not a number has its own problem message.
  if (typeof middle !== 'number') return;
  if (typeof near === 'number' && near >= middle)
    refuse(context, ['near', 'days'], `is too far ahead; expected fewer than middle.days (${middle})`);
  if (typeof value.beyond?.days === 'number' && middle >= value.beyond.days)
    refuse(context, ['beyond', 'days'], `is not beyond the middle dates; expected more than middle.days (${middle})`);
  if (typeof horizon === 'number' && middle > horizon)
    refuse(context, ['middle', 'days'], `is beyond the horizon; expected at most ${horizon}`);
}, always);

/** Returns a key of each of these names. */
function keyed<Name extends string, Key>(
  names: readonly Name[],
  key: (name: Name) => Key,
): Readonly<Record<Name, Key>> {
  return Object.fromEntries(names.map((name) => [name, key(name)])) as Record<Name, Key>;
}

/** Returns the shortest and the longest cadence that a resource may have. */
function limitsOf(resource: UntieredResource) {
  return { ...monthly, max: printDuration(resources[resource].cadence.longest) };
}

/** `cadence`: how old each fact may become before it is read again. */
const cadence = section({
  ...keyed(untieredResources, (name) => {
    const { every, about } = resources[name].cadence;
    return duration(printDuration(every), limitsOf(name)).describe(about);
  }),
  dynamic_pricing: section(keyed(['products', ...dynamicResources] as const, () => duration('1d', monthly))).describe(
    'For products with dynamic pricing.',
  ),
  covered: section(keyed(coveredResources, () => duration('28d', monthly))).describe(
    "For products that a working, trusted subscription covers. A cadence shorter than the resource's own has no effect.",
  ),
  images: duration('7d', imageLimit).describe('When images are confirmed; none is shown after 14 days.'),
  availability: availability.describe('Dates, timeslots and prices, by how far ahead they lie.'),
});

const everyIfSet = structure({ every: durationIfSet(tier) }).optional();

/** Cadences that a category may set: those of everything read per product, and of the list. */
const ownCadences = {
  ...keyed(['products', ...textResources] as const, (name) => durationIfSet(limitsOf(name))),
  images: durationIfSet(imageLimit),
  availability: structure({ near: everyIfSet, middle: everyIfSet, far: everyIfSet, beyond: everyIfSet }).optional(),
};

const category = structure({
  name: plainText().describe('Its name in figures and explanations.'),
  match: structure({
    product_ids: ids().optional(),
    experience_ids: ids().optional(),
    city_ids: ids().optional(),
    tag_ids: ids().optional(),
    supplier: plainText().optional(),
    dynamic_pricing: flag(true).unwrap().optional(),
    top_sellers: wholeIn(1, 1_000_000).optional().describe('This many of the best-selling products.'),
  })
    .refine((match) => Object.keys(match).length > 0, {
      error: 'matches everything; expected at least one condition',
    })
    .describe('A product belongs to the category if all of these hold.'),
  weight: z
    .number({ error: 'expected a number above 0' })
    .positive({ error: 'expected a number above 0' })
    .optional()
    .describe('How much harm a stale product of the category does; 1 is usual.'),
  cadence: structure(ownCadences).optional().describe('Where its cadence differs from that of everything else.'),
  horizon: wholeIn(...daysAhead).optional(),
});

/** `categories`: parts of the catalogue with a cadence of their own. */
const categories = z
  .array(category, { error: 'expected a list of categories' })
  .superRefine(eachOnce('name'), alwaysOfList)
  .prefault([]);

function path(fallback: string, placeholder?: string) {
  return matching(/^\/[^\s?#]*(\?[^\s?#]*)?$/, `expected a path like ${fallback}`).refine(
    (value) => placeholder === undefined || value.includes(placeholder),
    { error: `expected ${placeholder} in it` },
  );
}

const product = '{product_id}';
const subscriptionId = '{subscription_id}';

function neededPath(at: string, placeholder?: string) {
  return path(at, placeholder).default(at);
}

function optionalPath(at: string, placeholder?: string) {
  return path(at, placeholder).nullable().default(at);
}

type ResourcePaths = Readonly<Record<NeededResourcePath, ReturnType<typeof neededPath>>> &
  Readonly<Record<Exclude<ResourcePath, NeededResourcePath>, ReturnType<typeof optionalPath>>>;

const resourcePaths = Object.fromEntries(
  resourceNames.map((name) => {
    const { path, at, needed } = resources[name];
    const placeholder = isList(name) ? undefined : product;
    return [path, needed ? neededPath(at, placeholder) : optionalPath(at, placeholder)];
  }),
) as unknown as ResourcePaths;

function answerTime(fallback: string) {
  return duration(fallback, { min: '1m', max: '7d' });
}

const parameters = {
  page: token().default('page'),
  page_size: token().default('page_size'),
  language: token().default('lang'),
  currency: token().default('currency'),
  from: token().default('start_date'),
  to: token().default('end_date'),
};

/** Settings that the specification leaves open. All have defaults, and all can be changed. */
const profile = section({
  authorization: section({
    header: token()
      .nullable()
      .default('Authorization')
      .describe('The header that carries the key; null: no key is sent and none is needed.'),
    scheme: headerText()
      .nullable()
      .default('Token')
      .describe('The scheme before the key in that header; null: the bare key.'),
    parameter: token()
      .nullable()
      .default(null)
      .describe('The query parameter that carries the key, in place of the header; null: none.'),
  }).describe('How the key is sent.'),
  paths: section({
    ...resourcePaths,
    subscription: optionalPath(`/v2/product-change-notification/${subscriptionId}`, subscriptionId),
    reactivate: optionalPath(`/v2/product-change-notification/${subscriptionId}/reactivate`, subscriptionId),
  }).describe(
    'Where the service answers, with a query if need be; null switches a resource off, except products and availability.',
  ),
  subscription_reads: flag(true).describe('Whether a subscription can be read; the specification lists only its PUT.'),
  parameters: section(parameters).describe('Names of the query parameters.'),
  first_page: whole(1, 0, 1).describe('Number of the first page of a list.'),
  page_size: whole(100, 1, 100).describe('Rows requested per list page.'),
  list_order: matching(/^[^\s=&]+=[^=&]+$/, 'expected a query parameter and its value, like sort=popularity desc')
    .nullable()
    .default('sort=popularity desc')
    .describe('Query parameter and value that request the list in order of popularity; null: its order means nothing.'),
  list_total: z
    .enum(['check', 'ignore'], { error: 'expected check or ignore' })
    .default('check')
    .describe(
      'A list with fewer rows than the total it names is incomplete (check); ignore, if the total counts what the list leaves out.',
    ),
  days_per_request: whole(31, 1, 31).describe('Dates that one availability answer covers.'),
  entities_per_subscription: whole(1000, 1, 100_000).describe(
    "A longer list is split into several subscriptions; the service's limit is unknown.",
  ),
  notifications: section({
    hold: answerTime('15m').describe('How long the service holds a notification to merge further changes into it.'),
    retries: answerTime('15m').describe('How long the service repeats a notification that was not answered.'),
  }).describe('How late a notification may come.'),
  throttle_statuses: z
    .array(wholeIn(400, 599, 'an HTTP status'), { error: 'expected a list of HTTP statuses' })
    .default([429, 503])
    .describe('Statuses that mean: send fewer calls.'),
  retry_after: z
    .enum(['find-out', 'account'], { error: 'expected find-out or account' })
    .default('find-out')
    .describe(
      'Reach of a long Retry-After. After a minute one call tests whether it is meant for all (find-out); account, if it always is.',
    ),
  timeout: duration('60s', { min: '100ms', max: '10m' }).describe(
    'Total time allowed for a call; three times as long for a page of the list.',
  ),
});

function listOf<Item extends z.ZodType<string>>(item: Item, what: string, fallback: [string]) {
  return z
    .tuple([item], item, { error: `expected a list of at least one ${what}` })
    .refine(areDistinct, { error: `expected each ${what} once` })
    .default(fallback as never);
}

const language = matching(/^[a-z]{2}$/, 'expected a language code of two lower case letters, like en');

const currencyError = 'expected an ISO 4217 currency code in upper case, like EUR';
const currencyPattern = /^[A-Z]{3}$/;
const currency = matching(currencyPattern, currencyError).refine(
  (code) => !currencyPattern.test(code) || minorUnitExponent(code) !== null,
  { error: currencyError },
);

const baseUrl = z
  .string({ error: 'expected the address of the service, like https://api.example.com' })
  .superRefine((value, context) => {
    const problem = problemOfBaseUrl(value);
    if (problem !== null) refuse(context, [], problem);
  });

function problemOfBaseUrl(value: string): string | null {
  const url = /^https?:\/\//i.test(value) ? URL.parse(value) : null;
  if (url === null) return 'expected the address of the service, like https://api.example.com';
  if (url.username !== '' || url.password !== '')
    return 'has credentials in it; expected the address alone, and the key in service.api_key_file';
  if (url.pathname !== '/' || /[?#]/.test(value))
    return 'has more than a host; expected the address alone, and paths in service.profile.paths';
  return null;
}

const ownFilters = { include_product_ids: ids().default([]), exclude_product_ids: ids().default([]) };
const filterError = 'expected a value or a list of values';
const filterValue = z.union([z.string(), z.number(), z.boolean()], { error: filterError });
const select = z
  .object(
    {
      include_product_ids: ownFilters.include_product_ids.describe(
        'Products mirrored even if the filters leave them out, as long as their own reads find them.',
      ),
      exclude_product_ids: ownFilters.exclude_product_ids.describe(
        'Not mirrored; one that was is withdrawn at the next start or reload.',
      ),
    },
    { error: 'expected keys and values' },
  )
  .catchall(z.union([filterValue, z.array(filterValue)], { error: filterError }))
  .superRefine((filters, context) => {
    for (const name of Object.keys(filters)) {
      if (/^(in|ex)clude_products?(_ids?)?$/.test(name) && !Object.hasOwn(ownFilters, name))
        refuse(context, [name], `is no filter; did you mean ${name.slice(0, 7)}_product_ids?`);
    }
  }, always)
  .prefault({});

/** `service`: the remote API and what is asked of it. */
const service = structure({
  base_url: baseUrl.describe('The address of the service, without a path. No default.'),
  api_key_file: optionalFile().describe(
    'The file that holds the key; else the systemd credential api_key or CATALOGUED_API_KEY.',
  ),
  user_agent: headerText().default('catalogued').describe('The service asks that it contains the name of your brand.'),
  languages: listOf(language, 'language', ['en']).describe('The first is primary: it decides what is visible.'),
  currencies: listOf(currency, 'currency', ['EUR']).describe('The first is primary.'),
  select: select.describe('Filters of the product list, passed through: city_id, country_id, tag_id …'),
  adapter: optionalFile().describe(
    'A module that asks a service of another shape and reads its answers (docs/service.md); null: the one that is built in.',
  ),
  profile: profile.describe(
    'Properties of the service that the specification leaves open; catalogued probe compares them with the live service.',
  ),
}).superRefine(({ select, profile }, context) => {
  const taken = new Map(
    Object.entries(profile?.parameters ?? {}).map(([key, name]) => [name as string, `parameters.${key}`]),
  );
  if (profile?.authorization?.parameter != null) taken.set(profile.authorization.parameter, 'authorization.parameter');
  for (const name of Object.keys(select ?? {})) {
    const key = taken.get(name);
    if (key !== undefined)
      refuse(
        context,
        ['select', name],
        `is a parameter that catalogued sends itself (service.profile.${key}); expected a filter`,
      );
  }
}, always);

const entities = 'expected mirrored, or a list of ids';
const subscription = structure({
  id: matching(/^[\w.-]{1,100}$/, 'expected letters, digits, dots and dashes, at most 100').describe(
    'A name of your choice.',
  ),
  type: oneOf(['product_ids', 'experience_ids', 'products_i_sell']),
  entities: z
    .union([z.literal('mirrored'), ids().min(1, { error: entities })], { error: entities })
    .optional()
    .describe('Whose changes: every product or experience in the mirror, or these ids. Not with products_i_sell.'),
  categories: z
    .array(plainText(), { error: 'expected a list of names of categories' })
    .min(1, { error: 'expected at least one category' })
    .refine(areDistinct, { error: 'expected each category once' })
    .optional()
    .describe('With entities: mirrored, only products of these categories.'),
  city_ids: ids().min(1, { error: 'expected at least one id' }).optional().describe('Only products in these cities.'),
  country_ids: ids()
    .min(1, { error: 'expected at least one id' })
    .optional()
    .describe('Only products in these countries.'),
  change_types: z
    .array(oneOf(changeTypes), { error: 'expected a list of change types' })
    .min(1, { error: `expected at least one of ${changeTypes.join(', ')}` })
    .refine(areDistinct, { error: 'expected each change type once' })
    .default([...changeTypes]),
}).superRefine(({ type, entities, ...subscription }, context) => {
  const refused = (message: string, key = 'entities') => refuse(context, [key], message);
  // Specification §2: required for two of the types, not to be provided for the third.
  if (type === 'products_i_sell' && entities !== undefined)
    refused('is not allowed with products_i_sell, where the service keeps the list; expected none');
  if ((type === 'product_ids' || type === 'experience_ids') && entities === undefined)
    refused(`is required with ${type}; expected mirrored, or a list of ids`);
  for (const key of ['categories', 'city_ids', 'country_ids'] as const)
    if (subscription[key] !== undefined && entities !== 'mirrored')
      refused('narrows what is mirrored; expected it with entities: mirrored only', key);
}, always);

/** The subscriptions that are declared. */
const subscriptions = z
  .array(subscription, { error: 'expected a list of subscriptions' })
  .superRefine(eachOnce('id'), alwaysOfList)
  .default([]);

/** `instance`: what sets this instance apart from others that share its database. */
const instance = section({
  name: plainText()
    .nullable()
    .default(null)
    .describe('What it is called where instances are told apart; null: the name of its host.'),
  advertise: webAddress('expected an address like https://host-a.example.com:8490').describe(
    'Where the others reach its admin interface; null: no other instance shares the database.',
  ),
}).describe('One of several instances: one calls the service, the others stand by.');

/** `budget`: how many calls the service may be sent. */
const budget = section({
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

/*
 * The configuration, key by key. What is written here is also schema/config.schema.json and, with its
 * defaults, config/catalogued.yaml: tests hold the three equal.
 */

const mirror = section({
  path: text('./data/mirror.db').describe('The mirror: the file that storefronts read.'),
  state_dir: text('./data/state').describe('Directory of inbox, lock and socket: mode 0700, shared with nobody.'),
  commission: flag(false).describe(
    "Whether the distributor's commission is mirrored; readers of the file would see it.",
  ),
}).superRefine((value, context) => {
  const { path, state_dir } = value;
  if (typeof path !== 'string' || typeof state_dir !== 'string') return;
  if (realPath(state_dir) === dirname(realPath(path)))
    refuse(context, ['state_dir'], "is the mirror's directory, where storefronts may read; expected one of its own");
  else if (isSamePlace(inboxIn(state_dir), path))
    refuse(context, ['path'], 'is inbox.db in mirror.state_dir; expected a file of its own');
}, always);

export const configSchema = structure({
  service: service.describe('The remote API.'),
  signing: section({
    key_file: optionalFile().describe('The RSA private key (PEM) for subscription requests.'),
    body: oneOf(['jwt', 'json']).default('jwt').describe('Whether the body is the signed token or plain JSON.'),
    content_type: mediaType('application/json').describe('The media type with which that body is sent.'),
    claims: flag(false).describe('Whether iat, exp and jti are added to the payload.'),
  }).describe('How subscription requests are signed.'),
  mirror: mirror.describe('Paths of the files.'),
  cadence: cadence.describe('How often each thing is read again.'),
  scheduling: oneOf(['adaptive', 'fixed'])
    .default('adaptive')
    .describe('adaptive: spend calls where a change is likely; fixed: follow the cadences alone.'),
  categories: categories.describe('Cadence, weight and horizon of parts of the catalogue; the first match wins.'),
  budget,
  receiver: section({
    listen: address('127.0.0.1:8480').describe('unix:PATH or HOST:PORT.'),
    public_url: webAddress(
      'expected the public address of the receiver, like https://hooks.example.com/catalogued',
    ).describe('The address at which the service reaches the receiver.'),
    secret_file: optionalFile().describe('The master secret of the callback addresses.'),
    allow: networks().describe('Addresses and networks that may call; empty: all.'),
    trusted_proxies: networks().describe('Whose X-Forwarded-For is believed.'),
    rotate_every: duration('30d', { min: '1d', max: '365d' }).describe('How often the callback address is replaced.'),
    grace: duration('7d', { min: '1h', max: '90d' }).describe('How long a replaced address is still accepted.'),
  }).describe('Receives the notifications.'),
  subscriptions: subscriptions.describe('Subscriptions to change notifications.'),
  admin: section({
    listen: optionalAddress().describe('unix:PATH or HOST:PORT; null: admin.sock in mirror.state_dir.'),
    token_file: optionalFile().describe('Needed outside a unix socket.'),
    hosts: hostNames().describe('Other host names under which it is reached, through a proxy or a container network.'),
  }).describe('The local interface of the daemon.'),
  storefront: section({
    listen: optionalAddress().describe('unix:PATH, open to the group, or HOST:PORT; null: off.'),
    token_file: optionalFile().describe('Needed outside a unix socket; must differ from the admin token.'),
    public_key: publicKey().describe('Opens reads of public columns, and nothing else: it may stand in a page.'),
    origins: origins().describe('Pages of these origins may read, with the public key; empty: none.'),
  })
    .superRefine(({ public_key, origins: named }, context) => {
      if (Array.isArray(named) && named.length > 0 && public_key === null)
        refuse(context, ['public_key'], 'is needed by origins; expected a key');
    }, always)
    .describe('The interface for storefronts: live checks, orders, the change feed and reads, and nothing else.'),
  images: section({
    files: flag(false).describe('Whether the image files are fetched too.'),
    directory: text('./data/images').describe('Directory of the image files.'),
    sizes: z
      .array(oneOf(['small', 'medium', 'large', 'extra_large']), { error: 'expected a list of sizes' })
      .min(1, { error: 'expected at least one size' })
      .refine(areDistinct, { error: 'expected each size once' })
      .default(['large'])
      .describe('Which of the four sizes are fetched.'),
    hosts: hostNames().describe("Hosts they may be fetched from; empty: the hosts in the service's answers."),
    disk: size('10GiB').describe('The most space they may take together.'),
  }).describe('Copies of the image files.'),
  held: section({
    less: oneOf(['hold', 'warn', 'off'])
      .default('hold')
      .describe('Products, sale status, dates, variants and texts that are taken away, or replaced by one value.'),
    price: oneOf(['hold', 'warn', 'off'])
      .default('hold')
      .describe('Prices that move by more than a factor of 2, or nearly all by one ratio.'),
  }).describe(
    'Answers that take something away from many records at once. hold: the mirror keeps what it shows; warn: they are reported and believed; off: believed.',
  ),
  retention: section({
    changes: duration('90d', { min: '1d' }).describe('How long the change feed reaches back.'),
    changes_bytes: size('1GiB').describe('The most space it may take; beyond it the oldest changes are deleted.'),
    deliveries: duration('30d', { min: '1d' }).describe('How long received notifications are kept.'),
    deliveries_bytes: size('1GiB').describe(
      'The most space they may take; beyond it bodies are deleted, applied ones first, waiting ones never.',
    ),
  }).describe('Withdrawn products are kept.'),
  backup: section({
    at: optionalCronPattern('0 3 * * *').describe('A cron pattern of five fields; null: none is made by schedule.'),
    zone: zone('UTC').describe('The time zone of the pattern.'),
    directory: plainText().nullable().default(null).describe('null: backup in mirror.state_dir.'),
    keep: whole(7, 1, 365).describe('Number of backups kept.'),
  }).describe('Verified copies of the mirror and the inbox.'),
  maintenance: section({
    at: cronPattern('0 4 * * *').describe('A cron pattern of five fields.'),
    zone: zone('UTC').describe('The time zone of the pattern.'),
  }).describe('When both files are checked and optimised.'),
  snapshot: section({
    every: optionalDuration({ min: '1m', max: '28d' }),
    path: plainText().nullable().default(null),
  })
    .superRefine((value, context) => {
      if (typeof value.every === 'number' && value.path === null)
        refuse(context, ['path'], 'is required with snapshot.every; expected the path of a file');
    }, always)
    .describe('A copy for readers on other hosts.'),
  rows: section({
    publish: flag(false).describe('Whether copies on other hosts may follow this mirror row by row.'),
  }).describe('Copies on other hosts (catalogued follow).'),
  database: section({
    url_file: optionalFile().describe('postgres://user:password@host:5432/database; null: there is none.'),
    schema: schemaName('catalogued').describe('Where in it: one for each account of the service.'),
  }).describe('PostgreSQL, which the mirror is published into.'),
  instance,
  log: section({
    level: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  }).describe('The log on standard output.'),
})
  .superRefine(({ mirror, snapshot, images, backup }, context) => {
    const path: unknown = snapshot?.path;
    if (typeof path !== 'string') return;
    const problem = problemOfSnapshot(path, {
      mirror: mirror?.path,
      state: mirror?.state_dir,
      backup: backup?.directory ?? backupIn(mirror?.state_dir),
      images: images?.directory,
    });
    if (problem !== null) refuse(context, ['snapshot', 'path'], problem);
  }, always)
  .superRefine(({ storefront, admin, receiver, mirror }, context) => {
    const listeners: Readonly<Record<string, unknown>> = {
      'receiver.listen': receiver?.listen,
      'admin.listen': admin?.listen ?? adminIn(mirror?.state_dir),
      'storefront.listen': storefront?.listen,
    };
    for (const { key, message } of problemsOfListeners(listeners, mirror?.state_dir))
      refuse(context, key.split('.'), message);
  }, always)
  .superRefine(({ categories, subscriptions }, context) => {
    if (!Array.isArray(categories) || !Array.isArray(subscriptions)) return;
    const names = new Set(categories.map((category) => category?.name));
    for (const [index, subscription] of subscriptions.entries()) {
      const named: unknown = subscription?.categories;
      for (const [at, name] of (Array.isArray(named) ? named : []).entries())
        if (!names.has(name))
          refuse(
            context,
            ['subscriptions', index, 'categories', at],
            'is no category; expected the name of one in categories',
          );
    }
  }, always)
  .transform(({ mirror, backup, admin, ...config }) => {
    const { state_dir } = mirror;
    return {
      ...config,
      mirror: { ...mirror, inbox_path: inboxIn(state_dir) },
      admin: { ...admin, listen: admin.listen ?? adminIn(state_dir) },
      backup: { ...backup, directory: backup.directory ?? backupIn(state_dir) },
    };
  });

/* The state directory holds these: the inbox always, the others unless the configuration says otherwise. */
const inboxIn = (state_dir: unknown) => join(String(state_dir), 'inbox.db');
const adminIn = (state_dir: unknown) => `unix:${join(String(state_dir), 'admin.sock')}`;
const backupIn = (state_dir: unknown) => join(String(state_dir), 'backup');

/** Two listeners cannot share an address, and a storefront's socket lies where storefronts can reach it. */
function problemsOfListeners(
  listeners: Readonly<Record<string, unknown>>,
  state_dir: unknown,
): { readonly key: string; readonly message: string }[] {
  const known = Object.entries(listeners).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return known.flatMap(([key, listen], index) => {
    const other = known.slice(0, index).find(([, before]) => shareAddress(before, listen));
    if (other !== undefined) {
      const spelled = other[1] === listen ? '' : ` (${other[1]})`;
      return [{ key, message: `is the same as ${other[0]}${spelled}; expected an address of its own` }];
    }
    const hidden =
      key === 'storefront.listen' &&
      listen.startsWith('unix:') &&
      typeof state_dir === 'string' &&
      isInside(listen.slice(5), state_dir);
    return hidden
      ? [{ key, message: 'is in mirror.state_dir, which nobody else can enter; expected a directory for storefronts' }]
      : [];
  });
}

/** A listener on every address of the machine also takes the port of one on a single address. */
function shareAddress(a: string, b: string): boolean {
  if (a.startsWith('unix:') || b.startsWith('unix:'))
    return a.startsWith('unix:') && b.startsWith('unix:') && isSamePlace(a.slice(5), b.slice(5));
  const [one, other] = [tcpAddress(a), tcpAddress(b)];
  const isEvery = ({ host }: { host: string }) => host === '0.0.0.0' || host === '[::]';
  // Port 0 is another one each time.
  return one.port === other.port && one.port !== 0 && (one.host === other.host || isEvery(one) || isEvery(other));
}

function tcpAddress(listen: string): { readonly host: string; readonly port: number } {
  const colon = listen.lastIndexOf(':');
  const host = listen.slice(0, colon).toLowerCase();
  return { host: host === 'localhost' ? '127.0.0.1' : host, port: Number(listen.slice(colon + 1)) };
}

function isInside(path: string, directory: string): boolean {
  return `${realPath(path)}/`.startsWith(`${realPath(directory)}/`);
}

/** A copy for everybody lies neither where nobody else may look, nor where others remove or count what they find. */
function problemOfSnapshot(path: string, ours: Readonly<Record<'mirror' | 'state' | 'backup' | 'images', unknown>>) {
  const inside = (directory: unknown) => typeof directory === 'string' && isInside(path, directory);
  if (['', '-wal', '-shm', '-journal'].some((end) => isSamePlace(`${String(ours.mirror)}${end}`, path)))
    return 'is the mirror itself; expected another file';
  if (inside(ours.state))
    return 'is in mirror.state_dir, which nobody else can enter; expected a directory for readers';
  if (inside(ours.backup))
    return 'is in backup.directory, where it would count as a backup; expected another directory';
  if (inside(ours.images)) return 'is in images.directory, where only image files are kept; expected another directory';
  return null;
}

/** The configuration: keys as in the file, durations in milliseconds, sizes in bytes. */
export type Config = DeepReadonly<z.output<typeof configSchema>>;

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;
