import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { SandboxAnswer } from '../reads/answer.ts';
import { error } from '../reads/routes.ts';
import { type Opened, openCompact } from './jwt.ts';
import type { SandboxSubscriptionStatus, SandboxSubscriptions, Subscription } from './subscriptions.ts';
import { isCallback, readRequest } from './subscriptions.ts';

export interface EndpointOptions {
  /** `off`: the endpoint does not exist. GET then answers 405, and POST …/reactivate answers 404. */
  readonly get_subscription?: 'on' | 'off';
  readonly reactivate?: 'on' | 'off';
  /** Handling of bodies without a signature if a key is set. */
  readonly plain_json?: 'taken' | 'refused';
  /** The most ids in one subscription; larger requests are refused. Default: no limit. */
  readonly most_entity_ids?: number;
  /** The accepted difference in milliseconds between the clocks of partner and service, for tokens with a timestamp. */
  readonly token_tolerance_ms?: number;
}

/** An answer, and the effect that makes it true. Either may get lost. */
export interface Decision {
  readonly answer: SandboxAnswer;
  readonly take: (() => void) | null;
}

export interface SubscriptionEndpoints {
  decide(method: string, path: string, body: string): Decision;
}

const pattern = /^\/v2\/product-change-notification\/([^/]+)(\/reactivate)?$/;

/** Returns whether a path belongs to the management of subscriptions. Called for every request. */
export function isSubscriptionPath(path: string): boolean {
  return path.startsWith('/v2/product-change-notification/');
}

/** Handles PUT, GET and reactivate. `key`: null accepts plain JSON. */
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
      // The refusal is returned below.
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
      // A cancelled subscription cannot be revived. Only a PUT creates it again.
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
