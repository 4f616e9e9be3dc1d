import { type DirectAnswer, judgeList, listsApartMs, mostMissing, mustBeAsked, withdrawal } from '../domain/absence.ts';
import type { RecordKey } from '../domain/record.ts';
import { productKinds, type RecordKind, walkKinds } from '../domain/record-kinds.ts';
import type { Ports } from './ports.ts';

type AbsencePorts = Pick<Ports, 'mirror' | 'clock' | 'policy' | 'log'>;

/** A 404 of a product that the list shows brings the list forward, but not again within this. */
const suspicionEveryMs = 60 * 60 * 1000;

/** What a complete walk over the primary list says about products that it lacks. Inside the caller's transaction. */
export function judgeAbsence(
  ports: AbsencePorts,
  { edition, started_at, rows }: { edition: string; started_at: number; rows: number },
): void {
  const { mirror, policy, log } = ports;
  const { removals } = mirror;
  removals.note({ edition, started_at, included: policy.included, apart_ms: listsApartMs });
  const open = removals.openHold();
  const apart = open !== null && started_at - open.last_list_at >= listsApartMs;
  const counts = removals.counts();
  const lists = open === null ? 1 : open.lists + (apart ? 1 : 0);
  const verdict = judgeList({ rows, ...counts, lists }, policy.removals);
  if (verdict === 'plausible') {
    if (open !== null) removals.endHold('passed', started_at);
  } else {
    if (open === null) {
      removals.beginHold(started_at);
      const { missing, visible } = counts;
      log.error(
        { missing, visible, most: mostMissing(visible, policy.removals) },
        'mass removal held: catalogued removals list',
      );
    } else if (apart) removals.agree(started_at);
    if (verdict === 'agreed') {
      const released = removals.release('agreed', lists, null);
      removals.endHold('agreed', started_at);
      log.warn({ released }, 'three lists agree: the hold ends');
    }
  }
  const missing = removals.absent();
  // Soon again: a product that is really gone shall not be sold for another week.
  if (missing.some(({ missing_walks, release }) => release === null && missing_walks < 3))
    walkAgain(ports, started_at + listsApartMs);
  const asked = mustBeAsked(missing, removals.openHold() === null ? 'free' : 'held');
  ask(
    ports,
    asked.map(({ product_id }) => product_id),
  );
  for (const { product_id } of missing) withdrawIfGone(ports, product_id);
}

/** The read that decides about a product's absence: its own, or where the profile has none, its checkout information. */
export function decides({ policy }: Pick<Ports, 'policy'>, { resource, edition }: RecordKey): boolean {
  return decidingKinds({ policy }).some((kind) => kind.resource === resource && kind.edition === edition);
}

/** Notes what that read answered. Inside the caller's transaction. */
export function noteAnswer(ports: AbsencePorts, product_id: number, answer: DirectAnswer): void {
  const { mirror, clock, policy } = ports;
  const absent = mirror.removals.one(product_id);
  if (answer === 'there' && absent === null) return;
  const now = clock.now();
  mirror.removals.answered(product_id, answer, now);
  if (answer === 'there') return;
  if (absent === null || absent.missing_walks === 0) {
    const walked = mirror.records.find({ ...walkKinds(policy.extent).primary, product_id: 0 })?.fetched_at ?? 0;
    if (now - walked >= suspicionEveryMs) walkAgain(ports, now);
  }
  withdrawIfGone(ports, product_id);
}

/** A person lets products go that a hold keeps: all of it, or some. Returns how many were withdrawn. */
export function approveRemovals(ports: AbsencePorts, product_ids: readonly number[]): number {
  const { mirror, clock } = ports;
  return mirror.transaction(() => {
    const count = mirror.removals.release('approved', 1, product_ids.length === 0 ? null : product_ids);
    const gone = mirror.removals.absent().filter(({ release }) => release === 'approved');
    for (const { product_id } of gone) withdrawIfGone(ports, product_id);
    if (product_ids.length === 0 || mirror.removals.counts().missing === 0)
      mirror.removals.endHold('approved', clock.now());
    return count;
  });
}

/** A person does not believe a hold: what was missing is forgotten, and must be missing anew. Returns how many. */
export function rejectRemovals({ mirror, clock }: AbsencePorts): number {
  return mirror.transaction(() => {
    const { missing } = mirror.removals.counts();
    mirror.removals.forget();
    mirror.removals.endHold('rejected', clock.now());
    return missing;
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
    mirror.records.bringForward({ kinds: decidingKinds({ policy }), product_ids }, clock.now(), 'missing-from-list');
}

function walkAgain({ mirror, policy }: AbsencePorts, at: number): void {
  mirror.records.bringForward({ kinds: [walkKinds(policy.extent).primary], product_ids: [0] }, at, 'suspicion');
}

function decidingKinds({ policy }: Pick<Ports, 'policy'>): RecordKind[] {
  const { extent } = policy;
  const resource = extent.resources.has('product_detail') ? 'product_detail' : 'checkout_information';
  return productKinds(extent).filter((kind) => kind.resource === resource && kind.edition === extent.languages[0]);
}
