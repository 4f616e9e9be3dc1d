import { couldOnlyMatchProxy, unreachableCallback } from '../receiver/allowlist.ts';
import { dynamicResources } from '../schedule/resources.rules.ts';
import type { Config } from './schema.ts';
import { printDuration } from './units.ts';

const defaultUserAgent = 'catalogued';
const day = 24 * 60 * 60 * 1000;

/** Returns a warning for each allowed but questionable setting: one sentence each, starting with the key. */
export function warningsOf(config: Config): string[] {
  return [
    ...address(config),
    ...cadence(config),
    ...beyondRecommendation(config),
    ...notifications(config),
    ...instances(config),
  ];
}

function address({ service }: Config): string[] {
  const { protocol, hostname } = new URL(service.base_url);
  const loopback = isLoopback(hostname);
  return [
    ...when(
      service.user_agent === defaultUserAgent && !loopback,
      `service.user_agent is ${defaultUserAgent}: the service asks that it contains the name of your brand`,
    ),
    ...when(
      protocol === 'http:' && !loopback,
      `service.base_url is ${service.base_url}: the key goes over the network unencrypted`,
    ),
  ];
}

function cadence({ cadence }: Config): string[] {
  const { near, middle, far, beyond } = cadence.availability;
  const slower = (key: string, every: number, than: string, other: number) =>
    when(
      every > other,
      `${key} (${printDuration(every)}) is slower than ${than} (${printDuration(other)}): is that intended?`,
    );
  return [
    ...slower('cadence.availability.near.every', near.every, 'cadence.availability.middle.every', middle.every),
    ...slower('cadence.availability.middle.every', middle.every, 'cadence.availability.far.every', far.every),
    ...slower(
      'cadence.availability.far.every',
      far.every,
      'cadence.availability.beyond.every',
      beyond.every ?? far.every,
    ),
    ...(['products', ...dynamicResources] as const).flatMap((name) =>
      slower(`cadence.dynamic_pricing.${name}`, cadence.dynamic_pricing[name], `cadence.${name}`, cadence[name]),
    ),
    ...when(
      cadence.images > 12 * day,
      `cadence.images is ${printDuration(cadence.images)}: images are hidden after 14 days, so few days remain to retry a failed confirmation`,
    ),
  ];
}

/** The recommendations of the service (specification §1), each with the longest cadence that is still near it. */
const recommended = {
  products: { longest: 14 * day, says: 'about once a week for the product list' },
  checkout_information: { longest: 14 * day, says: 'about once a week for checkout information' },
  near: { longest: day, says: 'several times a day for the next two weeks' },
  middle: {
    longest: 2 * day,
    says: 'several times a day for the next two weeks and once or twice a day after a month',
  },
  far: { longest: 2 * day, says: 'once or twice a day for dates more than a month ahead' },
  dynamic: { longest: 7 * day, says: 'about once a week for products whose prices do not change by the day' },
} as const;

/** Cadences that are allowed and far slower than the service recommends: one sentence a key. */
function beyondRecommendation({ cadence, categories }: Config): string[] {
  const own = (at: string, { products, checkout_information, availability }: Partial<Config['cadence']> | OwnCadence) =>
    [
      [`${at}.products`, products, recommended.products],
      [`${at}.checkout_information`, checkout_information, recommended.checkout_information],
      [`${at}.availability.near.every`, availability?.near?.every, recommended.near],
      [`${at}.availability.middle.every`, availability?.middle?.every, recommended.middle],
      [`${at}.availability.far.every`, availability?.far?.every, recommended.far],
    ] as const;
  const { products, checkout_information } = cadence.dynamic_pricing;
  return [
    ...own('cadence', cadence),
    ['cadence.dynamic_pricing.products', products, recommended.dynamic] as const,
    ['cadence.dynamic_pricing.checkout_information', checkout_information, recommended.dynamic] as const,
    ...categories.flatMap((category, index) => own(`categories[${index}].cadence`, category.cadence ?? {})),
  ].flatMap(([key, every, { longest, says }]) =>
    every === undefined
      ? []
      : when(every > longest, `${key} is ${printDuration(every)}: the service recommends ${says}`),
  );
}

type OwnCadence = NonNullable<Config['categories'][number]['cadence']>;

/** The others call the leader at this address, with the token of the admin interface. */
function instances({ instance: { advertise } }: Config): string[] {
  if (advertise === null) return [];
  const { protocol, hostname } = new URL(advertise);
  return when(
    protocol === 'http:' && !isLoopback(hostname),
    `instance.advertise is ${advertise}: the admin token goes over the network unencrypted; use https, through a proxy on this host`,
  );
}

function isLoopback(hostname: string): boolean {
  return /^(localhost|\[::1\]|127\.[\d.]+)$/.test(hostname);
}

function notifications({ subscriptions, receiver, service }: Config): string[] {
  const proxy = couldOnlyMatchProxy(receiver);
  const unreachable = unreachableCallback(receiver.public_url, service.base_url);
  const refused = [
    ...(proxy === null ? [] : [`${proxy.message}: run refuses to start; ${proxy.hint}`]),
    ...(unreachable === null ? [] : [`${unreachable}: nothing can be delivered`]),
  ];
  if (subscriptions.length === 0) return refused;
  return [
    ...refused,
    ...when(
      receiver.public_url === null,
      'subscriptions are declared, and receiver.public_url is not set: nothing can be delivered',
    ),
  ];
}

function when(condition: boolean, warning: string): string[] {
  return condition ? [warning] : [];
}
