import { type Instant, instant } from '../kernel/clock.ts';
import { venueToday } from '../kernel/time/venue.ts';
import { absenceReads, askDecidingReads, askMissing } from '../schedule/deciding-reads.ts';
import {
  keyOf,
  mayAskAgain,
  mayLack,
  nameOf,
  type OptionalPath,
  optionalPathOf,
  type RefusalOf,
  resourceAt,
  withheldMs,
} from '../schedule/offer.rules.ts';
import { prepareRecords } from '../schedule/prepare-records.ts';
import { isList, resourceNames } from '../schedule/resources.rules.ts';
import type { RefusalJudge, RefusedRead, Sync } from '../schedule/sync.ts';
import type { Outcome } from '../service/outcome.ts';
import {
  type AskedRecord,
  isThere,
  judgeSubscriptionRead,
  meansGone,
  othersOfKey,
  othersOfPath,
  type Reach,
  reachBeside,
  reachOfKey,
  reachOfPath,
  refuses,
  type Shown,
  shownBy,
} from './refusal-reach.rules.ts';

/** Milliseconds between two cheap calls while the key is refused. */
const keyEveryMs = 60_000;
/** Milliseconds after which another answer of a path is stored. */
const noteEveryMs = 10_000;

/** Requests a list page of one row. */
type Probe = (signal: AbortSignal) => Promise<Outcome>;

/**
 * Judges every refusal of a record. It alone decides that the key is refused or that a path is missing. A kill loses
 * the knowledge about the key, which the next refusal shows again. The knowledge about paths is stored.
 */
export class Refusals implements RefusalJudge {
  readonly #sync: Sync;
  readonly #probe: Probe;
  /**
   * The refusal that showed that the key is refused, its instant, and that of the last attempt (monotonic); null: the
   * key is accepted.
   */
  #key: {
    readonly message: string;
    readonly record: AskedRecord;
    readonly since: Instant;
    readonly tried_at: number;
  } | null = null;
  /** Monotonic instant at which other records were refused as well as a deciding one; null: not since one was answered. */
  #refusedBeside: number | null = null;
  /** Investigations under way, about the key or a path. Records that are refused meanwhile share the result. */
  readonly #asking = new Map<'key' | OptionalPath, Promise<Reach>>();

  constructor(sync: Sync, probe: Probe) {
    this.#sync = sync;
    this.#probe = probe;
  }

  keyRefused(): string | null {
    return this.#key?.message ?? null;
  }

  keyRefusedSince(): Instant | null {
    return this.#key?.since ?? null;
  }

  /**
   * Makes one small call a minute while the key is refused: for the list or for the refused record, since either may
   * fail by itself.
   */
  async tryKey(signal: AbortSignal): Promise<void> {
    const { clock, chance } = this.#sync;
    if (this.#key === null || clock.monotonic() - this.#key.tried_at < keyEveryMs) return;
    this.#key = { ...this.#key, tried_at: clock.monotonic() };
    const asked = chance() < 0.5 ? this.#probe(signal) : this.#ask(this.#key.record, signal);
    if (shownBy('key', await asked) === 'accepted') this.#key = null;
  }

  async judge(record: AskedRecord, refusal: RefusedRead, signal: AbortSignal): Promise<Reach> {
    const path = optionalPathOf(record.resource);
    if (refuses('key', refusal)) {
      const reach = await this.#shared('key', signal, () => this.#askAboutKey(record, refusal, signal));
      // The key is accepted elsewhere. It may have no right to this resource.
      if (path === null || reach.because !== 'another-accepted') return reach;
      return this.#shared(path, signal, () => this.#askAboutPath('key', path, record, signal));
    }
    if (path !== null && mayLack(record.resource) && refuses('path', refusal))
      return this.#shared(path, signal, () => this.#askAboutPath('path', path, record, signal));
    const decides = absenceReads(this.#sync.policy).some(({ resource }) => resource === record.resource);
    if (path === null || !decides || !meansGone(refusal)) return { to: 'record', because: 'specified' };
    return this.#shared(path, signal, () => this.#askBeside(path, record, signal));
  }

  /**
   * Requests paths again that are refused: a missing one once a week, or every six hours if it has answered before; one
   * that the key may not read once a day, or every ten minutes. A list that was refused once, and never answered, is
   * requested a second time after a minute, and so is anything refused to the key. A path that answers is read again from
   * then on. Run every minute.
   */
  async askMissing(signal: AbortSignal): Promise<void> {
    const { mirror, clock, log } = this.#sync;
    for (const { path, ...facts } of mirror.schedule.offers.missing()) {
      const resource = resourceAt(path);
      // Subscriptions are requested where they are needed (push/subscription.ask.ts).
      if (resource === null) continue;
      const { refusal } = facts;
      const isDoubted = (isList(resource) || refusal === 'key') && facts.asked_at === facts.since;
      if (!mayAskAgain(facts, clock.now(), isDoubted)) continue;
      const list = { resource, product_id: 0 };
      const asked = isList(resource) ? [list] : othersOfPath(list, this.#listed());
      const shown = await this.#askUntil(refusal, asked, signal);
      if (shown.at(-1) === 'accepted') {
        mirror.transaction(() => mirror.schedule.offers.answered(path, clock.now()));
        prepareRecords(this.#sync);
        log.info({ path }, `the service answers ${nameOf[path]} again`);
      } else if (shown.every((each) => each === 'refused')) {
        pathMissing(this.#sync, path, refusal);
      }
    }
  }

  /**
   * Lets records that are refused at the same time share one result. If the caller that investigates aborts, the next
   * one takes over.
   */
  async #shared(about: 'key' | OptionalPath, signal: AbortSignal, ask: () => Promise<Reach>): Promise<Reach> {
    for (let other = this.#asking.get(about); other !== undefined; other = this.#asking.get(about))
      try {
        return await other;
      } catch {
        signal.throwIfAborted();
      }
    const own = ask().finally(() => this.#asking.delete(about));
    this.#asking.set(about, own);
    return own;
  }

  async #askAboutKey(record: AskedRecord, { message }: RefusedRead, signal: AbortSignal): Promise<Reach> {
    if (this.#key !== null) return { to: 'key', because: 'known' };
    const { clock, policy, log } = this.#sync;
    const since = clock.now();
    const { resources } = policy.extent;
    const known = { products: this.#listed(), resources: resourceNames.filter((each) => resources.has(each)) };
    const reach = reachOfKey(await this.#askUntil('key', othersOfKey(record, known), signal));
    if (reach.to === 'key') {
      this.#key = { message, record, since, tried_at: clock.monotonic() };
      log.error({ message, because: reach.because }, 'the service refuses the key');
    }
    return reach;
  }

  async #askAboutPath(about: RefusalOf, path: OptionalPath, record: AskedRecord, signal: AbortSignal): Promise<Reach> {
    const { mirror, clock } = this.#sync;
    const { offers, targets } = mirror.schedule;
    const known = offers.find(path);
    if (known.not_offered_at !== null) return { to: 'path', because: 'known' };
    if (isThere(known, clock.now())) return { to: 'record', because: 'another-accepted' };
    const others = await this.#askUntil(about, othersOfPath(record, this.#listed()), signal);
    const now = clock.now();
    const reach = reachOfPath(others, record, offers.find(path), now);
    mirror.transaction(() => {
      if (others.includes('accepted')) pathAnswered(this.#sync, path, now);
      if (reach.because !== 'refused-once') return;
      offers.refused(path, now);
      // Its freshness target may not be reachable.
      if (about === 'path' || known.answered_at === null) targets.drop(record.resource);
    });
    if (reach.to === 'path') pathMissing(this.#sync, path, about);
    return reach;
  }

  /**
   * Asks about a refusal that decides about its product, where the path is no question: it is specified, or answers 410.
   * Two other records at most are requested a minute.
   */
  async #askBeside(path: OptionalPath, record: AskedRecord, signal: AbortSignal): Promise<Reach> {
    const { mirror, clock } = this.#sync;
    if (isThere(mirror.schedule.offers.find(path), clock.now())) return reachBeside(['accepted']);
    if (clock.monotonic() - (this.#refusedBeside ?? Number.NEGATIVE_INFINITY) < keyEveryMs) return reachBeside([]);
    const others = await this.#askUntil('path', othersOfPath(record, this.#listed()), signal);
    const isAnswered = others.includes('accepted');
    if (isAnswered) mirror.transaction(() => pathAnswered(this.#sync, path, clock.now()));
    this.#refusedBeside = isAnswered ? null : clock.monotonic();
    return reachBeside(others);
  }

  /** Requests one record after the other, until one is accepted. */
  async #askUntil(about: RefusalOf, records: readonly AskedRecord[], signal: AbortSignal): Promise<Shown[]> {
    const shown: Shown[] = [];
    for (const record of records) {
      shown.push(shownBy(about, await this.#ask(record, signal)));
      if (shown.at(-1) === 'accepted') break;
    }
    return shown;
  }

  async #ask({ resource, product_id }: AskedRecord, signal: AbortSignal) {
    const { upstream, policy, clock } = this.#sync;
    const { languages, currencies } = policy.extent;
    const reads = upstream.in('notification');
    const question = { product_id, language: languages[0], currency: currencies[0], known_hash: null, signal };
    switch (resource) {
      case 'products':
        return this.#probe(signal);
      case 'experiences':
        return reads.experiencePage(1, languages[0], currencies[0], signal);
      case 'tags':
        return reads.tagPage(1, languages[0], currencies[0], signal);
      case 'product_detail':
        return reads.product(question);
      case 'checkout_information':
        return reads.checkoutInformation(question);
      case 'variants':
        return reads.variants(question);
      case 'availability': {
        const today = venueToday(null, clock.now()).latest;
        return reads.availability({ ...question, from: today, to: today });
      }
    }
  }

  /** Returns the products of the last complete list. */
  #listed(): number[] {
    const { mirror } = this.#sync;
    const absent = new Set(mirror.catalogue.removals.absent().map(({ product_id }) => product_id));
    return mirror.catalogue.products.ids().filter((id) => !absent.has(id));
  }
}

/** Records that a path has answered; if that is known already, only now and then. */
export function pathAnswered({ mirror, policy }: Sync, path: OptionalPath, at: Instant): void {
  const { answered_at, refused_at } = mirror.schedule.offers.find(path);
  const isKnown = answered_at !== null && Math.abs(at - answered_at) <= noteEveryMs && refused_at === null;
  if (!isKnown) mirror.schedule.offers.answered(path, at);
  // Restores the freshness targets from before the path was refused.
  if (refused_at !== null) mirror.schedule.targets.write(policy, policy.daysPerRequest);
}

/**
 * Records that a path is missing or not for this key, and drops its records. Records that the key could read before wait
 * for the next attempt instead. Logged once.
 */
export function pathMissing(sync: Sync, path: OptionalPath, refusal: RefusalOf = 'path'): void {
  const { mirror, clock, log } = sync;
  const { offers, records } = mirror.schedule;
  const isNew = mirror.transaction(() => {
    const isNew = offers.notOffered(path, clock.now(), refusal);
    const resource = resourceAt(path);
    if (resource !== null && offers.isOffered(path))
      records.postpone({ resource, until: instant(clock.now() + withheldMs) });
    if (!isNew || resource === null || offers.isOffered(path)) return isNew;
    mirror.schedule.records.dropResource(resource);
    mirror.schedule.targets.drop(resource);
    if (path === 'product') leaveToList(sync);
    mirror.schedule.jobs.finish({ at: clock.now() });
    return true;
  });
  const subject = refusal === 'key' ? 'this key may not read' : 'the service does not offer';
  if (isNew) log.warn({ path, set: keyOf[path] }, `${subject} ${nameOf[path]}: asked again by itself`);
}

/** Judges a 404 or 405 to the read of a subscription that was put at `put_at`, and records the result. */
export function subscriptionRefused(
  sync: Sync,
  status: 404 | 405,
  put_at: number | null,
): ReturnType<typeof judgeSubscriptionRead> {
  const { mirror, clock } = sync;
  const { offers } = mirror.schedule;
  const now = clock.now();
  const meant = offers.isOffered('subscription')
    ? judgeSubscriptionRead(status, offers.find('subscription'), { put_at, now })
    : 'not-offered';
  if (meant === 'not-offered') pathMissing(sync, 'subscription');
  if (meant === 'doubted') mirror.transaction(() => offers.refused('subscription', now));
  return meant;
}

/** Lets the list decide about sale status, closures and absence from now on. */
function leaveToList(sync: Sync): void {
  const { mirror } = sync;
  mirror.catalogue.removals.forgetGone();
  askMissing(sync);
  const undecided = mirror.push.closures.undecided();
  if (undecided.length > 0) askDecidingReads(sync, undecided, 'closure-unconfirmed');
}
