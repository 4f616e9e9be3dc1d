import type { Answers } from '../admin/api.ts';
import type { Config, LoadedConfig } from '../config/load.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { selfTest } from '../push/self-test.ask.ts';
import type { Signing } from '../push/signing.ts';
import { readSigningKey } from '../push/signing-key.rules.ts';
import type { SubscriptionContext, SubscriptionSettings } from '../push/subscription.ask.ts';
import { Subscriptions } from '../push/subscription-calls.ask.ts';
import { type ManagedSubscriptions, SubscriptionWork } from '../push/subscriptions.ts';
import { ownTestToken } from '../receiver/addresses.store.ts';
import type { Sync } from '../schedule/sync.ts';
import type { OpenFiles } from './files.ts';
import type { Machine } from './machine.ts';
import type { ServiceConnection } from './service.ts';
import { tellingInTime } from './sharing/copying.ts';
import type { Sharing } from './sharing/sharing.ts';

interface SubscriptionParts extends OpenFiles, ServiceConnection {
  readonly machine: Machine;
  readonly sync: Sync;
  readonly watch: SubscriptionContext['watch'];
  readonly sharing: Sharing | null;
}

const selfTestMs = 8000;

/** Connects the declared subscriptions to the service, if everything needed is configured. */
export function manageSubscriptions(
  { config, secrets }: LoadedConfig,
  { machine, sync, inbox, asker, limiter, serviceClock, watch, sharing }: SubscriptionParts,
): ManagedSubscriptions {
  const { clock, entropy } = sync;
  const { addresses } = inbox;
  const { public_url } = config.receiver;
  const { profile } = config.service;
  const secret = secrets.receiver_secret;
  if (config.subscriptions.length === 0)
    return refusal(
      'no subscription is declared',
      'declare one, for example subscriptions: [{ id: all, type: product_ids, entities: mirrored }]',
      'no-subscription',
    );
  if (profile.paths.subscription === null)
    return refusal(
      'service.profile.paths.subscription is null',
      'set it to the path where the service manages subscriptions',
    );
  if (public_url === null)
    return refusal('receiver.public_url is not set', 'set it to the address at which the service reaches the receiver');
  if (secret === null)
    return refusal('the receiver has no master secret', 'set receiver.secret_file, or CATALOGUED_RECEIVER_SECRET');
  const testOverNetwork: SubscriptionContext['selfTest'] = (signal) => {
    const token = ownTestToken(secret, clock.now());
    // The receiver's 404 has no body; a proxy's has one.
    return selfTest({ token, public_url, clock, deadline_ms: selfTestMs, refusal: '' }, signal);
  };
  const service = new Subscriptions({
    asker,
    limiter,
    service_clock: serviceClock,
    profile,
    signing: signingOf(config.signing, secrets),
    clock,
    entropy,
    tell: sharing === null ? null : tellingInTime(sharing.deliveries, addresses, clock),
  });
  return {
    work: new SubscriptionWork({
      sync,
      service,
      addresses,
      watch,
      settings: { ...settingsOf(config), public_url },
      selfTest: machine.network.selfTest ?? testOverNetwork,
    }),
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

function refusal(message: string, hint: string, code = 'subscriptions'): { readonly why: CataloguedError } {
  return { why: new CataloguedError(code, message, { exitCode: exitCodes.configuration, hint }) };
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
