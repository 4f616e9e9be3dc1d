import { dynamicResources } from '../domain/schedule/resources.ts';
import { couldOnlyMatchProxy, unreachableCallback } from '../inbox/allowlist.ts';
import type { Config } from './schema.ts';
import { printDuration } from './units.ts';

const defaultUserAgent = 'catalogued';
const day = 24 * 60 * 60 * 1000;

/** What is allowed, and worth a second look: one sentence each, starting with the key. */
export function warningsOf(config: Config): string[] {
  return [...address(config), ...cadence(config), ...notifications(config), ...former(config)];
}

function address({ service }: Config): string[] {
  const { protocol, hostname } = new URL(service.base_url);
  const loopback = /^(localhost|\[::1\]|127\.[\d.]+)$/.test(hostname);
  const { throttle_statuses, burst_statuses } = service.profile;
  const both = burst_statuses.filter((status) => throttle_statuses.includes(status));
  return [
    ...when(
      service.user_agent === defaultUserAgent && !loopback,
      `service.user_agent is ${defaultUserAgent}: the service asks that it contains the name of your brand`,
    ),
    ...when(
      protocol === 'http:' && !loopback,
      `service.base_url is ${service.base_url}: the key goes over the network unencrypted`,
    ),
    ...when(
      both.length > 0,
      `service.profile.burst_statuses has ${both.join(', ')}, also in service.profile.throttle_statuses: even a single one counts as throttling`,
    ),
  ];
}

function cadence({ cadence }: Config): string[] {
  const { near, middle, far } = cadence.availability;
  const slower = (key: string, every: number, than: string, other: number) =>
    when(
      every > other,
      `${key} (${printDuration(every)}) is slower than ${than} (${printDuration(other)}): is that intended?`,
    );
  return [
    ...slower('cadence.availability.near.every', near.every, 'cadence.availability.middle.every', middle.every),
    ...slower('cadence.availability.middle.every', middle.every, 'cadence.availability.far.every', far.every),
    ...(['products', ...dynamicResources] as const).flatMap((name) =>
      slower(`cadence.dynamic_pricing.${name}`, cadence.dynamic_pricing[name], `cadence.${name}`, cadence[name]),
    ),
    ...when(
      cadence.images > 12 * day,
      `cadence.images is ${printDuration(cadence.images)}: images are hidden after 14 days, so few days remain to retry a failed confirmation`,
    ),
  ];
}

function notifications({ subscriptions, receiver, signing, service }: Config): string[] {
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
    ...when(
      receiver.public_url !== null && receiver.secret_file === null,
      'subscriptions are declared, and receiver.secret_file is not set: without it, CATALOGUED_RECEIVER_SECRET or the credential receiver_secret, nothing is received',
    ),
    ...when(
      signing.key_file === null && signing.body === 'jwt',
      'subscriptions are declared, and signing.key_file is not set: without it or the credential signing_key, they cannot be applied',
    ),
  ];
}

/** Keys that have left, and what they mean now: understood for two contract versions. */
function former({ backup, budget }: Config): string[] {
  const { every, at } = backup;
  const { extra_calls, share, times } = budget;
  const left = 'is a former key, understood until contract 7: write';
  return [
    ...when(every !== null, `backup.every ${left} backup.at: "${at ?? ''}" for about the same`),
    ...when(
      extra_calls !== null,
      `budget.extra_calls ${left} budget.share: ${share} and budget.times: ${times} for the same, or neither for the default`,
    ),
  ];
}

function when(condition: boolean, warning: string): string[] {
  return condition ? [warning] : [];
}
