import type { Instant } from '../../clock.ts';
import {
  differences,
  type HeldSubscription,
  needsPut,
  type WantedSubscription,
} from '../../domain/push/subscription.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { StoredSubscription } from '../../mirror/push/subscriptions.ts';
import { type Attempt, putSubscription } from './attempts.ts';
import { declareSubscriptions, heldOf, isTaken, type SubscriptionPorts, wantedSubscriptions } from './declared.ts';
import { failureText, type Unread } from './failure.ts';
import { lookAtSubscription, mayPutUnread, readSubscription } from './reads.ts';
import { canOf, reactivateSubscription, rotateSubscription, stepSubscription } from './steps.ts';

/** All work on subscriptions, one operation at a time, for the daemon and for people. */
export interface SubscriptionWork {
  /**
   * Reads each subscription once an hour, and takes the next step of those that need one. Run every minute. Decides
   * from stored facts, so a kill loses nothing.
   */
  maintain(signal: AbortSignal): Promise<void>;
  compare(subscription_id: string | null, signal: AbortSignal): Promise<Comparison[]>;
  /** Applies the declarations. A dry run asks the service, but changes nothing there or here. */
  apply(run: 'now' | 'dry', signal: AbortSignal): Promise<Application[]>;
  /** Reactivates a subscription, or all parts of a declaration. */
  reactivate(subscription_id: string, signal: AbortSignal): Promise<Attempt[]>;
  /** Rotates the callback address of one subscription, or of all (null). */
  rotate(subscription_id: string | null, signal: AbortSignal): Promise<Attempt[]>;
  /** Tests whether the receiver answers at its public address. */
  readonly selfTest: SubscriptionPorts['selfTest'];
}

/** The work on subscriptions, or the reason why this configuration cannot manage any. */
export type ManagedSubscriptions = { readonly work: SubscriptionWork } | { readonly why: CataloguedError };

/** A declared subscription beside the service's copy of it. */
export interface Comparison {
  readonly subscription_id: string;
  /** Null: not declared. */
  readonly declared: WantedSubscription | null;
  /** Null: the service has none, or was never asked. */
  readonly service:
    | (Pick<StoredSubscription, 'held_type' | 'entity_ids' | 'change_types' | 'status'> & {
        readonly checked_at: number | null;
      })
    | null;
  /** The differences as text; empty: none. */
  readonly differences: readonly string[];
  /** The reason why the service could not be asked now; null: it was asked. */
  readonly failure: string | null;
  /** The failure of the last attempt to change it; null: it did not fail, or there was none. */
  readonly last_attempt: string | null;
}

/** The result of applying a declaration, or of a dry run. */
export interface Application {
  readonly subscription_id: string;
  readonly action: 'create' | 'update' | 'none';
  readonly differences: readonly string[];
  /** The body of the request, without the callback address. */
  readonly request: Record<string, unknown> | null;
  readonly done: boolean;
  readonly message: string | null;
}

const hourMs = 3_600_000;

export function subscriptionWork(ports: SubscriptionPorts): SubscriptionWork {
  const { mirror, clock } = ports;
  /** Swallows errors while the daemon stops: the next start continues the work. */
  const unlessStopped = (signal: AbortSignal) => (error: unknown) => {
    if (!signal.aborted) throw error;
  };
  let plan: (ReturnType<typeof declareSubscriptions> & { readonly at: Instant }) | null = null;
  let last: Promise<unknown> = Promise.resolve();

  /** Runs operations one at a time, because two on the same subscription would invalidate each other's knowledge. */
  function oneAtATime<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  }

  function declare(): readonly WantedSubscription[] {
    plan = { ...declareSubscriptions(ports), at: clock.now() };
    return plan.wanted;
  }

  async function maintain(signal: AbortSignal): Promise<void> {
    const first = plan === null;
    const now = clock.now();
    const outdated = plan === null || plan.waiting.length > 0 || now - plan.at >= hourMs || now < plan.at;
    const wanted = outdated ? declare() : (plan?.wanted ?? []);
    for (const each of wanted) {
      if (signal.aborted) return;
      const row = mirror.push.subscriptions.find(each.subscription_id);
      const unread = first || isDue(row, now) ? await readSubscription(ports, each, signal) : null;
      await stepSubscription(ports, each, unread, signal);
    }
    noteTaken(ports);
  }

  async function compare(subscription_id: string | null, signal: AbortSignal): Promise<Comparison[]> {
    const wanted = chosen(declare(), subscription_id);
    const compared: Comparison[] = [];
    for (const each of wanted) {
      compared.push(comparison(ports, each, await readSubscription(ports, each, signal)));
    }
    return compared;
  }

  async function apply(run: 'now' | 'dry', signal: AbortSignal): Promise<Application[]> {
    const applied: Application[] = [];
    const wanted = run === 'dry' ? wantedSubscriptions(ports).wanted : declare();
    for (const each of wanted)
      applied.push(await (run === 'dry' ? preview(ports, each, signal) : applyOne(ports, each, signal)));
    if (run === 'now') noteTaken(ports);
    return applied;
  }

  return {
    selfTest: ports.selfTest,
    maintain: (signal) => oneAtATime(() => maintain(signal).catch(unlessStopped(signal))),
    compare: (subscription_id, signal) => oneAtATime(() => compare(subscription_id, signal)),
    apply: (run, signal) => oneAtATime(() => apply(run, signal)),
    reactivate: (subscription_id, signal) =>
      oneAtATime(async () => {
        const attempts: Attempt[] = [];
        for (const wanted of chosen(declare(), subscription_id))
          attempts.push(
            await (canOf(ports).reactivate
              ? reactivateSubscription(ports, wanted, signal)
              : putSubscription(ports, wanted, 'requested', signal)),
          );
        return attempts;
      }),
    rotate: (subscription_id, signal) =>
      oneAtATime(async () => {
        const attempts: Attempt[] = [];
        for (const wanted of chosen(declare(), subscription_id))
          attempts.push(await rotateSubscription(ports, wanted, signal));
        return attempts;
      }),
  };
}

/** Returns whether the last answered read was at least an hour ago. A pause longer than a day was set by a wrong clock. */
function isDue(row: StoredSubscription | null, now: Instant): boolean {
  const { checked_at = null, read_not_before = null } = row ?? {};
  if (read_not_before !== null && read_not_before > now && read_not_before - now <= 25 * hourMs) return false;
  return checked_at === null || now - checked_at >= hourMs;
}

async function applyOne(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  signal: AbortSignal,
): Promise<Application> {
  const unread = await readSubscription(ports, wanted, signal);
  const row = ports.mirror.push.subscriptions.find(wanted.subscription_id);
  if (row === null || (unread !== null && !mayPutUnread(unread)))
    return application(wanted, null, 'none', { done: false, message: unread === null ? null : failureText(unread) });
  const action = actionOn(wanted, heldOf(ports, row));
  if (action === 'none') return application(wanted, row.differences, action, { done: true, message: null });
  const attempt = await putSubscription(ports, wanted, 'requested', signal);
  return application(wanted, row.differences, action, attempt);
}

/** Returns the steps that a run would take. Stores nothing, not even that the service was asked. */
async function preview(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  signal: AbortSignal,
): Promise<Application> {
  const found = await lookAtSubscription(ports, wanted, signal);
  if ('unread' in found) return application(wanted, null, 'none', { done: false, message: failureText(found.unread) });
  const action = actionOn(wanted, found.held);
  return application(wanted, differences(wanted, found.held), action, { done: true, message: null });
}

/** Returns the subscriptions of a declaration or of one part; null: all. Throws (64) for an id that is not declared. */
function chosen(wanted: readonly WantedSubscription[], id: string | null): readonly WantedSubscription[] {
  if (id === null) return wanted;
  const found = wanted.filter(({ subscription_id, declared_id }) => subscription_id === id || declared_id === id);
  if (found.length > 0) return found;
  const names = wanted.map(({ subscription_id }) => subscription_id).join(', ');
  throw new CataloguedError('unknown-subscription', `no subscription ${id} is declared`, {
    exitCode: exitCodes.usage,
    hint:
      names === ''
        ? 'declare it under subscriptions; one with entities: mirrored exists only once the lists have been read'
        : `use one of ${names}`,
  });
}

function actionOn(wanted: WantedSubscription, held: HeldSubscription | null): Application['action'] {
  if (held === null || held.status === 'missing' || held.status === 'cancelled') return 'create';
  return needsPut(wanted, held) ? 'update' : 'none';
}

function application(
  { subscription_id, type, entity_ids, change_types }: WantedSubscription,
  found: readonly string[] | null,
  action: Application['action'],
  { done, message }: Pick<Application, 'done' | 'message'>,
): Application {
  const body = { subscription_type: type, ...(entity_ids === null ? {} : { entity_ids }), change_types };
  const request = action === 'none' ? null : body;
  return { subscription_id, action, differences: found ?? [], request, done, message };
}

function comparison({ mirror }: SubscriptionPorts, declared: WantedSubscription, unread: Unread | null): Comparison {
  const row = mirror.push.subscriptions.find(declared.subscription_id);
  const known = row !== null && row.status !== null && row.status !== 'missing';
  const { held_type = null, entity_ids = null, change_types = null, status = null, checked_at = null } = row ?? {};
  return {
    subscription_id: declared.subscription_id,
    declared,
    service: known ? { held_type, entity_ids, change_types, status, checked_at } : null,
    differences: row?.differences ?? ['not there'],
    failure: unread === null || unread.kind === 'not-read' ? null : failureText(unread),
    last_attempt: row?.failure ?? null,
  };
}

/** Returns whether an instant lies within the last day, in which a second PUT must wait. */
function isWithinDay(at: Instant | null, now: Instant): boolean {
  return at !== null && at <= now && now - at < 24 * hourMs;
}

/** Records whether the service has an address that is not ours, or had one in the last day. */
function noteTaken(ports: SubscriptionPorts): void {
  const { mirror, clock, log } = ports;
  const now = clock.now();
  const rows = mirror.push.subscriptions.all().filter(({ declared_id }) => declared_id !== null);
  const taken = rows.filter((row) => isTaken(ports, row) || isWithinDay(row.wrested_at, now));
  const failed = taken.length === 0 ? null : { affected: taken.length };
  if (mirror.status.outcomes.note('subscription-address', now, failed) === 'new') {
    const subscriptions = taken.map(({ subscription_id }) => subscription_id);
    log.error({ subscriptions }, 'a subscription has an address that is not ours: catalogued subscription list');
  }
}
