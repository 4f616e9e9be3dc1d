import { type Instant, instant } from '../../clock.ts';
import {
  askAgainAt,
  judgeClaim,
  type Kind,
  limitOf,
  lookAgainAt,
  returns,
  type Said,
  type Subject,
  stillSays,
  subjects,
  takesAway,
  type Verdict,
  type Whole,
} from '../../domain/evidence/claims.ts';
import {
  decidedMs,
  decisionAt,
  type HoldVerdict,
  healed,
  isOpen,
  judgeHold,
  nextSampleAt,
  sampleSize,
  standingOf,
  stateAfterSample,
  toldAfterMs,
} from '../../domain/evidence/hold.ts';
import { dueByCadence } from '../../domain/schedule/cadence.ts';
import type { Due, RecordKey } from '../../domain/schedule/record.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { ClaimKey, StoredClaim, StoredHold } from '../../mirror/evidence.ts';
import type { ClaimedBy, ClaimJudge, ClaimPorts, Passed } from '../records/context.ts';
import { askAbsence, askOwnRead, askPlace, askSaleStatus } from '../records/deciding-reads.ts';
import { cadenceOf } from '../records/reschedule.ts';
import { markStale } from './stale.ts';

/** What becomes of one thing that an answer says, before it is known whether all of it is stored. */
type Judgement =
  /** Since when it is taken away that it still is; null: it takes nothing away. */
  | { readonly kind: 'store'; readonly subject: Subject; readonly applied_at: number | null }
  | (Extract<Verdict, { kind: 'take' }> & { readonly claim: StoredClaim })
  | Extract<Passed, { kind: 'keep' }>;

/** A hold of which nothing is known yet. */
const undecided = { state: 'held', shares: [], decision: null, decided_until: null } as const;

/** How long what a catalogue could claim is believed, once counted. */
const countedMs = 60_000;

/**
 * Every answer that takes something away passes here before it is stored (evidence.md). All its methods but `look` and `decide` run in
 * the transaction of their caller.
 */
export class Evidence implements ClaimJudge {
  readonly #able = new Map<Subject, { readonly at: number; readonly able: number }>();
  /** When the last second question is due: they are spread over their share of the rate. */
  #asked_at = 0;

  /** Decides whether an answer about a record is stored: as a whole, or not at all. */
  pass(ports: ClaimPorts, record: RecordKey, said: readonly Said[], answer: ClaimedBy): Passed {
    const judged = said.map((each) => this.#judge(ports, record, each, answer));
    const kept = judged.find((each) => each.kind === 'keep');
    if (kept !== undefined) return kept;
    const looks = judged.flatMap((each) => (each.kind === 'keep' ? [] : (this.#taken(ports, each, answer) ?? [])));
    return { kind: 'store', look: soonest(looks) };
  }

  #judge(ports: ClaimPorts, record: RecordKey, said: Said, answer: ClaimedBy): Judgement {
    const { sent_at, reason, announced, decides = true, withdraws = true } = answer;
    const { evidence } = ports.mirror;
    const { subject } = said;
    const key: ClaimKey = { ...keyOf(record), subject };
    const claim = evidence.claim(key);
    if (claim !== null && claim.applied_at !== null && stillSays(claim, said)) {
      evidence.note({ ...claim, last_at: sent_at });
      return { kind: 'store', applied_at: claim.applied_at, subject };
    }
    const takes = takesAway(said) && announced !== true && (claim === null || !returns(claim, said));
    if (!takes) {
      if (claim !== null && withdraws) evidence.drop(key);
      return { kind: 'store', applied_at: null, subject };
    }
    // An answer that says yet another price says nothing twice.
    const again = claim !== null && claim.applied_at === null && stillSays(claim, said) ? claim : null;
    const next: StoredClaim = {
      ...key,
      shown: again?.shown ?? said.shown,
      said: said.said,
      first_at: again?.first_at ?? sent_at,
      last_at: sent_at,
      held_at: again?.held_at ?? null,
      applied_at: null,
    };
    evidence.note(next);
    const verdict = judgeClaim({
      first_at: decides ? (again?.first_at ?? null) : null,
      sent_at,
      standing: this.#standing(ports, subject),
      whole: this.#whole(ports, subject),
      guard: guardOf(ports, subject),
      live: reason === 'live-check',
    });
    if (guardOf(ports, subject) === 'warn') this.#warn(ports, subject);
    if (verdict.kind === 'take')
      return decides ? { ...verdict, claim: next } : { kind: 'store', applied_at: null, subject };
    if (verdict.because === 'said-once') return { ...verdict, due: decides ? this.#askAgain(ports, sent_at) : null };
    if (verdict.because === 'too-many') this.#open(ports, subject);
    else hold(ports, next);
    return { ...verdict, due: null };
  }

  /** Notes what is taken away by an answer that is stored, and returns the next look at it. */
  #taken({ mirror }: ClaimPorts, judged: Exclude<Judgement, { kind: 'keep' }>, { sent_at }: ClaimedBy): Due | null {
    if (judged.kind === 'store')
      return judged.applied_at === null ? null : lookAt(judged.subject, judged.applied_at, sent_at);
    const { claim, because } = judged;
    // What an agreement or a person applies is the new state of the world, and counts no more.
    const counts = because === 'said-twice' || because === 'live-check';
    mirror.evidence.note({ ...claim, applied_at: sent_at, held_at: counts ? null : (claim.held_at ?? sent_at) });
    return lookAt(claim.subject, sent_at, sent_at);
  }

  /** Tells of a mass of claims where they are believed. */
  #warn(ports: ClaimPorts, subject: Subject): void {
    const { able, claiming } = this.#whole(ports, subject);
    if (claiming > limitOf(able)) this.#begin(ports, subject);
  }

  #standing({ mirror, clock, policy }: ClaimPorts, subject: Subject) {
    return policy.held[subjects[subject]] === 'hold'
      ? standingOf(mirror.evidence.hold(subject), clock.now())
      : ('free' as const);
  }

  #whole({ mirror, clock }: ClaimPorts, subject: Subject): Whole {
    const now = clock.now();
    const known = this.#able.get(subject);
    const fresh = known !== undefined && now >= known.at && now - known.at < countedMs;
    const able = fresh ? known.able : mirror.evidence.able(subject);
    if (!fresh) this.#able.set(subject, { at: now, able });
    const claiming = mirror.evidence.claiming(subject);
    return { able: Math.max(able, claiming), claiming };
  }

  #askAgain({ budget }: Pick<ClaimPorts, 'budget'>, sent_at: Instant): Due {
    const at = instant(Math.ceil(askAgainAt(sent_at, this.#asked_at, budget().rate)));
    this.#asked_at = at;
    return { at, reason: 'claimed' };
  }

  /** Begins a hold over a subject, unless there is one. */
  #begin(ports: ClaimPorts, subject: Subject): 'new' | 'known' {
    const { mirror, clock, log } = ports;
    const now = clock.now();
    const known = mirror.evidence.hold(subject);
    if (known !== null && known.state !== 'ended') return 'known';
    const whole = this.#whole(ports, subject);
    mirror.evidence.putHold({
      subject,
      opened_at: now,
      ...undecided,
      ...(guardOf(ports, subject) === 'warn' ? { state: 'reported' as const } : {}),
      // The first sample is drawn at the next look.
      next_at: now,
      sampled_at: null,
      sample: [],
      ended_at: null,
    });
    log.error(
      { subject, ...whole, limit: limitOf(whole.able) },
      'too many records claim the same: catalogued held list',
    );
    return 'new';
  }

  /** Holds all claims of a subject. What was applied in the last day is asked again first. */
  #open(ports: ClaimPorts, subject: Subject): void {
    const { mirror } = ports;
    if (this.#begin(ports, subject) === 'new')
      for (const claim of mirror.evidence.applied(subject))
        ask(ports, keyOfClaim(claim), this.#askAgain(ports, ports.clock.now()).at);
    for (const claim of mirror.evidence.pending(subject)) {
      if (claim.held_at !== null) continue;
      hold(ports, claim);
      rest(ports, claim);
    }
  }

  /** Looks at the holds: draws and judges their samples, and ends those that are over. Run once a minute. */
  look(ports: ClaimPorts): void {
    const { mirror, clock } = ports;
    const holds = mirror.evidence.holds();
    // Where nothing is claimed it waits for no other writer.
    if (holds.length === 0 && !mirror.evidence.isAny()) return;
    mirror.transaction(() => {
      mirror.evidence.prune(clock.now());
      for (const each of holds) this.#lookAt(ports, each);
    });
  }

  #lookAt(ports: ClaimPorts, stored: StoredHold): void {
    const { mirror, clock, log } = ports;
    const now = clock.now();
    const found = healed(stored, now);
    const { subject, ended_at, decided_until } = found;
    const isTold = ended_at !== null && now - ended_at < toldAfterMs;
    const guard = guardOf(ports, subject);
    // The configuration has another word for it by now: where it is to be held, the next claim begins it.
    const isOther = guard === 'off' || (guard === 'hold' && found.state === 'reported');
    if (isOther || (found.state === 'ended' && !isTold)) mirror.evidence.endHold(subject);
    if (isOther || found.state === 'ended') return;
    if (found.state === 'asking' && decided_until !== null && now >= decided_until) {
      // What is claimed a day after it was agreed, or approved, is another matter.
      mirror.evidence.putHold({ ...found, ...undecided, opened_at: now });
      return;
    }
    const sampled = this.#sampled(ports, found);
    const verdict: HoldVerdict = judgeHold(
      sampled,
      {
        ...this.#whole(ports, subject),
        contradicting: mirror.evidence.contradicting(subject, instant(found.opened_at)),
      },
      now,
    );
    const decision = decisionAt(found, now);
    // What a person has approved is believed for as long as that is good for.
    if (verdict === 'passed' && decision !== 'approved') {
      const isBelieved = sampled.state === 'asking';
      log.warn({ subject }, isBelieved ? 'a mass of claims was believed' : 'a mass of claims has passed');
      if (isBelieved) mirror.evidence.putHold({ ...sampled, state: 'ended', ended_at: now });
      else mirror.evidence.endHold(subject);
      for (const claim of mirror.evidence.pending(subject)) mirror.evidence.note({ ...claim, held_at: null });
      this.#askAll(ports, subject);
    } else if (verdict === 'taken-back' || (verdict === 'agreed' && decision === null)) {
      const state = verdict === 'agreed' ? 'asking' : 'taken-back';
      log.warn({ subject, state }, 'held claims are asked again');
      mirror.evidence.putHold({
        ...sampled,
        state,
        ...(decision === null ? { decided_until: instant(now + decidedMs) } : {}),
      });
      this.#askAll(ports, subject);
    } else if (sampled !== stored) mirror.evidence.putHold(sampled);
  }

  /** Returns the hold with its sample judged and the next one drawn, where that is due. */
  #sampled(ports: ClaimPorts, found: StoredHold): StoredHold {
    const { mirror, clock, chance } = ports;
    const now = clock.now();
    if (now < found.next_at) return found;
    const { sampled_at, subject, opened_at, state } = found;
    const share = sampled_at === null ? null : shareOf(ports, found.sample, sampled_at);
    const next_at = instant(nextSampleAt(opened_at, now));
    const sample = drawn(mirror.evidence.pending(subject), chance).map((claim) => keyOfClaim(claim));
    for (const key of sample) ask(ports, key, instant(Math.floor(now + chance() * (next_at - now))));
    return {
      ...found,
      state: share === null ? state : stateAfterSample(state, share),
      shares: [...found.shares, ...(share === null ? [] : [share])].slice(-3),
      sample,
      sampled_at: now,
      next_at,
    };
  }

  /** Asks all that claim a subject, each in its turn. */
  #askAll(ports: ClaimPorts, subject: Subject): void {
    for (const claim of ports.mirror.evidence.pending(subject))
      ask(ports, keyOfClaim(claim), this.#askAgain(ports, ports.clock.now()).at);
  }

  /** Settles a hold because a person decides: what is held is believed, or kept, for a day. Returns the subjects. */
  decide(ports: ClaimPorts, kind: Kind | Subject, decision: 'approved' | 'rejected'): Subject[] {
    const { mirror, clock } = ports;
    const until = instant(clock.now() + decidedMs);
    const holds = mirror.evidence.holds().filter((each) => isOpen(each) && isOf(each.subject, kind));
    if (holds.length === 0)
      throw new CataloguedError('not-held', `nothing of ${kind} is held`, {
        exitCode: exitCodes.usage,
        hint: 'see what is held: catalogued held list',
      });
    mirror.transaction(() => {
      for (const each of holds) {
        const state = decision === 'approved' ? 'asking' : each.state;
        mirror.evidence.putHold({ ...each, state, decision, decided_until: until });
        if (decision === 'approved') this.#askAll(ports, each.subject);
      }
    });
    return holds.map(({ subject }) => subject);
  }
}

/** Returns the first of some looks; null: there is none. */
export function soonest(looks: readonly (Due | null)[]): Due | null {
  return looks.filter((look) => look !== null).toSorted((a, b) => a.at - b.at)[0] ?? null;
}

function isOf(subject: Subject, kind: Kind | Subject): boolean {
  return subject === kind || subjects[subject] === kind;
}

function guardOf({ policy }: Pick<ClaimPorts, 'policy'>, subject: Subject) {
  return policy.held[subjects[subject]];
}

function keyOf({ resource, product_id, edition, part }: RecordKey): RecordKey {
  return { resource, product_id, edition, part };
}

function keyOfClaim({ subject, ...record }: StoredClaim): ClaimKey {
  return { ...keyOf(record), subject };
}

function lookAt(subject: Subject, applied_at: number, sent_at: number): Due | null {
  const at = lookAgainAt(subject, applied_at, sent_at);
  return at === null ? null : { at: instant(at), reason: 'taken-away' };
}

/** Shows a record as stale because its claim is held, and tells the feed once a product and hold. */
function hold(ports: ClaimPorts, claim: StoredClaim): void {
  const { mirror, clock } = ports;
  const now = clock.now();
  const { product_id, subject } = claim;
  const told = mirror.evidence
    .ofProduct(product_id)
    .some((each) => each.subject === subject && each.held_at !== null && each.applied_at === null);
  mirror.evidence.note({ ...claim, held_at: claim.held_at ?? now });
  markStale(ports, claim);
  // The answer that takes the claim back is stored like a new one, and so is fresh.
  mirror.records.forgetBody(claim);
  if (!told && product_id !== 0)
    mirror.changes.add(
      { product_id, kind: 'held', detail: { subject } },
      { sent_at: claim.last_at, reason: 'claimed' },
    );
}

/** Has a second question wait for the record's cadence: while claims are held, a sample is asked. */
function rest({ mirror, clock, policy }: ClaimPorts, claim: StoredClaim): void {
  const record = mirror.records.find(claim);
  if (record === null || record.due_reason !== 'claimed') return;
  const product = mirror.products.find(claim.product_id);
  const every = cadenceOf(policy.of(product?.category ?? null), record, product);
  mirror.records.setDue(record, dueByCadence(record, clock.now(), every));
}

/** Makes a record due because of its claim: a product's place in a list, or the read that decides about it. */
function ask(ports: ClaimPorts, { subject, resource, product_id, edition, part }: ClaimKey, at: Instant): void {
  const due = { at, reason: 'claimed' } as const;
  if (subject === 'products') askAbsence(ports, product_id, due);
  else if (subject === 'sale-status') askSaleStatus(ports, product_id, due);
  else if (resource === 'products') askPlace(ports, product_id, edition, due);
  else if (resource === 'product_detail') askOwnRead(ports, product_id, edition, due);
  else
    ports.mirror.records.bringForward(
      { kinds: [{ resource, edition, part }], product_ids: [product_id] },
      at,
      'claimed',
    );
}

/** Returns which share of a sample's answers still claim it; null: none has answered. */
function shareOf({ mirror }: ClaimPorts, sample: readonly ClaimKey[], sampled_at: number): number | null {
  const claims = sample.map((key) => mirror.evidence.claim(key));
  const silent = claims.filter((claim) => claim !== null && claim.last_at < sampled_at).length;
  const answered = sample.length - silent;
  if (answered === 0) return null;
  return claims.filter((claim) => claim !== null && claim.last_at >= sampled_at).length / answered;
}

/** Draws a sample. */
function drawn<Item>(all: readonly Item[], chance: () => number): Item[] {
  const left = [...all];
  const sample: Item[] = [];
  while (sample.length < sampleSize && left.length > 0)
    sample.push(...left.splice(Math.floor(chance() * left.length), 1));
  return sample;
}
