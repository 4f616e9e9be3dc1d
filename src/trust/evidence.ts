import { type Instant, instant } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { askReads, readsAbout } from '../schedule/deciding-reads.ts';
import type { Due, RecordKey } from '../schedule/record.rules.ts';
import { dueByCadence } from '../schedule/record.rules.ts';
import { cadenceOfRecord } from '../schedule/replan-products.ts';
import type { Resource } from '../schedule/resources.rules.ts';
import type { ClaimedBy, ClaimJudge, ClaimVerdict, Sync, UnreadBy, UnreadFailure } from '../schedule/sync.ts';
import { datesOf } from '../schedule/window-dates.ts';
import { type Examples, failsRead, remarkIn } from '../service/shapes.rules.ts';
import {
  about,
  appliedCountsMs,
  askAgainAt,
  gainOf,
  goesBack,
  isAlike,
  isApart,
  isGain,
  isHarmful,
  judgeClaim,
  type Kind,
  likenessOf,
  limitOf,
  marksOf,
  mostAlike,
  rereadAt,
  returns,
  type Said,
  type Subject,
  stillClaims,
  subjects,
  takesAway,
  type Whole,
} from './claims.rules.ts';
import type { ClaimKey, StoredClaim, StoredHold } from './evidence.store.ts';
import {
  decidedMs,
  decisionAt,
  holdStanding,
  isOpen,
  judgeHold,
  nextSampleAt,
  sampleSize,
  stateAfterSample,
  toldAfterMs,
} from './hold.rules.ts';
import type { StoredUnread } from './unread.store.ts';
import { isNewSpelling, readAgainAfter } from './unreadable.rules.ts';
import { Wave } from './wave.rules.ts';

/**
 * The verdict on one claim of an answer. `applies`: the claim that the mirror takes over if the whole answer is stored;
 * `ends`: the one that is over then.
 */
type Judgement = ClaimVerdict & { readonly applies?: StoredClaim; readonly ends?: ClaimKey };

/** A change that may turn out to belong to a wave. */
interface Changed {
  readonly key: ClaimKey;
  readonly said: Said;
  readonly sent_at: Instant;
}

/** What is stored about a record, and all holds. */
interface Known {
  readonly known: readonly StoredClaim[];
  readonly holds: readonly StoredHold[];
}

/** A wave that a claim belongs to. */
interface FoundWave {
  readonly likeness: string | null;
  /** Its earlier changes, which are shown already. */
  readonly earlier: readonly Changed[];
}

/** The verdict on an answer that removes nothing. */
const harmless: Judgement = { kind: 'store', next: null };

/** The initial state of a hold, before its first sample. */
const undecided = { state: 'held', shares: [], decision: null, decided_until: null } as const;

/** Milliseconds for which the count of records that could claim something is reused. */
const countedMs = 60_000;

/**
 * Judges every answer that removes data before it is stored. All its methods but `look` and `decide` run
 * in the transaction of their caller.
 */
export class Evidence implements ClaimJudge {
  readonly #sync: Sync;
  readonly #able = new Map<Subject, { readonly at: number; readonly able: number }>();
  /** Records of each resource that were ever read, counted like `#able`. */
  readonly #readable = new Map<Resource, { readonly at: number; readonly able: number }>();
  readonly #waves = new Map<Subject, Wave<Changed>>();
  /** Instant at which the last confirming read is due. Confirming reads are spread over their share of the rate. */
  #asked_at = 0;

  constructor(sync: Sync) {
    this.#sync = sync;
  }

  /** Decides whether an answer about a record is stored: completely, or not at all. */
  judge(record: RecordKey, said: readonly Said[], answer: ClaimedBy): ClaimVerdict {
    const known = this.#evidence
      .ofProduct({ product_id: record.product_id })
      .filter((each) => isOfRecord(each, record));
    const holds = this.#evidence.holds();
    const judged = said.map((each) => this.#judgeOne(record, each, answer, { known, holds }));
    const kept = judged.find(({ kind }) => kind === 'keep');
    if (kept !== undefined) return kept;
    for (const { applies, ends } of judged) {
      if (ends !== undefined) this.#evidence.drop(ends);
      if (applies !== undefined) this.#evidence.note(applies);
    }
    return { kind: 'store', next: soonest(judged.map(({ next }) => next)) };
  }

  #judgeOne(record: RecordKey, said: Said, answer: ClaimedBy, { known, holds }: Known): Judgement {
    const { sent_at, reason, decides = true, withdraws = true } = answer;
    const { subject } = said;
    const key: ClaimKey = { ...keyOf(record), part: said.part ?? record.part, subject };
    const hold = holds.find((each) => each.subject === subject) ?? null;
    const isHeld = hold !== null && isOpen(hold);
    const stored = known.find((each) => each.subject === subject && each.part === key.part) ?? null;
    const gained = stored !== null && isGain(stored) ? stored : null;
    const claim = gained === null ? stored : null;
    if (claim !== null && claim.applied_at !== null && stillClaims(claim, said, isHeld)) {
      this.#evidence.note({ ...claim, last_at: sent_at });
      return { kind: 'store', next: lookAt(subject, claim.applied_at, this.#now()) };
    }
    const takes = takesAway(said, isHeld) && (claim === null || !returns(claim, said));
    if (takes && gained !== null && goesBack(gained, said)) return this.#goBack(gained, answer);
    // A claim is repeated only if the answer says the same. An answer with yet another price starts over.
    const again =
      takes && claim !== null && claim.applied_at === null && stillClaims(claim, said, isHeld) ? claim : null;
    // A repeated answer is not counted. Once the hold is over, it claims nothing alone.
    const isPassed = about(subject).wave !== undefined && (hold === null || hold.state === 'ended');
    const repeated = isPassed ? null : alone;
    const wave = again === null ? this.#waveOf({ key, said, sent_at }, takes, hold) : repeated;
    if (!takes || wave === null) {
      if (claim !== null && (withdraws || takes)) this.#evidence.drop(key);
      const gain = gained === null && reason !== 'never-fetched' && reason !== 'notified' ? gainOf(said) : null;
      // What was gained is kept beside the claims, where it is not counted.
      return gain === null
        ? harmless
        : { ...harmless, applies: { ...claimed(key, gain, sent_at), applied_at: sent_at, held_at: sent_at } };
    }
    const next: StoredClaim = {
      ...claimed(key, said, sent_at),
      ...(again !== null && { shown: again.shown, first_at: again.first_at, held_at: again.held_at }),
    };
    this.#evidence.note(next);
    const guard = this.#guardOf(said);
    const isWave = about(subject).wave !== undefined;
    const isFree = hold === null || hold.state === 'ended' || (hold.state === 'reported' && guard === 'hold');
    const whole = this.#whole(subject);
    const { kind, because } = judgeClaim({
      subject,
      first_at: decides ? (again?.first_at ?? null) : null,
      sent_at,
      standing: guard === 'hold' && !isFree ? holdStanding(hold, this.#now()) : 'free',
      whole,
      isWave,
      guard,
      live: reason === 'live-check',
    });
    const isReported = guard === 'warn' && (isWave || whole.claiming > limitOf(whole.able));
    if (isFree && (isReported || because === 'too-many')) this.#open(said, wave);
    if (kind === 'take') {
      if (!decides) return harmless;
      // A claim applied by an agreement or by a person is the new normal state, and no longer counts towards the limit.
      const counts = because === 'said-twice' || because === 'live-check' || because === 'reported';
      const applies = { ...next, applied_at: sent_at, held_at: counts ? null : (next.held_at ?? sent_at) };
      return { kind: 'store', next: lookAt(subject, sent_at, sent_at), applies };
    }
    if (because === 'held') this.#hold(next);
    const isAsked = because === 'said-once' && decides;
    if (!isAsked) return { kind: 'keep', next: null };
    const { apart_ms } = about(subject);
    const at = apart_ms === undefined ? this.#askAgainAt() : instant(next.first_at + apart_ms);
    return { kind: 'keep', next: { at, reason: 'claimed' } };
  }

  /**
   * Judges an answer that takes back what its record has gained within a day. It is stored when a second one agrees, also
   * while its subject is held, and does not count: a service that was wrong about many records corrects them all.
   */
  #goBack(gained: StoredClaim, { sent_at, reason }: ClaimedBy): Judgement {
    const { back_at } = gained;
    if (
      reason === 'live-check' ||
      this.#guardOf(gained) === 'off' ||
      (back_at !== null && isApart(gained.subject, back_at, sent_at))
    )
      return { ...harmless, ends: gained };
    this.#evidence.note({ ...gained, back_at: back_at ?? sent_at });
    return { kind: 'keep', next: { at: this.#askAgainAt(), reason: 'claimed' } };
  }

  /**
   * Counts an answer among those of its subject. Returns the wave that it belongs to, or null: it stands alone, and claims
   * nothing. Subjects that are not about waves always claim something.
   */
  #waveOf(changed: Changed, takes: boolean, hold: StoredHold | null): FoundWave | null {
    const { said, sent_at } = changed;
    const { subject, shown, said: amount } = said;
    const { wave: rule } = about(subject);
    if (rule === undefined) return alone;
    const marks = takes ? marksOf(said) : [];
    const wave = this.#waves.getOrInsertComputed(subject, () => new Wave(this.#evidence.wave<Changed>(subject)));
    const isValue = rule.by === 'value';
    const found = wave.note(
      {
        record: Object.values(keyOf(changed.key)).join('/'),
        marks,
        changed: isValue ? said.said_as !== said.shown_as : shown !== amount,
        shown: shown ?? 0,
        said: amount ?? 0,
        at: sent_at,
        item: changed,
      },
      () => mostAlike(this.#ableOf(subject)),
    );
    if (!takes) return null;
    if (found !== null) return { likeness: likenessOf(said, found.mark), earlier: found.earlier };
    const isHeld = hold !== null && hold.state !== 'ended' && isAlike(said, hold.likeness);
    return isHeld ? alone : null;
  }

  judgeUnread(record: RecordKey, unread: Examples | undefined, by: UnreadBy): UnreadFailure | null {
    const table = this.#evidence.unread;
    for (const row of table.ofRecord(record)) if (unread?.has(row.member) !== true) table.drop(row);
    if (unread === undefined) return null;
    const rows = this.#unreadRows(record, unread, by);
    for (const row of rows) table.note(row);
    const failure = this.#unreadFailure(rows, unread);
    if (failure === null) {
      for (const row of rows) if (row.kept === 1) table.note({ ...row, kept: 0 });
      return null;
    }
    const now = this.#now();
    const product = this.#sync.mirror.catalogue.products.find(record.product_id);
    const window = product === null ? null : datesOf(this.#sync.policy.of(product.category), product, record.part, now);
    this.#evidence.markHeld(record, now, window);
    return failure;
  }

  foreseeUnread(record: RecordKey, unread: Examples | undefined, by: UnreadBy): UnreadFailure | null {
    return unread === undefined ? null : this.#unreadFailure(this.#unreadRows(record, unread, by), unread);
  }

  #unreadRows(record: RecordKey, unread: Examples, { sent_at, isRead }: UnreadBy): StoredUnread[] {
    const stored = new Map(this.#evidence.unread.ofRecord(record).map((row) => [row.member, row]));
    return [...unread].map(([member, { example }]) => {
      const before = stored.get(member);
      const first_at = before?.first_at ?? sent_at;
      // What was never readable is not lost, and what was stored so is no news.
      const kept = remarkIn(member).why !== null ? 0 : ((before?.kept ?? (isRead ? 1 : 0)) as 0 | 1);
      return { ...keyOf(record), member, example, first_at, last_at: sent_at, kept };
    });
  }

  #unreadFailure(rows: readonly StoredUnread[], unread: Examples): UnreadFailure | null {
    const claimingOf = ({ resource, member, last_at }: StoredUnread) =>
      this.#evidence.unread.claiming({ resource, member, since: instant(last_at - appliedCountsMs) });
    const lost = rows.find(
      (row) =>
        row.kept === 1 &&
        ((unread.get(row.member)?.isAll === true && failsRead(row.resource, row.member)) ||
          isNewSpelling({ able: this.#ableToRead(row.resource), claiming: claimingOf(row) })),
    );
    if (lost === undefined) return null;
    const message = `${lost.member} cannot be read any more: ${lost.example}`;
    const again_ms = readAgainAfter(claimingOf(lost), this.#sync.budget().rate) * (1 + this.#sync.chance());
    return { kind: 'failed', code: 'members-unreadable', message, again_ms: Math.round(again_ms) };
  }

  #ableToRead(resource: Resource): number {
    const now = this.#now();
    const known = this.#readable.get(resource);
    if (known !== undefined && now >= known.at && now - known.at < countedMs) return known.able;
    const able = this.#evidence.unread.able(resource);
    this.#readable.set(resource, { at: now, able });
    return able;
  }

  get #evidence() {
    return this.#sync.mirror.evidence;
  }

  #now(): Instant {
    return this.#sync.clock.now();
  }

  /** Returns the configured reaction to a claim. A wave that does no harm is only reported. */
  #guardOf(said: Said) {
    const guard = this.#sync.policy.held[subjects[said.subject].kind];
    return guard === 'hold' && !isHarmful(said) ? 'warn' : guard;
  }

  #whole(subject: Subject): Whole {
    const able = this.#ableOf(subject);
    const claiming = this.#evidence.claiming(subject);
    return { able: Math.max(able, claiming), claiming };
  }

  #ableOf(subject: Subject): number {
    const now = this.#now();
    const known = this.#able.get(subject);
    if (known !== undefined && now >= known.at && now - known.at < countedMs) return known.able;
    const able = this.#evidence.able(subject);
    this.#able.set(subject, { at: now, able });
    return able;
  }

  #askAgainAt(): Instant {
    // Not from when the answer was made: a cache would give the same one again.
    const at = instant(Math.ceil(askAgainAt(this.#now(), this.#asked_at, this.#sync.budget().rate)));
    this.#asked_at = at;
    return at;
  }

  /**
   * Holds all claims of a subject, and makes those applied in the last day due for another read. Claims that are to be
   * reported alone are not held.
   */
  #open(said: Said, { likeness, earlier }: FoundWave): void {
    const { subject } = said;
    const opened_at = this.#now();
    const state = this.#guardOf(said) === 'warn' ? 'reported' : 'held';
    // The first sample is drawn at the next run of `look`.
    const unsampled = { next_at: opened_at, sampled_at: null, sample: [], ended_at: null };
    this.#evidence.putHold({ subject, opened_at, ...undecided, state, likeness, ...unsampled });
    // The first changes of a wave were stored before it was one.
    for (const { key, said, sent_at } of earlier)
      if (this.#evidence.claim(key) === null)
        this.#evidence.note({ ...claimed(key, said, sent_at), applied_at: sent_at });
    const whole = this.#whole(subject);
    this.#sync.log.error(
      { subject, likeness, ...whole, limit: limitOf(whole.able) },
      'too many records claim the same: catalogued held list',
    );
    if (state === 'reported') return;
    this.#askAll(this.#evidence.claims(subject, 'applied'));
    for (const claim of this.#evidence.claims(subject, 'pending')) {
      this.#hold(claim);
      this.#rest(claim);
    }
  }

  /** Marks a record as stale because its claim is held, and reports that in the change feed once per product and hold. */
  #hold(claim: StoredClaim): void {
    const { mirror, policy } = this.#sync;
    const now = this.#now();
    const { product_id, subject } = claim;
    const told = mirror.evidence
      .ofProduct({ product_id })
      .some((each) => each.subject === subject && each.held_at !== null && each.applied_at === null);
    mirror.evidence.note({ ...claim, held_at: claim.held_at ?? now });
    const product = mirror.catalogue.products.find(product_id);
    const window = product === null ? null : datesOf(policy.of(product.category), product, claim.part, now);
    mirror.evidence.markHeld(claim, now, window);
    // The next answer is compared in full, so the answer that withdraws the claim is stored like a new one, and is
    // fresh.
    mirror.schedule.records.forgetBody(claim);
    if (!told && product_id !== 0)
      mirror.changes.add(
        { product_id, kind: 'held', detail: { subject } },
        { sent_at: claim.last_at, reason: 'claimed' },
      );
  }

  /**
   * Leaves the confirming read of a held claim to the record's cadence, and no resync waits for it: while claims are
   * held, a sample is read instead.
   */
  #rest(claim: StoredClaim): void {
    const { mirror, policy } = this.#sync;
    const record = mirror.schedule.records.find(claim);
    if (record === null || record.due_reason !== 'claimed') return;
    const product = mirror.catalogue.products.find(claim.product_id);
    const every = cadenceOfRecord(policy.of(product?.category ?? null), record, product);
    mirror.schedule.records.setDue(record, dueByCadence(record, this.#now(), every));
    if (record.job_id !== null) mirror.schedule.jobs.giveUp(record, record.job_id);
  }

  /** Stores the waves, and reviews the holds: draws and judges their samples, and ends those that are over. Run once a minute. */
  look(): void {
    const holds = this.#evidence.holds();
    const waves = [...this.#waves].filter(([, { isUnsaved }]) => isUnsaved);
    const isAny = holds.length > 0 || waves.length > 0 || this.#evidence.isAny();
    // Without holds and claims no transaction is needed, so it does not wait for other writers.
    if (!isAny && this.#evidence.unread.members().length === 0) return;
    this.#sync.mirror.transaction(() => {
      // A kill forgets the changes of the last minute.
      for (const [subject, wave] of waves) this.#evidence.putWave(subject, wave.saved(this.#now()));
      this.#evidence.prune(this.#now());
      this.#evidence.unread.prune();
      for (const each of holds) this.#lookAt(each);
    });
  }

  #lookAt(found: StoredHold): void {
    const { log } = this.#sync;
    const now = this.#now();
    const { subject, ended_at, decided_until } = found;
    const isTold = ended_at !== null && now - ended_at < toldAfterMs;
    const guard = this.#sync.policy.held[subjects[subject].kind];
    // The configuration has changed since. If the subject is now to be held, the next claim begins the hold.
    const isOther =
      guard === 'off' || (guard === 'hold' && found.state === 'reported' && about(subject).wave === undefined);
    if (isOther || (found.state === 'ended' && !isTold)) this.#end(subject);
    if (isOther || found.state === 'ended') return;
    if (found.state === 'asking' && decided_until !== null && now >= decided_until) {
      // Claims made a day after the agreement or approval are judged from scratch.
      this.#evidence.putHold({ ...found, ...undecided, opened_at: now });
      return;
    }
    const sampled = this.#sampled(found);
    const contradicting = this.#evidence.contradicting(subject, instant(found.opened_at));
    const verdict = judgeHold(sampled, { ...this.#whole(subject), contradicting }, now);
    const decision = decisionAt(found, now);
    const pending = this.#evidence.claims(subject, 'pending');
    // An approval by a person stays in force until it expires.
    if (verdict === 'passed' && decision !== 'approved') {
      const isBelieved = sampled.state === 'asking';
      log.warn({ subject }, isBelieved ? 'a mass of claims was believed' : 'a mass of claims has passed');
      if (isBelieved) this.#evidence.putHold({ ...sampled, state: 'ended', ended_at: now });
      else this.#end(subject);
      for (const claim of pending) this.#evidence.note({ ...claim, held_at: null });
      this.#askAll(pending);
    } else if (verdict === 'taken-back' || (verdict === 'agreed' && decision === null)) {
      const state = verdict === 'agreed' ? 'asking' : 'taken-back';
      log.warn({ subject, state }, 'held claims are asked again');
      // A decision that has expired is dropped: the new end would put it into force again.
      const until = decision === null ? { decision, decided_until: instant(now + decidedMs) } : {};
      this.#evidence.putHold({ ...sampled, state, ...until });
      this.#askAll(pending);
    } else if (sampled !== found) this.#evidence.putHold(sampled);
  }

  /** Ends a hold. What has led to it begins no other one. */
  #end(subject: Subject): void {
    this.#evidence.endHold(subject);
    this.#waves.delete(subject);
  }

  /** Returns the hold with its sample judged and the next sample drawn, if that is due. */
  #sampled(found: StoredHold): StoredHold {
    const { chance } = this.#sync;
    const now = this.#now();
    if (now < found.next_at) return found;
    const { sampled_at, subject, opened_at, state } = found;
    const share = sampled_at === null ? null : this.#shareOf(found.sample, sampled_at);
    const next_at = instant(nextSampleAt(opened_at, now));
    const sample = drawn(this.#evidence.claims(subject, 'pending'), chance).map((claim) => ({
      ...keyOf(claim),
      subject,
    }));
    for (const key of sample) this.#ask(key, instant(Math.floor(now + chance() * (next_at - now))));
    return {
      ...found,
      state: share === null ? state : stateAfterSample(state, share),
      shares: [...found.shares, ...(share === null ? [] : [share])].slice(-3),
      sample,
      sampled_at: now,
      next_at,
    };
  }

  /** Returns the share of a sample's answers that still make the claim, 0 to 1; null: none has answered. */
  #shareOf(sample: readonly ClaimKey[], sampled_at: number): number | null {
    const claims = sample.map((key) => this.#evidence.claim(key));
    const answered = claims.filter((claim) => claim === null || claim.last_at >= sampled_at);
    return answered.length === 0 ? null : answered.filter((claim) => claim !== null).length / answered.length;
  }

  /** Makes the reads about some claims due, one after another at the allowed rate. */
  #askAll(claims: readonly ClaimKey[]): void {
    for (const claim of claims) this.#ask(claim, this.#askAgainAt());
  }

  /** Makes the reads due that decide about a claim. */
  #ask(claim: ClaimKey, at: Instant): void {
    askReads(this.#sync, readsAbout(this.#sync.policy, claim), [claim.product_id], { at, reason: 'claimed' });
  }

  /**
   * Records a person's decision about holds: the held claims are believed, or the mirror's copy is kept, for a day.
   * Returns the subjects.
   */
  decide(kind: Kind | Subject, decision: 'approved' | 'rejected'): Subject[] {
    const until = instant(this.#now() + decidedMs);
    const holds = this.#evidence
      .holds()
      .filter((each) => isOpen(each) && (each.subject === kind || subjects[each.subject].kind === kind));
    if (holds.length === 0)
      throw new CataloguedError('not-held', `nothing of the kind ${kind} is held`, {
        exitCode: exitCodes.usage,
        hint: 'see what is held: catalogued held list',
      });
    this.#sync.mirror.transaction(() => {
      for (const each of holds) {
        const state = decision === 'approved' ? 'asking' : each.state;
        this.#evidence.putHold({ ...each, state, decision, decided_until: until });
        if (decision === 'approved') this.#askAll(this.#evidence.claims(each.subject, 'pending'));
      }
    });
    return holds.map(({ subject }) => subject);
  }
}

/** Returns the earliest of some due instants; null: there is none. */
export function soonest(looks: readonly (Due | null)[]): Due | null {
  return looks.filter((look) => look !== null).toSorted((a, b) => a.at - b.at)[0] ?? null;
}

function isOfRecord(claim: StoredClaim, { resource, edition }: RecordKey): boolean {
  return claim.resource === resource && claim.edition === edition;
}

function keyOf({ resource, product_id, edition, part }: RecordKey): RecordKey {
  return { resource, product_id, edition, part };
}

/** A claim that belongs to no wave, or to one that is known. */
const alone: FoundWave = { likeness: null, earlier: [] };

/** Returns a claim made by one answer, which is not applied. */
function claimed(key: ClaimKey, { shown, said, shown_as = null, said_as = null }: Said, sent_at: Instant): StoredClaim {
  const made = { shown, said, shown_as, said_as, first_at: sent_at, last_at: sent_at };
  return { ...key, ...made, held_at: null, applied_at: null, back_at: null };
}

function lookAt(subject: Subject, applied_at: number, sent_at: number): Due | null {
  const at = rereadAt(subject, applied_at, sent_at);
  return at === null ? null : { at: instant(at), reason: 'taken-away' };
}

/** Draws a random sample without repetition, of at most `sampleSize`. */
function drawn<Item>(all: readonly Item[], chance: () => number): Item[] {
  const left = [...all];
  const sample: Item[] = [];
  while (sample.length < sampleSize && left.length > 0)
    sample.push(...left.splice(Math.floor(chance() * left.length), 1));
  return sample;
}
