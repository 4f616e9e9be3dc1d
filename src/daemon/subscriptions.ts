import type { Answers } from '../admin/api.ts';
import type { Config, LoadedConfig } from '../config/load.ts';
import { readSigningKey } from '../domain/push/signing-key.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { type CallbackAddresses, ownTestToken } from '../inbox/addresses.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { Sync } from '../sync/records/context.ts';
import type { SubscriptionPorts, SubscriptionSettings } from '../sync/subscriptions/declared.ts';
import { type ManagedSubscriptions, subscriptionWork } from '../sync/subscriptions/work.ts';
import type { ServiceAsker } from '../upstream/adapter/service-asker.ts';
import type { Limiter } from '../upstream/limiter.ts';
import { selfTest } from '../upstream/self-test.ts';
import type { ServiceClock } from '../upstream/service-clock.ts';
import type { Signing } from '../upstream/signing.ts';
import { createSubscriptions, type SubscriptionOutcome, type Subscriptions } from '../upstream/subscriptions.ts';
import type { ClockWatch } from './clock/clock-watch.ts';
import type { Machine } from './machine.ts';
import { tellingInTime } from './sharing/copying.ts';
import type { Sharing } from './sharing/sharing.ts';

interface SubscriptionParts {
  readonly machine: Machine;
  readonly sync: Sync;
  readonly inbox: Inbox;
  readonly asker: ServiceAsker;
  readonly limiter: Limiter;
  readonly serviceClock: ServiceClock;
  readonly watch: ClockWatch;
  readonly sharing: Sharing | null;
}

const selfTestMs = 8000;

/** Connects the declared subscriptions to the service, if everything needed is configured. */
export function manageSubscriptions(
  { config, secrets }: LoadedConfig,
  { machine, sync, inbox, asker, limiter, serviceClock, watch, sharing }: SubscriptionParts,
): ManagedSubscriptions {
  const { clock, entropy } = sync;
  const { public_url } = config.receiver;
  const addresses = secrets.receiver_secret === null ? null : inbox.addresses;
  const why = missing(config, addresses);
  const secret = secrets.receiver_secret;
  if (why !== null || public_url === null || addresses === null || secret === null)
    return { why: why ?? missingAddress };
  const service = createSubscriptions({
    asker,
    limiter,
    service_clock: serviceClock,
    profile: config.service.profile,
    signing: signingOf(config.signing, secrets),
    clock,
    entropy,
  });
  const testOverNetwork: SubscriptionPorts['selfTest'] = (signal) => {
    const token = ownTestToken(secret, clock.now());
    // The receiver's 404 has no body; a proxy's has one.
    return selfTest({ token, public_url, clock, deadline_ms: selfTestMs, refusal: '' }, signal);
  };
  return {
    work: subscriptionWork({
      ...sync,
      service: sharing === null ? service : tellingFirst(service, tellingInTime(sharing.deliveries, addresses, clock)),
      addresses,
      mayRotate: () => watch.mayPrune(),
      settings: { ...settingsOf(config), public_url },
      selfTest: machine.network.selfTest ?? testOverNetwork,
    }),
  };
}

/** Ensures that every instance recognises an address before the service uses it. */
function tellingFirst(service: Subscriptions, tell: () => Promise<void>): Subscriptions {
  const first = async (ask: () => Promise<SubscriptionOutcome>): Promise<SubscriptionOutcome> => {
    try {
      await tell();
    } catch (error) {
      return { kind: 'unreachable', code: 'database', message: (error as Error).message };
    }
    return ask();
  };
  return {
    ...service,
    put: (request, signal) => first(() => service.put(request, signal)),
    reactivate: (id, callback_url, signal) => first(() => service.reactivate(id, callback_url, signal)),
  };
}

/** Returns the declared subscriptions in the form that the work needs. */
export function settingsOf({ subscriptions, service, receiver }: Config): Omit<SubscriptionSettings, 'public_url'> {
  const { rotate_every, grace } = receiver;
  const { entities_per_subscription: most, subscription_reads: reads } = service.profile;
  return { declared: subscriptions, most, reads, rotate_every, grace };
}

/** Returns the signing settings; null without a key. A key that cannot sign was refused when it was read. */
function signingOf({ body, claims }: Config['signing'], { signing_key }: LoadedConfig['secrets']): Signing | null {
  if (body === 'json') return { body };
  if (signing_key === null) return null;
  const key = readSigningKey(signing_key.reveal());
  return 'problem' in key ? null : { body, key, claims };
}

const missingAddress = refusal(
  'the receiver has no master secret',
  'set receiver.secret_file, or CATALOGUED_RECEIVER_SECRET',
);

function missing(
  { subscriptions, receiver, service }: Config,
  addresses: CallbackAddresses | null,
): CataloguedError | null {
  if (subscriptions.length === 0)
    return refusal(
      'no subscription is declared',
      'declare one, for example subscriptions: [{ id: all, type: product_ids, entities: mirrored }]',
      'no-subscription',
    );
  if (service.profile.paths.subscription === null)
    return refusal(
      'service.profile.paths.subscription is null',
      'set it to the path where the service manages subscriptions',
    );
  if (receiver.public_url === null)
    return refusal('receiver.public_url is not set', 'set it to the address at which the service reaches the receiver');
  return addresses === null ? missingAddress : null;
}

function refusal(message: string, hint: string, code = 'subscriptions'): CataloguedError {
  return new CataloguedError(code, message, { exitCode: exitCodes.configuration, hint });
}

/** Answers people's requests about subscriptions. Throws if subscriptions cannot be managed. */
export function subscriptionAnswers(
  managed: ManagedSubscriptions,
): Pick<Answers, `POST /v1/subscriptions/${'compare' | 'apply' | 'reactivate' | 'rotate'}`> {
  const manage = () => {
    if ('why' in managed) throw managed.why;
    return managed.work;
  };
  return {
    'POST /v1/subscriptions/compare': ({ body }, signal) => manage().compare(body.subscription_id, signal),
    'POST /v1/subscriptions/apply': ({ body }, signal) => manage().apply(body.dry_run ? 'dry' : 'now', signal),
    'POST /v1/subscriptions/reactivate': ({ body }, signal) => manage().reactivate(body.subscription_id, signal),
    'POST /v1/subscriptions/rotate': ({ body }, signal) => manage().rotate(body.subscription_id, signal),
  };
}
