import { counted, number } from '../../kernel/format.ts';
import { isOldAddressUsed } from '../../push/callback-epoch.rules.ts';
import { type ConditionKind, type ConditionKinds, fails, minute } from './condition.rules.ts';
import type { DeclaredFacts } from './facts.rules.ts';
import { failureOf } from './outcome.rules.ts';
import { reachedFromOutside } from './watched.rules.ts';

/** Conditions of subscriptions, their deliveries and the changes that these announce. */
export const ofPush = {
  'receiver-unreachable': {
    about: 'Receiver',
    headline: 'The receiver has been unreachable',
    severity: 'warning',
    means:
      'something else answers at `receiver.public_url`, or nothing does and the service calls a subscription degraded',
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
    headline: 'Deliveries have been refused',
    severity: 'error',
    means: 'deliveries were answered 503 in the last 15 minutes, because they could not be stored. They come again',
    todo: 'See the log: the disk, or another program that writes `inbox.db`',
    depends_on: ['disk-full', 'file-locked', 'inbox-lost', 'inbox-damaged'],
    found: ({ watched, at: now }) => {
      const at = watched?.failed.last_at ?? null;
      return at === null || now - at > 15 * minute
        ? null
        : { since: null, says: 'some could not be stored, and were answered 503' };
    },
  },
  'deliveries-stuck': {
    about: 'Inbox',
    headline: 'Deliveries have been waiting',
    severity: 'error',
    means: 'deliveries wait in the inbox, and none was applied for ten minutes',
    todo: 'See the log, restart the daemon and report it. Nothing is lost',
    depends_on: ['mirror-lost', 'mirror-damaged', 'disk-full', 'file-locked', 'clock-doubted'],
    visible_after_ms: 10 * minute,
    found: ({ watched, inbox }) =>
      watched === null || watched.settled === null || inbox === null
        ? null
        : { since: watched.settled.since, says: `${number(inbox.waiting)} wait, and none is applied` },
  },
  'deliveries-not-understood': {
    about: 'Inbox',
    headline: 'Deliveries have not been understood',
    severity: 'warning',
    means:
      'three deliveries of an hour could not be decoded, and no good one has come since. The products of their subscription are read as often as without it, and read again once a delivery is understood',
    todo: 'See what comes: `catalogued notifications list --state quarantined`, then `catalogued notifications show ID`. Ask the service for the form that `docs/notifications.md` lists, or report the other one',
    found: ({ subscriptions }) => {
      const unclear = subscriptions.flatMap(({ not_understood_since: since }) => since ?? []);
      return unclear.length === 0
        ? null
        : {
            since: Math.min(...unclear),
            says: `nobody understands the deliveries of ${number(unclear.length)} of ${number(subscriptions.length)} subscriptions: its products are read as often as without it`,
          };
    },
  },
  'closures-held': {
    about: 'Closures',
    headline: 'Announced closures have been held back',
    severity: 'warning',
    means:
      'more than five closures, and of more than 10 % of the products, were announced within ten minutes. Further ones wait for their reads',
    todo: 'Do nothing if they are real: the reads confirm it. Otherwise replace the callback address: `catalogued subscription rotate`',
    found: ({ closures }) =>
      closures.held === 0
        ? null
        : {
            since: null,
            says: 'too many were announced at once: those beyond a tenth of all products take effect only after their reads',
          },
  },
  'hints-not-confirmed': {
    about: 'Closures',
    headline: 'Many announced closures have not been confirmed',
    severity: 'warning',
    means:
      'reads did not confirm more than half of the last hundred announced closures: somebody may know the callback address',
    todo: 'Replace the address: `catalogued subscription rotate`',
    found: ({ closures }) =>
      closures.mostly_false === 0
        ? null
        : { since: null, says: 'most announced ones turned out false: somebody may know the callback address' },
  },
  'old-address-used': {
    about: 'Address',
    headline: 'A replaced callback address has been called',
    severity: 'warning',
    means: 'a callback address that was replaced is still called',
    todo: 'See `catalogued subscription show`. If the service still calls it, raise `receiver.grace`. If not, somebody else knows it, and replacing it was right',
    found: ({ outcomes, at: now }) => {
      const failure = failureOf(outcomes, 'callback-address');
      return failure === null || !isOldAddressUsed(failure, now)
        ? null
        : {
            since: failure.failed_at,
            says: 'a replaced callback address is still called: the service or somebody else has kept it',
          };
    },
  },
  'subscription-silent': {
    about: 'Silent',
    headline: 'A subscription has missed changes',
    severity: 'warning',
    means: 'reads find changes that a subscription did not announce. Its products are read as often as without it',
    todo: 'See `catalogued subscription show`. Ask the service whether it sends, and check whether your proxy refuses',
    depends_on: [
      'receiver-unreachable',
      'subscription-broken',
      'subscription-taken',
      'disk-full',
      'inbox-lost',
      'inbox-damaged',
    ],
    found: someSubscription(
      ({ trusted }) => trusted === 0,
      (products) => `a subscription misses changes; ${counted(products, 'product')} read as often as without it`,
    ),
  },
  'subscription-mute': {
    about: 'Silent',
    headline: 'A subscription has been silent',
    severity: 'warning',
    means: 'a subscription that used to deliver has been silent for much longer than ever before',
    todo: 'Ask the service whether it sends, and check whether your proxy refuses: `catalogued subscription show`, `catalogued doctor`',
    since_last_good: true,
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
    headline: 'Announced changes have not been visible',
    severity: 'warning',
    means:
      'changes were announced, but reads do not show them: a text is still old after half an hour, or three or more products show nothing new. A cache answers for the service, or announcements are forged',
    todo: 'Compare `catalogued explain PRODUCT` with the service’s own page; look for a cache on the way; `catalogued resync --product ID` reads it again',
    found: ({ tried }) => {
      const unshown = tried?.unshown ?? null;
      return unshown === null
        ? null
        : {
            since: unshown.since,
            says: `updates of ${counted(unshown.products, 'product')} were announced, and no read shows anything new`,
          };
    },
  },
  'subscription-taken': {
    about: 'Taken',
    headline: 'A subscription has had an address that is not ours',
    severity: 'warning',
    means: 'under our subscription’s id the service has, or had in the last day, an address that is not ours',
    todo: 'Look for another program or installation that uses the same id, and give one of them another',
    found: fails('subscription-address', () => 'a subscription sends to an address that is not ours'),
  },
  'subscription-broken': {
    about: 'Broken',
    headline: 'A subscription has not been working',
    severity: 'warning',
    means:
      'a subscription is degraded, failed or cancelled, and could not be reactivated yet. Its products are read as often as without it',
    todo: '`catalogued doctor` tests the public address, `catalogued subscription list` shows past attempts, `catalogued subscription reactivate` tries now',
    depends_on: ['receiver-unreachable', 'service-unreachable', 'key-refused', 'inbox-lost', 'inbox-damaged'],
    found: someSubscription(
      ({ broken }) => broken === 1,
      (products) => `a subscription sends nothing; ${counted(products, 'product')} read as often as without it`,
    ),
  },
  'subscription-failing': {
    about: 'Failing',
    headline: 'A subscription has been rejected',
    severity: 'warning',
    means: 'the service rejects a subscription, or sending it failed several times in a row',
    todo: '`catalogued subscription list` shows the service’s answer; often the service has another public key than ours',
    depends_on: ['service-unreachable', 'key-refused'],
    found: someSubscription(
      ({ failing }) => failing === 1,
      () => 'the service rejects a subscription',
    ),
  },
} satisfies ConditionKinds;

/** Returns the `found` of a condition that holds while a subscription has a problem. */
function someSubscription(
  has: (subscription: DeclaredFacts) => boolean,
  says: (products: number) => string,
): ConditionKind['found'] {
  return ({ subscriptions }) => {
    const concerned = subscriptions.filter(has);
    const products = concerned.reduce((sum, { covered_products }) => sum + (covered_products ?? 0), 0);
    return concerned.length === 0 ? null : { since: null, says: says(products) };
  };
}
