import { futureToleranceMs } from '../schedule/record.ts';
import { type HoldStanding, type Kind, limitOf, type Subject, subjects, type Whole } from './claims.ts';

/*
 * Decides about a hold: so many records claim the same that the mirror keeps what it shows of all of them. It ends when
 * the service takes it back, when it has insisted for hours, or when a person decides.
 */

/** A hold in force, or one that ended by an agreement less than a day ago. */
export interface Hold {
  readonly subject: Subject;
  readonly opened_at: number;
  /**
   * `asking`: it is agreed, and each record is asked once more; `taken-back`: the same, because few still claim it;
   * `reported`: the configuration has it believed.
   */
  readonly state: 'held' | 'asking' | 'taken-back' | 'reported' | 'ended';
  /** When the sample under way is judged and the next one drawn, and when it was drawn; null: none is under way. */
  readonly next_at: number;
  readonly sampled_at: number | null;
  /** The shares of the last three samples that still claimed it, from 0 to 1. */
  readonly shares: readonly number[];
  /** A person has decided until then; null: nobody has. */
  readonly decision: 'approved' | 'rejected' | null;
  readonly decided_until: number | null;
  readonly ended_at: number | null;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** When samples are judged, counted from the beginning of the hold; then each hour. */
const sampleAtMs = [1, 5, 15, 30, 60].map((minutes) => minutes * minuteMs);
/** How many records a sample asks. */
export const sampleSize = 20;
/** So long a mass of claims must last, and so many of three samples say so, before it is believed. */
const agreesAfterMs: Readonly<Record<Kind, number>> = { less: 3 * hourMs, price: 24 * hourMs };
const agreeing = { samples: 3, share: 0.85 };
/** So few of two samples claim it where the service has taken it back. */
const takenBack = { samples: 2, share: 0.15 };
/** Whole catalogues do not change unannounced: of so many records a larger share never agrees by itself. */
const whole = { records: 60, share: 0.8 };
/** How long a person's decision is good for. */
export const decidedMs = 24 * hourMs;
/** A hold that lasts longer is for a person to decide. */
const overdueMs = 24 * hourMs;
/** How long a hold that ended by an agreement is told of. */
export const toldAfterMs = 24 * hourMs;

/** Returns when the next sample is judged. */
export function nextSampleAt(opened_at: number, now: number): number {
  const after = now - opened_at;
  const first = sampleAtMs.find((at) => at > after);
  return first === undefined ? opened_at + hourMs * (Math.floor(after / hourMs) + 1) : opened_at + first;
}

/** What a hold comes to at a look. */
export type HoldVerdict =
  | 'goes-on'
  /** Few claim it any more: it ends, and each claim is judged by itself. */
  | 'passed'
  /** Samples show that the service takes it back: all that claim are asked. */
  | 'taken-back'
  /** The service has insisted: each is asked once more, and believed. */
  | 'agreed';

/**
 * Judges a hold by what claims now, and by its samples. `contradicting`: records that were answered since it began and do not
 * claim it: in the first hours most were not asked yet, and a whole catalogue looks like a part of it.
 */
export function judgeHold(
  { subject, opened_at, state, shares }: Hold,
  { able, claiming, contradicting }: Whole & { readonly contradicting: number },
  now: number,
): HoldVerdict {
  if (claiming < limitOf(able) / 2) return 'passed';
  if (state !== 'held') return 'goes-on';
  const last = (samples: number) => (shares.length < samples ? null : shares.slice(-samples));
  if (last(takenBack.samples)?.every((share) => share <= takenBack.share)) return 'taken-back';
  const agreed = last(agreeing.samples)?.every((share) => share >= agreeing.share);
  const isWhole = able >= whole.records && claiming > whole.share * (claiming + contradicting);
  return agreed && !isWhole && now - opened_at >= agreesAfterMs[subjects[subject]] ? 'agreed' : 'goes-on';
}

/** Returns a hold as it would be if no wrong clock had written it, which is mostly the same: what began in the future begins now. */
export function healed<Held extends Pick<Hold, 'opened_at' | 'next_at' | 'sampled_at'>>(hold: Held, now: number): Held {
  const { opened_at, next_at, sampled_at } = hold;
  const latest = now + futureToleranceMs;
  const ahead = {
    ...(opened_at > latest ? { opened_at: now } : {}),
    ...(next_at > now + hourMs ? { next_at: now } : {}),
    ...(sampled_at !== null && sampled_at > latest ? { sampled_at: null } : {}),
  };
  return Object.keys(ahead).length === 0 ? hold : { ...hold, ...ahead };
}

/** Returns the state after a sample of which `share` still claims it: a service that took it back may have said it again. */
export function stateAfterSample(state: Hold['state'], share: number): Hold['state'] {
  return state === 'taken-back' && share > takenBack.share ? 'held' : state;
}

/** Returns what a person has decided, while that is good. */
export function decisionAt({ decision, decided_until }: Decided, now: number): Hold['decision'] {
  return decided_until !== null && now < decided_until ? decision : null;
}

type Decided = Pick<Hold, 'decision' | 'decided_until'>;

/** Tells whether a hold keeps something, so that a person may decide. */
export function isOpen({ state }: Pick<Hold, 'state'>): boolean {
  return state !== 'ended' && state !== 'reported';
}

/** Tells whether a person must decide: it has been held for a day, and nobody has. */
export function isOverdue(hold: Pick<Hold, 'state' | 'opened_at'> & Decided, now: number): boolean {
  return isOpen(hold) && now - hold.opened_at >= overdueMs && decisionAt(hold, now) === null;
}

/** Returns what holds of a subject now. */
export function standingOf(hold: Hold | null, now: number): HoldStanding {
  if (hold === null || hold.state === 'ended') return 'free';
  const decided = decisionAt(hold, now);
  if (decided !== null) return decided === 'approved' ? 'believed' : 'held';
  return hold.state === 'asking' ? 'agreed' : 'held';
}
