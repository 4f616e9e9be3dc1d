import { isWorthTelling } from '../../domain/push/attempt-failure.ts';
import {
  differences,
  type HeldSubscription,
  isWorking,
  needsPut,
  type SubscriptionAlarm,
  type WantedSubscription,
} from '../../domain/push/subscription.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { StoredSubscription } from '../../mirror/push/subscriptions.ts';
import { type Attempt, putSubscription } from './attempts.ts';
import { declareSubscriptions, heldOf, isTaken, type SubscriptionPorts, wantedSubscriptions } from './declared.ts';
import { failureText, type Unread } from './failure.ts';
import { lookAtSubscription, mayPutUnread, readSubscription } from './reads.ts';
import { canOf, reactivateSubscription, rotateSubscription, stepSubscription } from './steps.ts';

/** Everything that is done about subscriptions, one thing after the other: for the daemon and for people. */
export interface SubscriptionWork {
  /**
   * Run every minute: reads each subscription once an hour, and takes the next step of those that need one. What is due
   * is known from what is stored, so a kill loses nothing.
   */
  maintain(signal: AbortSignal): Promise<void>;
  compare(subscription_id: string | null, signal: AbortSignal): Promise<Comparison[]>;
  /** A dry run asks and changes nothing, neither there nor here. */
  apply(run: 'now' | 'dry', signal: AbortSignal): Promise<Application[]>;
  /** Of a declaration: all its parts. */
  reactivate(subscription_id: string, signal: AbortSignal): Promise<Attempt[]>;
  /** Null: all. */
  rotate(subscription_id: string | null, signal: AbortSignal): Promise<Attempt[]>;
  /** Whether the receiver answers at its public address. */
  readonly selfTest: SubscriptionPorts['selfTest'];
}

/** The work on subscriptions, or why this configuration cannot manage any. */
export type ManagedSubscriptions = { readonly work: SubscriptionWork } | { readonly why: CataloguedError };

/** A subscription as it is declared beside what the service has. */
export interface Comparison {
  readonly subscription_id: string;
  /** Null: nobody declares it. */
  readonly declared: WantedSubscription | null;
  /** Null: the service has none, or was never asked. */
  readonly service: Pick<
    StoredSubscription,
    'held_type' | 'entity_ids' | 'change_types' | 'status' | 'checked_at'
  > | null;
  /** In words; empty: nothing differs. */
  readonly differences: readonly string[];
  /** Why the service could not be asked now; null: it was. */
  readonly failure: string | null;
  /** Why the last attempt to change it did not work; null: it did, or there was none. */
  readonly last_attempt: string | null;
}

/** What applying a declaration came to, or would. */
export interface Application {
  readonly subscription_id: string;
  readonly action: 'create' | 'update' | 'none';
  readonly differences: readonly string[];
  /** The body, without the callback address. */
  readonly request: Record<string, unknown> | null;
  readonly done: boolean;
  readonly message: string | null;
}

const hourMs = 3_600_000;

export function subscriptionWork(ports: SubscriptionPorts): SubscriptionWork {
  const { mirror, clock } = ports;
  /** The daemon ends: what was under way is taken up again at the next start. */
  const unlessStopped = (signal: AbortSignal) => (error: unknown) => {
    if (!signal.aborted) throw error;
  };
  let plan: (ReturnType<typeof declareSubscriptions> & { readonly at: number }) | null = null;
  let last: Promise<unknown> = Promise.resolve();

  /** Two that change the same subscription would each undo what the other one knows. */
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
      const row = mirror.subscriptions.find(each.subscription_id);
      const unread = first || isDue(row) ? await readSubscription(ports, each, signal) : null;
      await stepSubscription(ports, each, unread, signal);
    }
    updateAlarms(ports);
  }

  /** An hour after the last read that was answered; instants that have not come yet count as absent. */
  function isDue(row: StoredSubscription | null): boolean {
    const { checked_at = null, read_not_before = null } = row ?? {};
    const now = clock.now();
    if (read_not_before !== null && read_not_before > now && read_not_before - now <= 25 * hourMs) return false;
    return checked_at === null || now - checked_at >= hourMs || checked_at > now;
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
    for (const each of wanted) applied.push(await (run === 'dry' ? preview(each, signal) : applyOne(each, signal)));
    if (run === 'now') updateAlarms(ports);
    return applied;
  }

  async function applyOne(wanted: WantedSubscription, signal: AbortSignal): Promise<Application> {
    const unread = await readSubscription(ports, wanted, signal);
    const row = mirror.subscriptions.find(wanted.subscription_id);
    if (row === null || (unread !== null && !mayPutUnread(unread)))
      return application(wanted, null, 'none', { done: false, message: unread === null ? null : failureText(unread) });
    const action = actionOn(wanted, heldOf(ports, row));
    if (action === 'none') return application(wanted, row.differences, action, { done: true, message: null });
    const attempt = await putSubscription(ports, wanted, 'requested', signal);
    return application(wanted, row.differences, action, attempt);
  }

  /** As a run would find it, and nothing is written down: not even that it was asked. */
  async function preview(wanted: WantedSubscription, signal: AbortSignal): Promise<Application> {
    const found = await lookAtSubscription(ports, wanted, signal);
    if ('unread' in found)
      return application(wanted, null, 'none', { done: false, message: failureText(found.unread) });
    const action = actionOn(wanted, found.held);
    return application(wanted, differences(wanted, found.held), action, { done: true, message: null });
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

/** Those of a declaration or of one part; null: all. An id that nobody declares is refused (64). */
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
  const row = mirror.subscriptions.find(declared.subscription_id);
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

/** For as long as a second PUT has to wait, nobody knows yet who has the last word. */
function isWithinDay(at: number | null, now: number): boolean {
  return at !== null && at <= now && now - at < 24 * hourMs;
}

/** Raises and ends the alarms about subscriptions, from what is stored. */
function updateAlarms(ports: SubscriptionPorts): void {
  const { mirror, clock, log } = ports;
  const rows = mirror.subscriptions.all().filter(({ declared_id }) => declared_id !== null);
  const about: Readonly<Record<SubscriptionAlarm, (row: StoredSubscription) => boolean>> = {
    'subscription-taken': (row) => isTaken(ports, row) || isWithinDay(row.wrested_at, clock.now()),
    // One that was never put is not broken, but new.
    'subscription-broken': ({ status, put_at }) =>
      status !== null && !isWorking(status) && !(status === 'missing' && put_at === null),
    'subscription-failing': ({ failures, failure_kind }) => isWorthTelling(failure_kind, failures),
  };
  mirror.transaction(() => {
    for (const [kind, concerns] of Object.entries(about) as [
      SubscriptionAlarm,
      (row: StoredSubscription) => boolean,
    ][]) {
      const concerned = rows.filter(concerns);
      const products = concerned.reduce((sum, { covered_products }) => sum + (covered_products ?? 0), 0);
      const came =
        concerned.length === 0 ? mirror.alarms.clear(kind) : mirror.alarms.raise({ kind, at: clock.now(), products });
      const subscriptions = concerned.map(({ subscription_id, status, failure }) => ({
        subscription_id,
        status,
        failure,
      }));
      if (came === 'new')
        log.error({ alarm: kind, subscriptions }, 'a subscription needs attention: catalogued subscription list');
      if (came === 'ended') log.info({ alarm: kind }, 'alarm ended');
    }
  });
}
