import type { SubscriptionSnapshot } from './push/notifier.ts';
import type { SandboxAnswer } from './reads/answer.ts';
import { productState } from './reads/state.ts';
import { refuseQuirks } from './rough/quirks.ts';
import type { Roughness } from './rough/roughness.ts';
import type { Edit } from './world/edits.ts';
import { refuseEdit } from './world/edits.ts';
import type { CheckoutClosure, Mutations } from './world/mutations.ts';
import type { World } from './world/world.ts';

/**
 * The data and functions behind the endpoints under /sandbox/. They are for people and tests, and not part of the
 * service.
 */
export interface Owned {
  readonly world: World;
  readonly rough: Roughness;
  calls(): object;
  subscriptions(): SubscriptionSnapshot[];
  setSending(subscription_id: string, sending: 'all' | 'none'): void;
}

type Body = Readonly<Record<string, unknown>>;

/** Answers a request to an endpoint under /sandbox/. `body`: the posted text; null: the request is a GET. */
export function ownAnswer(owned: Owned, url: URL, body: string | null): SandboxAnswer {
  return body === null ? look(owned, url) : change(owned, url.pathname, body);
}

function look({ world, calls, subscriptions, rough }: Owned, { pathname, searchParams: query }: URL): SandboxAnswer {
  switch (pathname) {
    case '/sandbox/calls':
      return json(calls());
    case '/sandbox/products':
      return json(
        world
          .visible()
          .map(({ id }) => id)
          .sort((a, b) => a - b),
      );
    case '/sandbox/quirks':
      return json(rough.quirks());
    case '/sandbox/subscriptions':
      return json(subscriptions());
    case '/sandbox/state': {
      const product = world.find(Number(query.get('product_id')));
      if (product === null) return refuse(404, 'there is no such product');
      const question = {
        language: query.get('language') ?? 'en',
        currency: query.get('currency') ?? 'EUR',
        horizon: Number(query.get('horizon') ?? 92),
      };
      return json(productState(world, product, question, rough));
    }
    default:
      return refuse(404, 'there is nothing here');
  }
}

function change(owned: Owned, path: string, text: string): SandboxAnswer {
  const body = membersOf(text);
  if (body === null) return refuse(400, 'the body must be a JSON object, or empty');
  if (path === '/sandbox/quirks') return changeQuirks(owned.rough, body);
  const [, resource, name = '', deed] = /^\/sandbox\/(products|subscriptions)\/([^/]+)\/(\w+)$/.exec(path) ?? [];
  if (resource === 'products') return changeProduct(owned.world, Number(name), deed, body);
  if (resource === 'subscriptions' && deed === 'sending') return changeSending(owned, decodeURIComponent(name), body);
  return refuse(404, 'there is nothing here');
}

function changeQuirks(rough: Roughness, body: Body): SandboxAnswer {
  const refused = refuseQuirks(body);
  if (refused !== null) return refuse(400, refused);
  rough.set(body);
  return json(rough.quirks());
}

function changeProduct(world: World, product_id: number, deed: string | undefined, body: Body): SandboxAnswer {
  const product = world.find(product_id);
  if (product === null) return refuse(404, `there is no product ${product_id}`);
  const refused = mutate(world, product_id, deed, body);
  if (refused !== null) return refused;
  if (deed === 'edit') return json({ product_id, field: body.field, value: body.value });
  const { status, reason, reopen, alternative } = product;
  return json({ product_id, sale_status: status, reason, expected_reopening: reopen, alternative });
}

function mutate(world: Mutations, product_id: number, deed: string | undefined, body: Body): SandboxAnswer | null {
  switch (deed) {
    case 'disable': {
      const { reason = null, expected_reopening = null, alternative = null } = body;
      const texts = [reason, expected_reopening].every((each) => each === null || typeof each === 'string');
      if (!texts || (alternative !== null && !Number.isSafeInteger(alternative)))
        return refuse(400, 'reason and expected_reopening are texts, alternative is a product id');
      world.disable(product_id, body as CheckoutClosure);
      return null;
    }
    case 'enable':
      world.enable(product_id);
      return null;
    case 'edit': {
      const { field, value } = body;
      const refused = refuseEdit({ field, value });
      if (refused !== null) return refuse(400, refused);
      world.edit(product_id, { field, value } as Edit);
      return null;
    }
    default:
      return refuse(404, 'what can happen to a product: disable, enable, edit');
  }
}

function changeSending(
  { subscriptions, setSending }: Owned,
  subscription_id: string,
  { sending }: Body,
): SandboxAnswer {
  const known = () => subscriptions().find((each) => each.subscription_id === subscription_id);
  if (known() === undefined) return refuse(404, `there is no subscription ${subscription_id}`);
  if (sending !== 'all' && sending !== 'none') return refuse(400, 'sending: all or none');
  setSending(subscription_id, sending);
  return json(known() ?? null);
}

function membersOf(text: string): Body | null {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Body) : null;
  } catch {
    return null;
  }
}

function json(value: object | null): SandboxAnswer {
  return { status: 200, body: JSON.stringify(value) };
}

function refuse(status: number, message: string): SandboxAnswer {
  return { status, body: JSON.stringify({ message }) };
}
