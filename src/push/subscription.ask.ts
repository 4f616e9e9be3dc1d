import { hash } from 'node:crypto';
import { z } from 'zod';
import { instant } from '../kernel/clock.ts';
import { maybe, type Shaped, text } from '../kernel/values/answer-values.ts';
import type { CallbackAddresses } from '../receiver/addresses.store.ts';
import { mayAskAgain, type OptionalPath } from '../schedule/offer.rules.ts';
import type { Sync } from '../schedule/sync.ts';
import { refuses } from '../trust/refusal-reach.rules.ts';
import { pathAnswered, pathMissing, subscriptionRefused } from '../trust/refusals.ask.ts';
import { type AddressOwner, type EpochState, newestOf } from './callback-epoch.rules.ts';
import type { Declarations } from './declared-subscriptions.ts';
import type { SelfTestAnswer } from './self-test.ask.ts';
import {
  differences,
  isGone,
  isWorking,
  type ServiceSubscription,
  type SubscriptionContent,
  serviceSubscriptionOf,
  type WantedSubscription,
} from './subscription.rules.ts';
import type { SubscriptionAnswer, SubscriptionOutcome, Subscriptions } from './subscription-calls.ask.ts';
import {
  afterFailure,
  afterSelfTest,
  afterSuccess,
  isBlameless,
  isProven,
  subscriptionStep,
} from './subscription-step.rules.ts';
import type { StoredSubscription } from './subscriptions.store.ts';

/** Everything that the work on subscriptions shares. It is made once and handed on whole. */
export interface SubscriptionContext {
  readonly sync: Sync;
  readonly service: Subscriptions;
  readonly addresses: CallbackAddresses;
  readonly settings: SubscriptionSettings;
  /** Judges the machine's clock. While that is in doubt, no callback address is replaced because of its age. */
  readonly watch: { mayPrune(): boolean };
  /** Calls our own public address from outside. */
  selfTest(signal: AbortSignal): Promise<SelfTestAnswer>;
}

export interface SubscriptionSettings extends Declarations {
  readonly public_url: string;
  /** True: the configuration says that subscriptions can be read. */
  readonly reads: boolean;
  /** Milliseconds. */
  readonly rotate_every: number;
  readonly grace: number;
}

/** The result of an attempt to change something at the service. */
export const attempt = z.object({
  subscription_id: text,
  done: z.boolean(),
  /** The reason of the failure; null: it did not fail. Never contains an address. */
  message: maybe,
});
export type Attempt = Shaped<typeof attempt>;

/** The cause of a read without a result. `not-read`: the service never answers such reads, which is no failure. */
export type Unread = Exclude<SubscriptionOutcome, { kind: 'read' | 'missing' }> | { readonly kind: 'not-read' };

/** The cause of a failed attempt. */
type Failure =
  | Exclude<SubscriptionOutcome, { kind: 'read' }>
  | { readonly kind: 'self-test'; readonly message: string };

/** Returns the failure as one line to store and show. It never contains an address. */
export function failureText(outcome: Failure | Unread): string {
  switch (outcome.kind) {
    case 'missing':
      return 'refused: the service has no such subscription';
    case 'throttled':
      return `throttled: the service asks for fewer calls (${outcome.status})`;
    case 'self-test':
      return `self-test: ${outcome.message}`;
    case 'not-read':
      return 'refused: the service does not let subscriptions be read';
    default:
      return `${outcome.kind}: ${outcome.message} (${outcome.code})`;
  }
}

/** Returns whether the service lets a subscription be read. Where it does not, a PUT may be sent without a read. */
export function isReadable(unread: Unread | null): boolean {
  return unread === null || (unread.kind !== 'refused' && unread.kind !== 'not-read');
}

/** An answer to a reactivation says nothing of the content, which stays as known. */
const asKnown: SubscriptionContent = { type: null, entity_ids: null, change_types: null };

/** Milliseconds for which a read of the subscription need not be repeated before a PUT. */
const justReadMs = 60_000;

/** A wanted subscription during one operation: what the mirror knows of it, and everything that is done to it. */
export class OneSubscription {
  readonly wanted: WantedSubscription;
  readonly #context: SubscriptionContext;
  readonly #sync: Sync;
  readonly #signal: AbortSignal;
  readonly #id: string;

  constructor(context: SubscriptionContext, wanted: WantedSubscription, signal: AbortSignal) {
    this.#context = context;
    this.#sync = context.sync;
    this.wanted = wanted;
    this.#id = wanted.subscription_id;
    this.#signal = signal;
  }

  row(): StoredSubscription | null {
    return this.#table.find(this.#id);
  }

  /** Returns the subscription that the service is known to have; null: it was never asked. */
  held(): ServiceSubscription | null {
    return serviceSubscriptionOf(this.row(), this.#epochs(), this.#sync.clock.now());
  }

  /**
   * Reads it from the service and stores the answer. Returns the reason if it could not be read, else null: then the
   * answer to the last PUT counts.
   */
  async read(): Promise<Unread | null> {
    const { mirror, clock, chance } = this.#sync;
    const answer = await this.#ask();
    if (answer.kind === 'not-read') return answer;
    if (answer.kind !== 'read' && answer.kind !== 'missing' && answer.kind !== 'doubted') {
      mirror.transaction(() => {
        const before = this.row()?.read_failures ?? 0;
        const { failures, not_before } = afterFailure(answer.kind, before, chance, clock.now());
        this.#table.unread({ subscription_id: this.#id, read_failures: failures, read_not_before: not_before });
      });
      return answer;
    }
    mirror.transaction(() => {
      const at = clock.now();
      const before = this.row()?.checked_at ?? at;
      if (answer.kind === 'read') {
        pathAnswered(this.#sync, 'subscription', answer.sent_at);
        this.#table.learn(this.#id, this.#facts(answer.value));
        // The affected products are known now, so its gap can end.
        mirror.push.coverage.cover(at);
      } else this.#table.missing({ subscription_id: this.#id, at });
      const isBroken = () => mirror.push.gaps.broken().some(({ subscription_id }) => subscription_id === this.#id);
      // Opened at once, since the repair may follow within a second. The gap begins at the previous read, the last time
      // it is known to have worked.
      if (answer.kind !== 'doubted' && isBroken()) mirror.push.gaps.openGap(this.#id, instant(Math.min(before, at)));
      this.#compare();
      const row = this.row();
      if (row !== null && isProven(row, at)) {
        const tried_at = instant(row.tried_at ?? 0);
        this.#table.tried(this.#id, { at: tried_at, failures: 0, failure: null, not_before: null });
      }
    });
    return null;
  }

  /**
   * Returns the service's subscription without storing the answer (null: it has none), or the reason why it could not
   * be read.
   */
  async look(): Promise<{ readonly held: ServiceSubscription | null } | { readonly unread: Unread }> {
    const answer = await this.#ask();
    if (answer.kind === 'not-read') return { held: this.held() };
    if (answer.kind === 'missing' || answer.kind === 'doubted') return { held: null };
    if (answer.kind !== 'read') return { unread: answer };
    const row = this.row();
    const { status, type, change_types, entity_ids, address, epoch, at } = this.#facts(answer.value);
    const facts = {
      status,
      held_type: type ?? row?.held_type ?? null,
      change_types: change_types ?? row?.change_types ?? null,
      entity_ids: entity_ids ?? row?.entity_ids ?? null,
      address: address ?? row?.address ?? null,
      epoch: address === null ? (row?.epoch ?? null) : epoch,
    };
    return { held: serviceSubscriptionOf(facts, this.#epochs(), at) };
  }

  /**
   * Takes the next step, if `subscriptionStep` decides on one. `unread`: the reason why the service could not be read
   * just now; null: it was read, or need not be.
   */
  async step(unread: Unread | null): Promise<void> {
    const { clock } = this.#sync;
    const { settings, watch } = this.#context;
    const row = this.row();
    if (row === null) return;
    const epochs = this.#epochs();
    const epoch = newestOf(epochs)?.epoch ?? 1;
    const facts = {
      ...row,
      can: this.can(),
      readable: isReadable(unread),
      put: row.put_hash === this.#hash(epoch) ? ('same' as const) : ('other' as const),
      taken: isTaken(this.#context, row),
    };
    const rotate_every = watch.mayPrune() ? settings.rotate_every : Number.POSITIVE_INFINITY;
    const step = subscriptionStep(this.wanted, this.held(), epochs, facts, { rotate_every, now: clock.now() });
    if (step.step === 'announced') this.#announce(epoch);
    if (step.step === 'rotate') await this.rotate();
    if (step.step === 'put') {
      await this.#readBefore();
      await this.put(step.reason);
    }
    if (step.step === 'repair') await this.#repair(step.action);
  }

  /**
   * Sends the wanted subscription with the newest callback address. If an answer was lost, repeats the same request, so
   * that there is always only one subscription.
   */
  async put(reason: string): Promise<Attempt> {
    const { mirror, clock, log } = this.#sync;
    const { service, addresses } = this.#context;
    const { wanted } = this;
    const before = this.row();
    const epoch = addresses.current(this.#id, clock.now());
    const callback_url = this.#url(epoch);
    const takesOver = before !== null && isTaken(this.#context, before);
    const outcome = await service.put({ ...wanted, callback_url }, this.#signal);
    // A request whose answer was lost may have taken effect.
    const mayCount = outcome.kind === 'read' || (outcome.kind === 'failed' && outcome.status === undefined);
    if (takesOver && mayCount)
      mirror.transaction(() => this.#table.tookOver({ subscription_id: this.#id, wrested_at: clock.now() }));
    if (outcome.kind !== 'read') return this.#fail(outcome);
    mirror.transaction(() => {
      this.#accepted(outcome.value, wanted, epoch, before);
      this.#table.put(this.#id, { at: clock.now(), hash: this.#hash(epoch) });
      mirror.push.coverage.cover(clock.now());
    });
    this.#announce(epoch);
    const entities = wanted.entity_ids?.length ?? null;
    log.info({ subscription_id: this.#id, reason, epoch, entities }, 'subscription put');
    return { subscription_id: this.#id, done: true, message: null };
  }

  /**
   * Rotates the callback address: the new one is accepted first, then put, then announced. The old one is accepted for
   * the grace period. Finishes a rotation begun earlier. After a kill, the next step continues.
   */
  async rotate(): Promise<Attempt> {
    const { clock, log } = this.#sync;
    const { addresses } = this.#context;
    if (newestOf(this.#epochs())?.announced_at !== null) {
      const epoch = addresses.begin(this.#id, clock.now());
      log.info({ subscription_id: this.#id, epoch }, 'callback address rotates: the receiver accepts the new one');
    }
    await this.#readBefore();
    return this.put('rotation');
  }

  /**
   * Asks the service to resume it, or puts it again if there is no such call. It counts as working once a later read
   * shows it.
   */
  async reactivate(): Promise<Attempt> {
    const { mirror, clock, log } = this.#sync;
    const { service, addresses } = this.#context;
    const subscription_id = this.#id;
    const before = this.row();
    const epoch = addresses.current(this.#id, clock.now());
    const held = this.held();
    const callback_url = held?.address === 'current' ? null : this.#url(epoch);
    const outcome = await service.reactivate(this.#id, callback_url, this.#signal);
    if (refuses('path', outcome)) {
      // If the subscription is known to exist, the path is missing.
      if (outcome.kind === 'refused' || (held !== null && !isGone(held))) pathMissing(this.#sync, 'reactivate');
      return this.put('repair');
    }
    if (outcome.kind !== 'read') return this.#fail(outcome);
    mirror.transaction(() => {
      pathAnswered(this.#sync, 'reactivate', outcome.sent_at);
      this.#accepted(outcome.value, asKnown, epoch, before);
    });
    this.#announce(epoch);
    const status = this.row()?.status ?? null;
    log.warn({ subscription_id, status }, 'subscription reactivated');
    const done = isWorking(status);
    return { subscription_id, done, message: done ? null : `the service answers that it is ${status}` };
  }

  /** Returns the operations that the service allows. */
  can(): Subscriptions['can'] {
    const { put, reactivate } = this.#context.service.can;
    return { put, reactivate: reactivate && this.#isOffered('reactivate') };
  }

  get #table() {
    return this.#sync.mirror.push.subscriptions;
  }

  #epochs(): EpochState[] {
    return epochsOf(this.#context, this.#id);
  }

  /** Returns whether the service has a path. One that is missing is requested again after a week, when it is needed. */
  #isOffered(path: OptionalPath): boolean {
    const { mirror, clock } = this.#sync;
    const { offers } = mirror.schedule;
    return offers.isOffered(path) || mayAskAgain(offers.find(path), clock.now());
  }

  /** Asks the service, unless it has no such read. `doubted`: it has none with this id, or no such read. */
  async #ask(): Promise<SubscriptionOutcome | { readonly kind: 'not-read' } | { readonly kind: 'doubted' }> {
    const { settings, service } = this.#context;
    if (!settings.reads || !this.#isOffered('subscription')) return { kind: 'not-read' };
    const outcome = await service.find(this.#id, this.#signal);
    if (!refuses('path', outcome)) return outcome;
    const put_at = this.row()?.put_at ?? null;
    const meant = subscriptionRefused(this.#sync, outcome.kind === 'missing' ? 404 : 405, put_at);
    if (meant === 'missing') return outcome;
    return meant === 'doubted' ? { kind: 'doubted' } : { kind: 'not-read' };
  }

  /** Returns the facts of a read. A null keeps what is known. */
  #facts({ status, type, change_types, entity_ids, callback_url }: SubscriptionAnswer) {
    const before = this.row()?.status ?? null;
    const known = before === null || before === 'missing' ? 'accepted' : before;
    const at = this.#sync.clock.now();
    return { status: status ?? known, type, change_types, entity_ids, ...this.#owner(callback_url), at };
  }

  /** Stores the answer to a change. It takes what it omits from the request. Called inside a transaction. */
  #accepted(
    answer: SubscriptionAnswer,
    sent: SubscriptionContent,
    epoch: number,
    before: StoredSubscription | null,
  ): void {
    const { clock, chance } = this.#sync;
    const at = clock.now();
    this.#table.learn(this.#id, {
      status: answer.status ?? 'accepted',
      type: answer.type ?? sent.type,
      change_types: answer.change_types ?? sent.change_types,
      entity_ids: answer.entity_ids ?? sent.entity_ids,
      address: 'ours',
      epoch,
      at,
    });
    this.#table.tried(this.#id, afterSuccess(before, chance, at));
    this.#compare();
  }

  /** Compares again, and stores the differences as text. Called inside a transaction. */
  #compare(): void {
    const row = this.row();
    const found = differences(this.wanted, this.held());
    if (row !== null && found.join() !== row.differences.join()) this.#table.compared(this.#id, found);
  }

  /** Records a failed attempt, and the earliest instant of the next one. */
  #fail(outcome: Failure): Attempt {
    const { mirror, clock, chance, log } = this.#sync;
    const { kind } = outcome;
    const [message, at] = [failureText(outcome), clock.now()];
    mirror.transaction(() => {
      const next = afterFailure(kind, this.row()?.failures ?? 0, chance, at);
      this.#table.tried(this.#id, { at, failure: { kind, message }, ...next });
      if (kind === 'missing') this.#table.missing({ subscription_id: this.#id, at });
    });
    log[isBlameless(kind) ? 'info' : 'warn']({ subscription_id: this.#id, message }, 'subscription not changed');
    return { subscription_id: this.#id, done: false, message };
  }

  /**
   * Reads it before a PUT, which would hide that the service has lost it. The read then opens the gap that the PUT
   * closes.
   */
  async #readBefore(): Promise<void> {
    const row = this.row();
    const ago = this.#sync.clock.now() - (row?.checked_at ?? 0);
    if (row?.put_at != null && (ago < 0 || ago >= justReadMs)) await this.read();
  }

  /**
   * Revives it after testing our own public address. If the first test fails, waits: the subscription would break
   * again. If it fails again, repairs the subscription all the same.
   */
  async #repair(action: 'reactivate' | 'put'): Promise<Attempt> {
    const failures = this.row()?.failures ?? 0;
    const { result, message } = await this.#context.selfTest(this.#signal);
    if (afterSelfTest(result, failures) === 'wait') return this.#fail({ kind: 'self-test', message });
    const failed = { subscription_id: this.#id, words: message };
    if (result === 'failed')
      this.#sync.log.warn(failed, 'self-test failed again: repairing the subscription all the same');
    return action === 'put' ? this.put('repair') : this.reactivate();
  }

  /** Records that the service has this epoch's address. Older addresses are accepted for the grace period. */
  #announce(epoch: number): void {
    const { clock } = this.#sync;
    const { addresses, settings } = this.#context;
    // Repeating it must not extend the grace period of older addresses.
    if (this.#epochs().find((each) => each.epoch === epoch)?.announced_at == null)
      addresses.announced(this.#id, epoch, clock.now(), settings.grace);
  }

  /** Hashes the contents of a PUT: an equal subscription needs no second PUT. */
  #hash(epoch: number): string {
    const { type, entity_ids, change_types } = this.wanted;
    return hash('sha256', JSON.stringify([type, entity_ids, change_types, epoch]), 'base64url');
  }

  /** Returns our address of an epoch. It is sent to the service only, and never appears in a log, an error or a file. */
  #url(epoch: number): string {
    return callbackUrl(this.#context.settings.public_url, this.#context.addresses.token(this.#id, epoch));
  }

  /**
   * Returns the owner of the address that the service has, found by its token; unknown if the address is missing or
   * masked.
   */
  #owner(url: string | null): { readonly address: AddressOwner | null; readonly epoch: number | null } {
    const { clock } = this.#sync;
    const { addresses, settings } = this.#context;
    if (url === null || /[*…]/.test(url)) return { address: null, epoch: null };
    const path = url.replace(/[?#].*$/, '').replace(/\/+$/, '');
    const token = path.slice(path.lastIndexOf('/') + 1);
    const known = addresses.recognise(token, clock.now());
    if (known === null) return { address: 'foreign', epoch: null };
    const same = known.subscription_id === this.#id && asOne(callbackUrl(settings.public_url, token)) === asOne(url);
    return { address: same ? 'ours' : 'moved', epoch: known.epoch };
  }
}

/**
 * Returns whether the service calls an address that is not ours. If none of ours was ever announced, the address may be
 * ours under another master secret, or that of an earlier installation, and does not count as foreign.
 */
export function isTaken(context: SubscriptionContext, { subscription_id, address }: StoredSubscription): boolean {
  const announced = epochsOf(context, subscription_id).some(({ announced_at }) => announced_at !== null);
  return address === 'foreign' && announced && !context.addresses.masterChanged();
}

function epochsOf({ addresses }: SubscriptionContext, id: string): EpochState[] {
  return addresses.states().filter(({ subscription_id }) => subscription_id === id);
}

function callbackUrl(public_url: string, token: string): string {
  return `${public_url.replace(/\/+$/, '')}/${token}`;
}

/** Normalises an address, so that two spellings of it are equal. */
function asOne(url: string): string {
  return (URL.parse(url)?.href ?? url).replace(/\/+$/, '');
}
