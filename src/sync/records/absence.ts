import { type Instant, instant } from '../../clock.ts';
import {
  contradicts,
  type DirectAnswer,
  isAgreed,
  isApart,
  isMissing,
  judgeList,
  mostMissing,
  mustBeAsked,
  suspicionDueAt,
  walkAgainAfter,
  withdrawal,
} from '../../domain/sale/absence.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { Absent } from '../../mirror/catalogue/removals.ts';
import type { Ports } from './context.ts';
import { absenceReads, decidesAbsence, ownReads, walkAgain, walkedAt } from './deciding-reads.ts';

type AbsencePorts = Pick<Ports, 'mirror' | 'clock' | 'policy' | 'log'>;

/** A complete walk over the primary list. */
interface CompleteWalk {
  readonly edition: string;
  readonly started_at: Instant;
  readonly rows: number;
}

/** Judges the products missing from a complete walk over the primary list. */
export function judgeAbsence(ports: AbsencePorts, walk: CompleteWalk): void {
  const { mirror, policy, clock } = ports;
  const { removals } = mirror;
  removals.note({ ...walk, now: clock.now(), included: policy.included });
  judgeHold(ports, walk);
  const absent = removals.absent();
  const hold = removals.openHold();
  const again = walkAgainAfter(absent, hold === null ? 'free' : 'held');
  if (again !== null) walkAgain(ports, instant(walk.started_at + again), 'suspicion');
  askMissing(ports);
  askIncluded(ports);
  for (const { product_id } of absent) withdrawIfGone(ports, product_id);
}

/** Makes the reads due that decide about missing products. */
export function askMissing(ports: AbsencePorts): void {
  const { removals } = ports.mirror;
  ask(ports, idsOf(mustBeAsked(removals.absent(), removals.openHold())));
}

/**
 * Makes the own reads due of the products that the list's filter may leave out, as often as a list would speak of them; of those
 * that are not mirrored, since no list would show that the service has them.
 */
function askIncluded(ports: AbsencePorts): void {
  const { mirror, clock, policy } = ports;
  const hidden = policy.included.filter((product_id) => !mirror.products.isVisible(product_id));
  if (hidden.length > 0) mirror.records.create(ownReads(policy), hidden);
  const isOld = (product_id: number) =>
    mirror.records.ofProduct(product_id).some((record) => {
      // Half of it: lists come a little early and a little late.
      const since = clock.now() - policy.cadence.products / 2;
      return decidesAbsence(policy, record) && (record.fetched_at ?? 0) < since;
    });
  ask(ports, policy.included.filter(isOld));
}

/** Opens, continues or ends the hold over products missing from a complete list. */
function judgeHold(ports: AbsencePorts, { started_at, rows }: CompleteWalk): void {
  const { mirror, policy, log } = ports;
  const { removals } = mirror;
  const absent = removals.absent();
  const missing = absent.filter(isMissing);
  const visible = mirror.products.count();
  const open = removals.openHold();
  if (open !== null && isApart(open.last_list_at, started_at)) removals.agree(started_at);
  const held = removals.openHold();
  const there = held === null ? 0 : absent.filter((facts) => contradicts(facts, held)).length;
  const facts = { rows, visible, missing: missing.length, lists: held?.lists ?? 0, there };
  const verdict = judgeList(facts, policy.removals);
  if (verdict === 'plausible') removals.endHold('passed', started_at);
  if (verdict === 'agreed') {
    const agreed = missing.filter(isAgreed);
    removals.release('agreed', idsOf(agreed));
    removals.endHold('agreed', started_at);
    log.warn({ released: agreed.length }, 'three lists agree: the hold ends');
    // Products missing from only some of the lists are not confirmed yet: if they are too many at once, they are held
    // again.
    const rest = { ...facts, missing: missing.length - agreed.length, lists: 0 };
    if (judgeList(rest, policy.removals) === 'hold') beginHold(ports, { ...rest, started_at });
  }
  if (verdict === 'hold' && held === null) beginHold(ports, { ...facts, started_at });
}

function beginHold(
  { mirror, policy, log }: AbsencePorts,
  { missing, visible, started_at }: { missing: number; visible: number; started_at: Instant },
): void {
  mirror.removals.beginHold(started_at);
  const most = mostMissing(visible, policy.removals);
  log.error({ missing, visible, most }, 'mass removal held: catalogued removals list');
}

/** Notes the answer of the read that decides about a product's absence. */
export function noteAnswer(ports: AbsencePorts, product_id: number, answer: DirectAnswer): void {
  const { mirror, clock, policy, log } = ports;
  if (answer !== 'there' && !mirror.products.isVisible(product_id)) {
    // The next list asks again.
    mirror.records.dropProduct(product_id);
    if (policy.included.includes(product_id))
      log.warn({ product_id }, 'service.select.include_product_ids names a product that the service does not have');
    return;
  }
  const absent = mirror.removals.one(product_id);
  if (answer === 'there' && absent === null) return;
  const now = clock.now();
  mirror.removals.answered(product_id, answer, now);
  if (answer === 'there') return;
  // A product that a person keeps says nothing about the list.
  const listed = absent === null || (absent.missing_walks === 0 && absent.rejected === 0);
  if (listed) walkAgain(ports, instant(suspicionDueAt(walkedAt(ports), now)), 'suspicion');
  withdrawIfGone(ports, product_id);
}

/**
 * Withdraws held products because a person approves: all of them (an empty list), or those named. Returns how many.
 * Throws (64), and does nothing, if nothing is held or a named product is not held.
 */
export function approveRemovals(ports: AbsencePorts, product_ids: readonly number[]): number {
  const { mirror, clock } = ports;
  return mirror.transaction(() => {
    const held = heldProducts(ports);
    const unknown = product_ids.filter((id) => !held.includes(id));
    if (unknown.length > 0) throw notHeld(`not held: product ${unknown.join(', ')}`);
    const approved = product_ids.length === 0 ? held : [...new Set(product_ids)];
    mirror.removals.release('approved', approved);
    for (const product_id of approved) withdrawIfGone(ports, product_id);
    if (approved.length === held.length) mirror.removals.endHold('approved', clock.now());
    return approved.length;
  });
}

/**
 * Keeps held products because a person decides so: they count as missing again only when three more lists lack them.
 * Returns how many. Throws (64) if nothing is held.
 */
export function rejectRemovals(ports: AbsencePorts): number {
  const { mirror, clock } = ports;
  return mirror.transaction(() => {
    const held = heldProducts(ports);
    mirror.removals.reject(held);
    mirror.removals.endHold('rejected', clock.now());
    return held.length;
  });
}

/** Returns the products that the open hold keeps. */
function heldProducts({ mirror }: AbsencePorts): number[] {
  if (mirror.removals.openHold() === null) throw notHeld('no removal is held');
  return idsOf(mirror.removals.absent().filter(isMissing));
}

function notHeld(message: string): CataloguedError {
  return new CataloguedError('not-held', message, {
    exitCode: exitCodes.usage,
    hint: 'see what is held: catalogued removals list',
  });
}

function withdrawIfGone({ mirror, clock, log }: AbsencePorts, product_id: number): void {
  const absent = mirror.removals.one(product_id);
  const reason = absent === null ? null : withdrawal(absent, mirror.removals.openHold() === null ? 'free' : 'held');
  if (reason === null) return;
  const now = clock.now();
  mirror.removals.withdraw(product_id, reason, now, { sent_at: now, reason: 'missing-from-list' });
  log.info({ product_id, reason }, 'product withdrawn');
}

function ask({ mirror, clock, policy }: AbsencePorts, product_ids: readonly number[]): void {
  if (product_ids.length > 0)
    mirror.records.bringForward({ kinds: absenceReads(policy), product_ids }, clock.now(), 'missing-from-list');
}

function idsOf(products: readonly Pick<Absent, 'product_id'>[]): number[] {
  return products.map(({ product_id }) => product_id);
}
