import type { Instant } from '../../clock.ts';
import {
  isBelieved,
  judgeWitnesses,
  keyOf,
  mayAskAgain,
  nameOf,
  type OptionalPath,
  refusesPath,
  resourceAt,
  witnessesAmong,
} from '../../domain/schedule/offer.ts';
import { splitListEdition, walkKinds } from '../../domain/schedule/record-kinds.ts';
import type { ServiceReads } from '../../upstream/client.ts';
import { askMissing } from './absence.ts';
import type { PathVerdict, Ports } from './context.ts';
import { askDecidingReads } from './deciding-reads.ts';
import { prepareRecords } from './prepare.ts';

type OfferPorts = Pick<Ports, 'mirror' | 'clock' | 'policy' | 'log'>;
type AskingPorts = OfferPorts & { readonly upstream: Pick<ServiceReads, 'product' | 'experiencePage'> };

/**
 * Called when a single-product read was answered with 404 or 405: asks about other listed products whether the path
 * exists at all, unless it has just answered. If it does not, what was noted by it does not count, and its records are
 * dropped.
 */
export async function judgeProductPath(
  ports: AskingPorts & Pick<Ports, 'productPath'>,
  signal: AbortSignal,
): Promise<PathVerdict> {
  const { mirror, clock } = ports;
  if (!mirror.offers.isOffered('product')) return 'not-offered';
  if (isBelieved(mirror.offers.find('product'), clock.now())) return 'offered';
  return ports.productPath(() => askWitnesses(ports, signal));
}

async function askWitnesses(ports: AskingPorts, signal: AbortSignal): Promise<PathVerdict> {
  const { mirror, clock } = ports;
  const chosen = witnesses(ports);
  let refused = 0;
  for (const product_id of chosen) {
    const answer = await askProduct(ports, product_id, signal);
    if (answer === 'there') {
      mirror.transaction(() => mirror.offers.answered('product', clock.now()));
      return 'offered';
    }
    if (answer === 'silent') return 'unknown';
    refused += 1;
  }
  const verdict = judgeWitnesses({ refused, asked: chosen.length }, mirror.offers.find('product'));
  if (verdict === 'not-offered') noteNotOffered(ports, 'product', () => leaveToList(ports));
  return verdict;
}

/** Returns products of the last complete list. */
function witnesses({ mirror }: Pick<OfferPorts, 'mirror'>): number[] {
  const absent = new Set(mirror.removals.absent().map(({ product_id }) => product_id));
  return witnessesAmong(mirror.products.ids().filter((id) => !absent.has(id)));
}

async function askProduct(
  { upstream, policy }: Pick<AskingPorts, 'upstream' | 'policy'>,
  product_id: number,
  signal: AbortSignal,
): Promise<'there' | 'refused' | 'silent'> {
  const { languages, currencies } = policy.extent;
  const [language, currency] = [languages[0], currencies[0]];
  const reading = await upstream.product({ product_id, language, currency, known_hash: null, signal });
  if (reading.kind === 'read') return 'there';
  return refusesPath(reading) ? 'refused' : 'silent';
}

/** Notes that a path has answered, once in half an hour. */
export function noteAnswered({ mirror }: Pick<OfferPorts, 'mirror'>, path: OptionalPath, at: Instant): void {
  const { answered_at } = mirror.offers.find(path);
  if (answered_at === null || Math.abs(at - answered_at) > noteEveryMs) mirror.offers.answered(path, at);
}

const noteEveryMs = 1_800_000;

/** Notes that a path does not exist, and runs `then` in the same transaction. Logged once. */
export function noteNotOffered(
  { mirror, clock, log }: Pick<OfferPorts, 'mirror' | 'clock' | 'log'>,
  path: OptionalPath,
  then: () => void = () => {},
): void {
  const isNew = mirror.transaction(() => {
    if (!mirror.offers.notOffered(path, clock.now())) return false;
    const resource = resourceAt(path);
    if (resource === null) return true;
    mirror.records.dropResource(resource);
    mirror.promises.drop(resource);
    then();
    mirror.jobs.finish(clock.now());
    return true;
  });
  if (isNew) log.warn({ path, set: keyOf[path] }, `the service does not offer ${nameOf[path]}: asked again by itself`);
}

/** Lets the list decide about sale status, closures and absence from now on. */
function leaveToList(ports: OfferPorts): void {
  const { mirror } = ports;
  mirror.removals.forgetGone();
  askMissing(ports);
  const undecided = mirror.closures.undecided();
  if (undecided.length > 0) askDecidingReads(ports, undecided, 'closure-unconfirmed');
}

/**
 * Asks once a week whether a missing path exists, or every six hours if it has answered before; if it answers, it is read
 * again from then on. Run every minute.
 */
export async function askNotOffered(ports: Ports, signal: AbortSignal): Promise<void> {
  const { mirror, clock, log } = ports;
  const reads = { ...ports, upstream: ports.upstream.in('weekly') };
  for (const { path, ...facts } of mirror.offers.missing()) {
    if (!mayAskAgain(facts, clock.now())) continue;
    const answer = await asks[path](reads, signal);
    if (answer === 'there') {
      mirror.transaction(() => mirror.offers.answered(path, clock.now()));
      prepareRecords(ports);
      log.info({ path }, `the service offers ${nameOf[path]} again`);
    } else if (answer === 'refused') {
      mirror.transaction(() => mirror.offers.notOffered(path, clock.now()));
    }
  }
}

async function askSome(ports: AskingPorts, signal: AbortSignal): Promise<'there' | 'refused' | 'silent'> {
  for (const product_id of witnesses(ports)) {
    const answer = await askProduct(ports, product_id, signal);
    if (answer !== 'refused') return answer;
  }
  return 'refused';
}

async function askExperiences(
  { upstream, policy }: AskingPorts,
  signal: AbortSignal,
): Promise<'there' | 'refused' | 'silent'> {
  const { language, currency } = splitListEdition(walkKinds(policy.extent).primary.edition);
  const reading = await upstream.experiencePage(1, language, currency, signal);
  if (reading.kind === 'read') return 'there';
  return refusesPath(reading) ? 'refused' : 'silent';
}

/** How to ask again for a missing path. Subscriptions are asked for where they are needed (subscriptions/reads.ts). */
const asks: Readonly<
  Record<OptionalPath, (ports: AskingPorts, signal: AbortSignal) => Promise<'there' | 'refused' | 'silent'>>
> = {
  experiences: askExperiences,
  product: askSome,
  subscription: async () => 'silent',
  reactivate: async () => 'silent',
};
