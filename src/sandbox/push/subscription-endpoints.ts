import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { SandboxAnswer } from '../reads/answer.ts';
import { error } from '../reads/routes.ts';
import { type Opened, openCompact } from './jwt.ts';
import { isCallback, readRequest } from './subscription-request.ts';
import type { SandboxSubscriptionStatus, SandboxSubscriptions, Subscription } from './subscriptions.ts';

export interface EndpointOptions {
  /** Whether GET and POST …/reactivate exist: switched off they answer 405 and 404. */
  readonly get_subscription?: 'on' | 'off';
  readonly reactivate?: 'on' | 'off';
  /** With a key: whether a body that is not signed is taken all the same. */
  readonly plain_json?: 'taken' | 'refused';
  /** More ids in one subscription are refused; any number unless it is given. */
  readonly most_entity_ids?: number;
  /** How far the clocks of partner and service may be apart, where a token says when it was made. */
  readonly token_tolerance_ms?: number;
}

/** What is answered, and what has to happen for it to be true: the answer may get lost, or the deed. */
export interface Decision {
  readonly answer: SandboxAnswer;
  readonly take: (() => void) | null;
}

export interface SubscriptionEndpoints {
  decide(method: string, path: string, body: string): Decision;
}

const pattern = /^\/v2\/product-change-notification\/([^/]+)(\/reactivate)?$/;

/** Tells whether a path belongs to the management of subscriptions: asked for every request. */
export function isSubscriptionPath(path: string): boolean {
  return path.startsWith('/v2/product-change-notification/');
}

/** PUT, GET and reactivate (service-facts.md section 8). `key`: null takes plain JSON. */
export function subscriptionEndpoints(
  {
    subscriptions,
    key,
    clock,
    changes,
  }: { subscriptions: SandboxSubscriptions; key: KeyObject | null; clock: Clock; changes: () => number },
  {
    get_subscription = 'on',
    reactivate = 'on',
    plain_json = 'refused',
    token_tolerance_ms = 60_000,
    most_entity_ids = Number.POSITIVE_INFINITY,
  }: EndpointOptions,
): SubscriptionEndpoints {
  function open(body: string): Opened {
    const signed = key !== null && !(plain_json === 'taken' && body.trimStart().startsWith('{'));
    if (signed) return openCompact(body, key, { now: clock.now(), tolerance_ms: token_tolerance_ms });
    try {
      const payload: unknown = JSON.parse(body);
      if (typeof payload === 'object' && payload !== null && !Array.isArray(payload)) return { payload };
    } catch {
      // Said below.
    }
    return { refused: 'Not a JSON object.' };
  }

  function put(id: string, body: string): Decision {
    const opened = open(body);
    if ('refused' in opened) return only(error(400, 'payload_decode_error', opened.refused));
    const read = readRequest(opened.payload as Record<string, unknown>);
    if ('field_errors' in read) return only(invalid(read.field_errors));
    if ((read.request.entity_ids?.length ?? 0) > most_entity_ids)
      return only(invalid({ entity_ids: `At most ${most_entity_ids} ids.` }));
    const known = subscriptions.find(id);
    const updates = known !== null && subscriptions.status(known) !== 'cancelled';
    const status = subscriptions.statusAfterPut(id);
    return {
      answer: { status: updates ? 200 : 201, body: print(id, read.request, status) },
      take: () => subscriptions.put(id, read.request, changes()),
    };
  }

  function revive(subscription: Subscription, body: string): Decision {
    const opened = body === '' ? { payload: {} } : open(body);
    if ('refused' in opened) return only(error(400, 'payload_decode_error', opened.refused));
    const { callback_url = null } = opened.payload as { callback_url?: unknown };
    if (callback_url !== null && !isCallback(callback_url)) return only(invalid({ callback_url: 'Not a valid URL.' }));
    const { subscription_id, request } = subscription;
    const next = callback_url === null ? request : { ...request, callback_url };
    return {
      answer: { status: 200, body: print(subscription_id, next, 'active') },
      take: () => subscriptions.reactivate(subscription_id, callback_url),
    };
  }

  return {
    decide: (method, path, body) => {
      const [, name = '', reviving] = pattern.exec(path) ?? [];
      const id = decoded(name);
      if (id === null) return only(error(404, 'not_found', 'There is nothing here.'));
      if (reviving !== undefined && reactivate === 'off')
        return only(error(404, 'not_found', 'There is nothing here.'));
      const methods = reviving !== undefined ? ['POST'] : get_subscription === 'on' ? ['PUT', 'GET'] : ['PUT'];
      if (!methods.includes(method)) return only(error(405, 'method_not_allowed', `Not with ${method}.`));
      if (method === 'PUT') return put(id, body);
      const known = subscriptions.find(id);
      if (known === null) return only(error(404, 'not_found', `No subscription ${id} here.`));
      const status = subscriptions.status(known);
      if (reviving === undefined) return only({ status: 200, body: print(id, known.request, status) });
      // A cancelled one is over: only a PUT creates it again.
      if (status === 'cancelled') return only(error(404, 'not_found', `Subscription ${id} was cancelled.`));
      return revive(known, body);
    },
  };
}

function only(answer: SandboxAnswer): Decision {
  return { answer, take: null };
}

function invalid(field_errors: Readonly<Record<string, string>>): SandboxAnswer {
  return error(400, 'validation_error', 'Some fields were refused.', { field_errors });
}

function print(subscription_id: string, request: Subscription['request'], status: SandboxSubscriptionStatus): string {
  return JSON.stringify({ subscription_id, ...request, status });
}

function decoded(name: string): string | null {
  try {
    return name === '' ? null : decodeURIComponent(name);
  } catch {
    return null;
  }
}
