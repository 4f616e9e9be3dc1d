import type { LiveAlarm } from '../files/storage-status.ts';
import type { FileAlarmKind } from '../files/watch.ts';
import { ago, number } from '../format.ts';
import type { Alarm } from '../mirror/status/alarms.ts';
import type { MirrorStatus } from '../mirror/status/status.ts';

/** The message of an alarm: a heading of one word, and a sentence. */
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
      `its file was removed or replaced while in use, ${since}: reading has stopped and deliveries wait; ${repair}`,
  ],
  'mirror-damaged': [
    'Mirror',
    (_, since) =>
      `its file is damaged, found ${since}: reading has stopped and deliveries wait; stop the daemon and: catalogued repair`,
  ],
  'inbox-lost': [
    'Inbox',
    (_, since) => `its file was removed or replaced while in use, ${since}: deliveries are answered 503; ${repair}`,
  ],
  'inbox-damaged': [
    'Inbox',
    (_, since) =>
      `its file is damaged, found ${since}: deliveries are answered 503; stop the daemon and: catalogued repair`,
  ],
  'images-vanished': [
    'Images',
    (products, since) =>
      `the list suddenly shows no images for ${products} products, noticed ${since}: the known ones stay visible until 14 days after their last confirmation`,
  ],
  'images-unverified': [
    'Images',
    (products, since) =>
      `images of ${products} products have not been confirmed for 12 days, noticed ${since}: each is hidden after 14 days`,
  ],
  'images-disk': [
    'Images',
    (products, since) =>
      `image files of ${products} products cannot be fetched, noticed ${since}: images.disk is used up; raise it, or fetch fewer images.sizes`,
  ],
  'images-refused': [
    'Images',
    (products, since) =>
      `some images of ${products} products are not published, noticed ${since}: their URLs are not http or https on public hosts; add a host of your own to images.hosts`,
  ],
  'prices-refused': [
    'Prices',
    (products, since) =>
      `the service sent negative prices for ${products} products, noticed ${since}: they are rejected, and what they belong to is not sold`,
  ],
  'other-dates': [
    'Dates',
    (products, since) =>
      `the service answered for other dates than requested for ${products} products, noticed ${since}: the old facts about the remaining dates are kept and become stale; check for a cache between here and the service that ignores dates, and service.profile.parameters`,
  ],
  'clock-doubted': [
    'Clock',
    (_, since) =>
      `the machine's clock is wrong or has jumped, noticed ${since}: the daemon uses the time since boot and the service's time, deletes nothing by age, and readers may hide what their clock calls expired; set the clock (timedatectl)`,
  ],
  'sale-contradicted': [
    'Dates',
    (products, since) =>
      `the service calls ${products} products on sale but their dates not on sale, noticed ${since}: none of their dates is bookable meanwhile; catalogued explain shows when each is read again`,
  ],
  'checks-flood': [
    'Checks',
    (calls, since) =>
      `live checks have used most of the call budget since ${since}, ${calls} calls in the last minute: other reads wait; name callers (--caller) to limit each, or check less often`,
  ],
  'closures-held': [
    'Closures',
    (_, since) =>
      `too many closures were announced at once, ${since}: those beyond a tenth of all products take effect only after their reads`,
  ],
  'hints-not-confirmed': [
    'Closures',
    (_, since) =>
      `most announced closures turned out false, noticed ${since}: somebody may know the callback address; replace it: catalogued subscription rotate`,
  ],
  'old-address-used': [
    'Address',
    (_, since) =>
      `a replaced callback address is still called, since ${since}: the service or somebody else has kept it; see catalogued subscription show`,
  ],
  'subscription-silent': [
    'Silent',
    (products, since) =>
      `a subscription misses changes, noticed ${since}; ${products} products are read as often as without it`,
  ],
  'subscription-taken': [
    'Taken',
    (_, since) =>
      `a subscription sends to an address that is not ours, since ${since}: check whether another program uses the same id`,
  ],
  'subscription-broken': [
    'Broken',
    (products, since) =>
      `a subscription sends nothing, noticed ${since}; ${products} products are read as often as without it; see catalogued subscription list`,
  ],
  'subscription-failing': [
    'Failing',
    (_, since) => `the service rejects a subscription, since ${since}; see catalogued subscription list`,
  ],
  'disk-full': [
    'Disk',
    (_, since) => `full since ${since}: nothing is stored until space is free; storefronts can still read`,
  ],
  'disk-low': ['Disk', (_, since) => `space has been low since ${since}: bulk reads pause; free some space`],
  'file-locked': [
    'Locked',
    (_, since) =>
      `another program has held the write lock since ${since}: end its transaction; nothing is stored meanwhile`,
  ],
  'snapshot-failing': [
    'Snapshot',
    (_, since) => `no snapshot could be published since ${since}: readers on other hosts have an old one`,
  ],
  'backup-failing': [
    'Backup',
    (_, since) =>
      `no backup could be made since ${since}: the last one grows old; see the log, then: catalogued backup`,
  ],
  'backup-unusable': [
    'Backup',
    (_, since) =>
      `the newest backup could not be restored on trial, ${since}: catalogued backup --list says why; make another: catalogued backup`,
  ],
};

/** Every kind of alarm that has a message. */
export const alarmKinds: readonly string[] = Object.keys(messages);

/** Returns what an alarm means, and what to do about it. */
export function alarmMessage({ kind, raised_at, products }: MirrorStatus['alarms'][number], now: number): AlarmMessage {
  const since = ago(raised_at, now);
  if (!Object.hasOwn(messages, kind)) return { about: 'Alarm', says: `${kind}, since ${since}` };
  const [about, says] = messages[kind as Kind];
  return { about, says: says(number(products), since) };
}
