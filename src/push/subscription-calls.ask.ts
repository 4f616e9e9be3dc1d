import { type Clock, type Entropy, type Instant, instant } from '../kernel/clock.ts';
import type { Members } from '../kernel/values/exact-json.ts';
import type { ReactivateQuestion, SubscribeQuestion, SubscriptionQuestion } from '../service/adapter.rules.ts';
import { callLimits } from '../service/call-limits.ts';
import type { Limiter } from '../service/limiter.ts';
import type { Outcome } from '../service/outcome.ts';
import { noKey, type SendOptions, type ServiceAsker } from '../service/service-asker.ts';
import { offsetUsedMs, type ServiceClock } from '../service/service-clock.ts';
import { subscriptionShape, UnreadMembers } from '../service/shapes.rules.ts';
import { type Signing, signedToken } from './signing.ts';
import type { SubscriptionContent, WantedSubscription } from './subscription.rules.ts';

/** Subscription that the service is asked to create. */
export type SubscriptionRequest = Omit<WantedSubscription, 'declared_id'> & { readonly callback_url: string };

/** Subscription as the service reports it. Null: not reported. */
export interface SubscriptionAnswer extends SubscriptionContent {
  readonly callback_url: string | null;
  /** An open list: active, degraded, failed, cancelled, or another word. */
  readonly status: string | null;
}

/** `missing`: the service has none of this id, or (404) no such path. */
export type SubscriptionOutcome =
  | { readonly kind: 'read'; readonly value: SubscriptionAnswer; readonly sent_at: Instant }
  | { readonly kind: 'missing'; readonly status: 404 | 410 }
  | Exclude<Outcome, { kind: 'answer' }>;

export interface SubscriptionsOptions {
  readonly asker: ServiceAsker;
  readonly limiter: Pick<Limiter, 'run'>;
  readonly profile: {
    readonly paths: Readonly<Record<'subscription' | 'reactivate', string | null>>;
    readonly timeout: number;
  };
  /** Null: there is no key to sign with, and nothing can be changed. */
  readonly signing: Signing | null;
  readonly service_clock: ServiceClock;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Ensures that every instance recognises an address before the service uses it. Null: there are no others. */
  readonly tell: (() => Promise<void>) | null;
}

type Change = SubscribeQuestion | ReactivateQuestion;

/** The service's subscriptions, through the one limiter. A caller's abort rejects with its reason; nothing is repeated here. */
export class Subscriptions {
  /** Operations for which the service profile has a path; `put` and `find` share one. */
  readonly can: { readonly put: boolean; readonly reactivate: boolean };
  readonly #options: SubscriptionsOptions;

  constructor(options: SubscriptionsOptions) {
    const { signing, profile } = options;
    const { subscription, reactivate } = profile.paths;
    this.#options = options;
    this.can = { put: subscription !== null && signing !== null, reactivate: reactivate !== null && signing !== null };
  }

  /** Creates or overwrites a subscription. Its result is `read` even if the answer says nothing. */
  put(request: SubscriptionRequest, signal: AbortSignal): Promise<SubscriptionOutcome> {
    const { subscription_id, type: subscription_type, entity_ids, change_types, callback_url } = request;
    return this.#change(
      { kind: 'subscribe', subscription_id, subscription_type, entity_ids, change_types, callback_url },
      signal,
    );
  }

  async find(subscription_id: string, signal: AbortSignal): Promise<SubscriptionOutcome> {
    const question = { kind: 'subscription', subscription_id } as const;
    const { asker, signing } = this.#options;
    const found = withMissing(read(asker, question, await this.#ask(question, 0, signal), signing));
    // An answer without a word about the subscription would make it look right.
    return found.kind === 'read' && Object.values(found.value).every((value) => value === null)
      ? { kind: 'failed', code: 'wrong-shape', message: 'the answer says nothing about a subscription' }
      : found;
  }

  /** Null keeps the callback address that the service has. */
  async reactivate(
    subscription_id: string,
    callback_url: string | null,
    signal: AbortSignal,
  ): Promise<SubscriptionOutcome> {
    return withMissing(await this.#change({ kind: 'reactivate', subscription_id, callback_url }, signal));
  }

  /** Signed, and corrected once where the service's clock makes the claims look wrong. */
  async #change(question: Change, signal: AbortSignal): Promise<Exclude<SubscriptionOutcome, Missing>> {
    const { asker, signing, service_clock, tell } = this.#options;
    try {
      await tell?.();
    } catch (error) {
      return { kind: 'unreachable', code: 'database', message: (error as Error).message };
    }
    if (signing === null) return noKey;
    const known = service_clock.offset() ?? 0;
    const used = Math.abs(known) > offsetUsedMs ? known : 0;
    let outcome = await this.#ask(question, used, signal);
    const newest = service_clock.newest() ?? used;
    const claims = signing.body === 'jwt' && signing.claims;
    if (claims && isUnsigned(outcome) && Math.abs(newest - used) > offsetUsedMs)
      outcome = await this.#ask(question, newest, signal);
    return read(asker, question, outcome, signing);
  }

  async #ask(question: Change | SubscriptionQuestion, offset: number, signal: AbortSignal): Promise<Outcome> {
    const { asker, limiter, profile, signing, clock, entropy } = this.#options;
    const prepared = asker.prepare(question);
    if (prepared.kind === 'failed') return prepared;
    // Signed when its turn has come: a token is valid for two minutes only.
    const sign: SendOptions['sign'] =
      signing === null || signing.body === 'json'
        ? undefined
        : (wanted) => signedToken(signing, wanted, { now: instant(clock.now() + offset), entropy });
    const limits = callLimits(profile.timeout).other;
    const call = (turn: AbortSignal) =>
      asker.send(prepared, { ...limits, signal: turn, ...(sign === undefined ? {} : { sign }) });
    return limiter.run(call, signal, 'notification', null, `subscription ${question.subscription_id}`);
  }
}

type Missing = Extract<SubscriptionOutcome, { kind: 'missing' }>;

function withMissing(outcome: Exclude<SubscriptionOutcome, Missing>): SubscriptionOutcome {
  return outcome.kind === 'refused' && (outcome.status === 404 || outcome.status === 410)
    ? { kind: 'missing', status: outcome.status }
    : outcome;
}

/** The service does not accept the token: by its status, or because it could not be decoded. */
function isUnsigned(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && (outcome.status === 401 || outcome.code === 'payload_decode_error');
}

function read(
  asker: ServiceAsker,
  question: Change | SubscriptionQuestion,
  outcome: Outcome,
  signing: Signing | null,
): Exclude<SubscriptionOutcome, Missing> {
  if (outcome.kind === 'answer') {
    try {
      return { kind: 'read', value: decode(asker.row(question, outcome).row), sent_at: outcome.sent_at };
    } catch (error) {
      return read(asker, question, asker.undecodable(question, error, outcome.text), signing);
    }
  }
  if (outcome.kind !== 'refused') return outcome;
  const advice = adviceOn(outcome, signing, sentType(asker, question));
  const callback_url = 'callback_url' in question ? question.callback_url : null;
  const message = withoutAddress(outcome.message, callback_url);
  return { ...outcome, message: advice === null ? message : `${message.replace(/\.$/, '')}: ${advice}` };
}

/** Returns the media type with which a question is sent; null: none. */
function sentType(asker: ServiceAsker, question: Change | SubscriptionQuestion): string | null {
  const prepared = asker.prepare(question);
  return prepared.kind === 'failed' ? null : (prepared.request.headers['content-type'] ?? null);
}

/** Returns what to do about a refusal, where it is known. */
function adviceOn(
  { status, code }: Extract<Outcome, { kind: 'refused' }>,
  signing: Signing | null,
  type: string | null,
): string | null {
  if (status === 415 && type !== null)
    return `the service does not accept a body of type ${type}; set signing.content_type to the type that it expects`;
  if (code === 'payload_decode_error') {
    return signing?.body === 'jwt'
      ? `the service cannot verify what signing.key_file has signed; give it the public key ${signing.key.fingerprint} (the test environment has one of its own), or sign with the key that it knows; if that is its key, set signing.content_type to another type than ${type}`
      : 'the service expects a signed token; set signing.body: jwt and signing.key_file';
  }
  if (status === 401) return 'the key of the service (service.api_key_file) is not accepted here';
  if (status === 403) return 'this key may not manage subscriptions; ask the service for it';
  return null;
}

/** The service may repeat the address, whole or in part, and nobody else may know it. */
function withoutAddress(message: string, callback_url: string | null): string {
  const token = callback_url?.split('/').at(-1) ?? '';
  return token === '' ? message : message.replaceAll(token, '[address]');
}

/** Reads it defensively: the answer's shape is not specified. What cannot be read counts as not reported. */
function decode(subscription: Members): SubscriptionAnswer {
  const { subscription_type: type, change_types, ...read } = subscriptionShape.read(subscription, new UnreadMembers());
  return { type, change_types: change_types?.filter((each) => typeof each === 'string') ?? null, ...read };
}
