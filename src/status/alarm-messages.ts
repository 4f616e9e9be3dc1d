import type { LiveAlarm } from '../files/storage.ts';
import type { FileAlarmKind } from '../files/watch.ts';
import { ago, number } from '../format.ts';
import type { Alarm } from '../mirror/status/alarms.ts';
import type { MirrorStatus } from '../mirror/status/status.ts';

/** A heading of one word, and what stands behind it. */
export interface AlarmMessage {
  readonly about: string;
  readonly says: string;
}

type Kind = Alarm['kind'] | LiveAlarm['kind'] | FileAlarmKind;
type Says = (products: string, since: string) => string;

const repair = 'put it back, or stop the daemon and: catalogued repair';

const messages: Readonly<Record<Kind, readonly [about: string, says: Says]>> = {
  'mirror-lost': [
    'Mirror',
    (_, since) =>
      `its file was removed or replaced while it was in use, ${since}: nothing is read, deliveries wait; ${repair}`,
  ],
  'mirror-damaged': [
    'Mirror',
    (_, since) =>
      `its file is damaged, found ${since}: nothing is read, deliveries wait; stop the daemon and: catalogued repair`,
  ],
  'inbox-lost': [
    'Inbox',
    (_, since) =>
      `its file was removed or replaced while it was in use, ${since}: deliveries are answered 503; ${repair}`,
  ],
  'inbox-damaged': [
    'Inbox',
    (_, since) =>
      `its file is damaged, found ${since}: deliveries are answered 503; stop the daemon and: catalogued repair`,
  ],
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
  'other-dates': [
    'Dates',
    (products, since) =>
      `${products} products are answered for other dates than were asked for, noticed ${since}: what stood of the rest is kept and ages; does something between here and the service cache without looking at the dates, or are service.profile.parameters others?`,
  ],
  'clock-doubted': [
    'Clock',
    (_, since) =>
      `the machine's clock is wrong or has jumped, noticed ${since}: work goes by the time since boot and the service's, nothing is pruned, and readers hide what their clock calls old; set it right (timedatectl)`,
  ],
  'sale-contradicted': [
    'Dates',
    (products, since) =>
      `${products} products are on sale by their own read, and their dates are answered as not on sale, noticed ${since}: none of their dates is bookable meanwhile; catalogued explain names when each is asked again`,
  ],
  'checks-flood': [
    'Checks',
    (calls, since) =>
      `live checks take most of the call budget since ${since}, ${calls} calls in the last minute: other reads wait; name callers (--caller), or ask less often`,
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
  'disk-full': ['Disk', (_, since) => `full since ${since}: nothing is stored until there is room; reading goes on`],
  'disk-low': ['Disk', (_, since) => `space is low since ${since}: reads in bulk pause; free some`],
  'file-locked': [
    'Locked',
    (_, since) => `another program has been writing our file since ${since}: end it; nothing is stored meanwhile`,
  ],
  'snapshot-failing': [
    'Snapshot',
    (_, since) => `none can be published since ${since}: readers elsewhere have an old one`,
  ],
};

/** Every kind of alarm that there are words for. */
export const alarmKinds: readonly string[] = Object.keys(messages);

/** What an alarm says to a person, and what to do about it. */
export function alarmMessage({ kind, raised_at, products }: MirrorStatus['alarms'][number], now: number): AlarmMessage {
  const since = ago(raised_at, now);
  if (!Object.hasOwn(messages, kind)) return { about: 'Alarm', says: `${kind}, since ${since}` };
  const [about, says] = messages[kind as Kind];
  return { about, says: says(number(products), since) };
}
