import { z } from 'zod';
import { hourMs, type Instant } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { maybe, never, type Shaped, text } from '../kernel/values/answer-values.ts';
import type { Sync } from '../schedule/sync.ts';
import { type WantedSubscriptions, wantedSubscriptions } from './declared-subscriptions.ts';
import type { SelfTestAnswer } from './self-test.ask.ts';
import {
  type Attempt,
  attempt,
  failureText,
  isReadable,
  isTaken,
  OneSubscription,
  type SubscriptionContext,
  type Unread,
} from './subscription.ask.ts';
import { actionOn, changeTypes, differences, type WantedSubscription } from './subscription.rules.ts';
import { isReadDue, isWithinDay } from './subscription-step.rules.ts';

/** The work on subscriptions, or the reason why this configuration cannot manage any. */
export type ManagedSubscriptions = { readonly work: SubscriptionWork } | { readonly why: CataloguedError };

const entity_ids = z.array(z.int()).nullable();

/** A declared subscription beside the service's copy of it. */
export const comparison = z.object({
  subscription_id: text,
  /** Null: not declared. */
  declared: z
    .object({
      subscription_id: text,
      declared_id: text,
      type: z.enum(['product_ids', 'experience_ids', 'products_i_sell']),
      entity_ids,
      change_types: z.array(z.enum(changeTypes)),
    })
    .nullable(),
  /** Null: the service has none, or was never asked. */
  service: z
    .object({ held_type: maybe, entity_ids, change_types: z.array(text).nullable(), status: maybe, checked_at: never })
    .nullable(),
  /** The differences as text; empty: none. */
  differences: z.array(text),
  /** The reason why the service could not be asked now; null: it was asked. */
  failure: maybe,
  /** The failure of the last attempt to change it; null: it did not fail, or there was none. */
  last_attempt: maybe,
});
export type Comparison = Shaped<typeof comparison>;

/** The result of applying a declaration, or of a dry run. */
export const applied = z.object({
  ...attempt.shape,
  action: z.enum(['create', 'update', 'none']),
  differences: z.array(text),
  /** The body of the request, without the callback address. */
  request: z.record(text, z.unknown()).nullable(),
});
export type Application = Shaped<typeof applied>;

/** All work on subscriptions, for the daemon and for people. */
export class SubscriptionWork {
  readonly #context: SubscriptionContext;
  readonly #sync: Sync;
  /** The wanted subscriptions since the declarations were last stored, at most an hour ago; null: since the start never. */
  #plan: (WantedSubscriptions & { readonly at: Instant }) | null = null;
  /** The end of the last operation: two on one subscription would invalidate each other's knowledge. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(context: SubscriptionContext) {
    this.#context = context;
    this.#sync = context.sync;
  }

  /** Tests whether the receiver answers at its public address. */
  selfTest(signal: AbortSignal): Promise<SelfTestAnswer> {
    return this.#context.selfTest(signal);
  }

  /**
   * Reads each subscription once an hour, and takes the next step of those that need one. Run every minute. Decides
   * from stored facts, so a kill loses nothing.
   */
  maintain(signal: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      const plan = this.#plan;
      const now = this.#sync.clock.now();
      const upToDate = plan !== null && plan.waiting.length === 0 && now - plan.at < hourMs && now >= plan.at;
      try {
        for (const one of this.#each(upToDate ? plan.wanted : this.#declare(), signal)) {
          if (signal.aborted) return;
          const row = one.row();
          const due = plan === null || row === null || isReadDue(row, now);
          await one.step(due ? await one.read() : null);
        }
        this.#noteTaken();
      } catch (error) {
        // The daemon stops: the next start continues the work.
        if (!signal.aborted) throw error;
      }
    });
  }

  compare(subscription_id: string | null, signal: AbortSignal): Promise<Comparison[]> {
    return this.#onEach(subscription_id, signal, async (one) => {
      const unread = await one.read();
      const row = one.row();
      const isKnown = row !== null && row.status !== null && row.status !== 'missing';
      const { held_type = null, entity_ids = null, change_types = null, status = null, checked_at = null } = row ?? {};
      return {
        subscription_id: one.wanted.subscription_id,
        declared: one.wanted,
        service: isKnown ? { held_type, entity_ids, change_types, status, checked_at } : null,
        differences: row?.differences ?? ['not there'],
        failure: unread === null || unread.kind === 'not-read' ? null : failureText(unread),
        last_attempt: row?.failure ?? null,
      };
    });
  }

  /** Applies the declarations. A dry run asks the service, but changes nothing there or here. */
  apply(run: 'now' | 'dry', signal: AbortSignal): Promise<Application[]> {
    return this.#inTurn(async () => {
      const applied: Application[] = [];
      const { mirror } = this.#sync;
      const { settings } = this.#context;
      const wanted = run === 'dry' ? wantedSubscriptions(mirror, settings).wanted : this.#declare();
      for (const one of this.#each(wanted, signal)) applied.push(await (run === 'dry' ? preview(one) : apply(one)));
      if (run === 'now') this.#noteTaken();
      return applied;
    });
  }

  /** Reactivates a subscription, or all parts of a declaration. */
  reactivate(subscription_id: string, signal: AbortSignal): Promise<Attempt[]> {
    return this.#onEach(subscription_id, signal, (one) =>
      one.can().reactivate ? one.reactivate() : one.put('requested'),
    );
  }

  /** Rotates the callback address of one subscription, or of all (null). */
  rotate(subscription_id: string | null, signal: AbortSignal): Promise<Attempt[]> {
    return this.#onEach(subscription_id, signal, (one) => one.rotate());
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  /** Does work on the chosen subscriptions, one after another. */
  #onEach<Result>(id: string | null, signal: AbortSignal, work: (one: OneSubscription) => Promise<Result>) {
    return this.#inTurn(async () => {
      const results: Result[] = [];
      for (const one of this.#each(chosen(this.#declare(), id), signal)) results.push(await work(one));
      return results;
    });
  }

  #each(wanted: readonly WantedSubscription[], signal: AbortSignal): OneSubscription[] {
    return wanted.map((each) => new OneSubscription(this.#context, each, signal));
  }

  /** Stores the wanted subscriptions. */
  #declare(): readonly WantedSubscription[] {
    const { mirror, clock } = this.#sync;
    const plan = mirror.transaction(() => {
      const wanted = wantedSubscriptions(mirror, this.#context.settings);
      declare(this.#sync, wanted.wanted);
      return wanted;
    });
    this.#plan = { ...plan, at: clock.now() };
    return plan.wanted;
  }

  /** Records whether the service has an address that is not ours, or had one in the last day. */
  #noteTaken(): void {
    const { mirror, clock, log } = this.#sync;
    const now = clock.now();
    const rows = mirror.push.subscriptions.all().filter(({ declared_id }) => declared_id !== null);
    const taken = rows.filter((row) => isTaken(this.#context, row) || isWithinDay(row.wrested_at, now));
    const failed = taken.length === 0 ? null : { affected: taken.length };
    if (mirror.status.outcomes.note('subscription-address', now, failed) === 'new') {
      const subscriptions = taken.map(({ subscription_id }) => subscription_id);
      log.error({ subscriptions }, 'a subscription has an address that is not ours: catalogued subscription list');
    }
  }
}

/** Ends all declarations and their coverage: nothing keeps the subscriptions working. */
export function undeclare(sync: Sync): void {
  const { mirror } = sync;
  // A read, where that is a write: this runs every minute.
  if (mirror.push.subscriptions.all().some(({ declared_id }) => declared_id !== null))
    mirror.transaction(() => declare(sync, []));
}

/** Stores the wanted subscriptions, and which products they cover. Logs those no longer wanted. */
function declare({ mirror, clock, log }: Sync, wanted: readonly WantedSubscription[]): void {
  for (const subscription_id of mirror.push.subscriptions.declare(wanted))
    log.warn({ subscription_id }, 'subscription no longer declared, but the service offers no way to delete it');
  mirror.push.coverage.cover(clock.now());
}

const done = { done: true, message: null };

async function apply(one: OneSubscription): Promise<Application> {
  const unread = await one.read();
  if (unread !== null && isReadable(unread)) return unreached(one.wanted, unread);
  const action = actionOn(one.wanted, one.held());
  const found = one.row()?.differences ?? [];
  return application(one.wanted, action, found, action === 'none' ? done : await one.put('requested'));
}

/** Returns the steps that a run would take. Stores nothing, not even that the service was asked. */
async function preview(one: OneSubscription): Promise<Application> {
  const found = await one.look();
  if ('unread' in found) return unreached(one.wanted, found.unread);
  return application(one.wanted, actionOn(one.wanted, found.held), differences(one.wanted, found.held), done);
}

function unreached(wanted: WantedSubscription, unread: Unread): Application {
  return application(wanted, 'none', [], { done: false, message: failureText(unread) });
}

function application(
  { subscription_id, type, entity_ids, change_types }: WantedSubscription,
  action: Application['action'],
  found: readonly string[],
  { done, message }: Omit<Attempt, 'subscription_id'>,
): Application {
  const body = { subscription_type: type, ...(entity_ids === null ? {} : { entity_ids }), change_types };
  return { subscription_id, action, differences: found, request: action === 'none' ? null : body, done, message };
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
