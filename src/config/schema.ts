import { dirname, join } from 'node:path';
import { z } from 'zod';
import { changeTypes } from '../domain/push/subscription.ts';
import { cadence, categories } from './cadence.ts';
import { isSamePlace, realPath } from './real-path.ts';
import { service } from './service.ts';
import { duration, optionalDuration, size } from './units.ts';
import {
  address,
  always,
  alwaysOfList,
  areDistinct,
  cronPattern,
  eachOnce,
  flag,
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
  webAddress,
  whole,
  zone,
} from './values.ts';

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
