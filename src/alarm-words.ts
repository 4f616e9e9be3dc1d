import type { Alarm } from './mirror/alarms.ts';
import type { MirrorStatus } from './mirror/status.ts';
import { ago, number } from './words.ts';

/** A heading of one word, and what stands behind it. */
export interface AlarmWords {
  readonly about: string;
  readonly says: string;
}

type Says = (products: string, since: string) => string;

const words: Readonly<Record<Alarm['kind'], readonly [about: string, says: Says]>> = {
  'images-vanished': [
    'Images',
    (products, since) =>
      `all images of ${products} products vanished from the list ${since}: each is shown until 14 days after it was confirmed`,
  ],
  'images-unverified': [
    'Images',
    (products, since) =>
      `those of ${products} products were not confirmed for 12 days, noticed ${since}: each is hidden after 14 days`,
  ],
  'images-disk': [
    'Images',
    (products, since) => `files of ${products} products are not fetched since ${since}: images.disk is used up`,
  ],
  'images-refused': [
    'Images',
    (products, since) =>
      `some of ${products} products are not published, noticed ${since}: their addresses are not http or https on public hosts; a host of yours is named in images.hosts`,
  ],
  'prices-refused': [
    'Prices',
    (products, since) =>
      `prices below zero are refused, last of ${products} products, noticed ${since}: what they are of cannot be bought`,
  ],
  'closures-held': [
    'Closures',
    (_, since) => `too many products were said to be closed ${since}: those beyond a tenth wait for their reads`,
  ],
  'hints-not-confirmed': [
    'Closures',
    (_, since) =>
      `most that were announced are not confirmed, noticed ${since}: somebody may know the callback address; catalogued subscription rotate`,
  ],
  'old-address-used': [
    'Address',
    (_, since) =>
      `a callback address is called that was replaced, since ${since}: somebody has kept it; catalogued subscription show`,
  ],
  'subscription-silent': [
    'Silent',
    (products, since) =>
      `a subscription does not announce what changes, noticed ${since}; ${products} products are read as without it`,
  ],
  'subscription-taken': [
    'Taken',
    (_, since) =>
      `a subscription calls an address that is not ours, since ${since}: does another program use the same id?`,
  ],
  'subscription-broken': [
    'Broken',
    (products, since) =>
      `a subscription sends nothing, noticed ${since}; ${products} products are read as without it: catalogued subscription list`,
  ],
  'subscription-failing': [
    'Failing',
    (_, since) => `a subscription cannot be applied, since ${since}: catalogued subscription list`,
  ],
};

/** Every kind of alarm that there are words for. */
export const alarmKinds: readonly string[] = Object.keys(words);

/** What an alarm says to a person, and what to do about it. */
export function alarmWords({ kind, raised_at, products }: MirrorStatus['alarms'][number], now: number): AlarmWords {
  const since = ago(raised_at, now);
  if (!Object.hasOwn(words, kind)) return { about: 'Alarm', says: `${kind}, since ${since}` };
  const [about, says] = words[kind as Alarm['kind']];
  return { about, says: says(number(products), since) };
}
