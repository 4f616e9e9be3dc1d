import { number } from '../../format.ts';
import { type ConditionKinds, minute, noted } from './condition.ts';
import { reachedFromOutside } from './watched.ts';

/** Conditions of subscriptions, their deliveries and the changes that these announce. */
export const ofPush = {
  'receiver-unreachable': {
    about: 'Receiver',
    severity: 'warning',
    means:
      'the receiver is not reached at `receiver.public_url`: something else answers there, or nobody does and the service calls a subscription degraded',
    todo: 'Check the proxy in front of the receiver, DNS and the firewall; `catalogued doctor` tests it again',
    depends_on: ['inbox-lost', 'inbox-damaged'],
    visible_after_ms: 15 * minute,
    found: ({ tried, inbox, subscriptions }) => {
      const test = tried?.public_address ?? null;
      if (test === null || inbox === null) return null;
      const { last_delivery_at } = inbox;
      return reachedFromOutside(test, { subscriptions, last_delivery_at }) === 'no'
        ? { since: test.since, says: `it is not reached at its public address: ${test.message}` }
        : null;
    },
  },
  'deliveries-refused': {
    about: 'Inbox',
    severity: 'error',
    means:
      'deliveries were answered 503 within the last quarter of an hour, because they could not be stored. The service sends them again',
    todo: 'See the log: the disk, or another program that writes `inbox.db`',
    depends_on: ['disk-full', 'file-locked', 'inbox-lost', 'inbox-damaged'],
    found: ({ watched }, now) => {
      const at = watched?.failed.last_at ?? null;
      return at === null || now - at > 15 * minute
        ? null
        : { since: null, says: 'some could not be stored, and were answered 503' };
    },
  },
  'deliveries-stuck': {
    about: 'Inbox',
    severity: 'error',
    means: 'deliveries wait in the inbox, and for ten minutes none was applied',
    todo: 'See the log, then restart the daemon: nothing is lost; report it',
    depends_on: ['mirror-lost', 'mirror-damaged', 'disk-full', 'file-locked', 'clock-doubted'],
    visible_after_ms: 10 * minute,
    found: ({ watched, inbox }) =>
      watched === null || watched.settled === null || inbox === null
        ? null
        : { since: watched.settled.since, says: `${number(inbox.waiting)} wait, and none is applied` },
  },
  'closures-held': {
    about: 'Closures',
    severity: 'warning',
    means: 'more closures were announced at once than is plausible; the rest waits for its reads',
    todo: 'Nothing, if the service has really closed them: the reads confirm it. Otherwise rotate the address: `catalogued subscription rotate`',
    found: noted(
      'closures-held',
      () => 'too many were announced at once: those beyond a tenth of all products take effect only after their reads',
    ),
  },
  'hints-not-confirmed': {
    about: 'Closures',
    severity: 'warning',
    means:
      'more than half of the last hundred announced closures were not confirmed by a read: somebody may know the callback address',
    todo: 'Replace the address: `catalogued subscription rotate`',
    found: noted(
      'hints-not-confirmed',
      () => 'most announced ones turned out false: somebody may know the callback address',
    ),
  },
  'old-address-used': {
    about: 'Address',
    severity: 'warning',
    means: 'a callback address that was replaced is still called',
    todo: 'See `catalogued subscription show`: if the service itself calls it, raise `receiver.grace`; if not, somebody has kept it, and rotating was right',
    found: noted(
      'old-address-used',
      () => 'a replaced callback address is still called: the service or somebody else has kept it',
    ),
  },
  'subscription-silent': {
    about: 'Silent',
    severity: 'warning',
    means:
      'reads find changes that a subscription should have announced. Its products are read as if it were not there',
    todo: 'See `catalogued subscription show`; ask the service whether it sends, and your proxy whether it refuses',
    depends_on: [
      'receiver-unreachable',
      'subscription-broken',
      'subscription-taken',
      'disk-full',
      'inbox-lost',
      'inbox-damaged',
    ],
    found: noted(
      'subscription-silent',
      (products) => `a subscription misses changes; ${number(products)} products are read as often as without it`,
    ),
  },
  'subscription-mute': {
    about: 'Silent',
    severity: 'warning',
    means: 'a subscription that used to deliver has sent nothing for longer than ever, nights and weekends included',
    todo: 'Ask the service whether it sends, and your proxy whether it refuses: `catalogued subscription show`, `catalogued doctor`',
    depends_on: [
      'receiver-unreachable',
      'subscription-broken',
      'subscription-taken',
      'subscription-silent',
      'inbox-lost',
      'inbox-damaged',
    ],
    found: ({ tried }) => {
      const mute = tried?.mute ?? null;
      return mute === null
        ? null
        : { since: mute.since, says: `${mute.subscriptions.join(', ')} used to deliver, and sends nothing` };
    },
  },
  'changes-not-shown': {
    about: 'Changes',
    severity: 'warning',
    means:
      'an update was announced of a text that we mirror, its product was read since, and half an hour later every read still shows the text that it should have replaced; or updates of three or more products were announced within six hours, and no read showed anything new: a cache answers in the service’s place, or somebody forges announcements',
    todo: 'Compare `catalogued explain PRODUCT` with the service’s own page; look for a cache between here and the service; `catalogued resync --product ID` reads once more',
    found: ({ tried }) => {
      const unshown = tried?.unshown ?? null;
      return unshown === null
        ? null
        : {
            since: unshown.since,
            says: `updates of ${number(unshown.products)} products were announced, and no read shows anything new`,
          };
    },
  },
  'subscription-taken': {
    about: 'Taken',
    severity: 'warning',
    means: 'the service has, or had within the last day, an address that is not ours under our subscription’s id',
    todo: 'Look for another program or a second installation that uses the same id, and give one of them another',
    found: noted('subscription-taken', () => 'a subscription sends to an address that is not ours'),
  },
  'subscription-broken': {
    about: 'Broken',
    severity: 'warning',
    means:
      'a subscription is degraded, failed or cancelled, and could not be revived yet. Its products are read as if it were not there',
    todo: '`catalogued doctor` tests the public address; `catalogued subscription list` says what was tried, `catalogued subscription reactivate` tries now',
    depends_on: ['receiver-unreachable', 'service-unreachable', 'key-refused', 'inbox-lost', 'inbox-damaged'],
    found: noted(
      'subscription-broken',
      (products) => `a subscription sends nothing; ${number(products)} products are read as often as without it`,
    ),
  },
  'subscription-failing': {
    about: 'Failing',
    severity: 'warning',
    means: 'a subscription is refused by the service, or could not be sent several times in a row',
    todo: '`catalogued subscription list` has the service’s words; often the public key that it knows is not ours',
    depends_on: ['service-unreachable', 'key-refused'],
    found: noted('subscription-failing', () => 'the service rejects a subscription'),
  },
} satisfies ConditionKinds;
