import type { AvailabilityAnswer } from '../domain/availability.ts';
import { dueForIncomingDate, type NextWindow, reopeningLook } from '../domain/cadence.ts';
import { addDays } from '../domain/dates.ts';
import { contradictedLook, isOwnReadDoubted, judgeOffSale } from '../domain/off-sale.ts';
import type { Due, RecordFacts } from '../domain/record.ts';
import { productKinds } from '../domain/record-kinds.ts';
import { startOfDate, venueToday } from '../domain/venue.ts';
import type { WindowRead } from '../mirror/availability.ts';
import type { KnownProduct } from '../mirror/products.ts';
import type { Reading } from '../upstream/client.ts';
import { lookAround } from './apply.ts';
import type { Commit } from './commit-together.ts';
import type { ProductPolicy, SyncPorts } from './ports.ts';
import { noteRefused } from './refused-facts.ts';
import { type NoAnswer, type Refreshed, settleFailure, settleStored } from './settle.ts';

type Answered = Extract<Reading<AvailabilityAnswer>, { kind: 'read' | 'unchanged' }>;

/** What the service said of a window, stored already; or that it said nothing, which is nobody's failure yet. */
export type AvailabilityRead =
  | {
      readonly kind: 'stored';
      readonly changed: boolean;
      /** `off`: the product is not on sale, and nothing was said about days. `contradicted`: its own read says that it is. */
      readonly sale: 'on' | 'off' | 'contradicted';
      /** When the (first) request was sent. */
      readonly sent_at: number;
    }
  | NoAnswer;

/** How a window is read: in whose time, and who is told of what. */
interface LiveRead {
  readonly signal: AbortSignal;
  readonly commit: Commit;
  /** Told when a call has its turn. */
  readonly sent?: () => void;
  /** Told before the disk is waited for that everything is as it stands in the mirror. */
  readonly confirmed?: (sent_at: number) => void;
  /** Told what the service has said where the mirror cannot be written: it is stored later. */
  readonly late?: (said: SaidNow) => void;
}

/** What the service has said and the mirror does not have yet. */
export interface SaidNow {
  readonly sent_at: number;
  readonly sale: 'on' | 'off' | 'contradicted';
  /** The dates as answered, from `from` on; null: those that stand in the mirror. */
  readonly dates: { readonly from: string; readonly answer: AvailabilityAnswer } | null;
}

/** Reads one window of a product's dates because it is due: where nothing comes of it, the record has failed. */
export async function refreshAvailability(
  ports: SyncPorts,
  record: RecordFacts,
  signal: AbortSignal,
): Promise<Refreshed> {
  const read = await readAvailability(ports, record, {
    signal,
    commit: async (work) => ports.mirror.transaction(work),
  });
  if (read.kind !== 'stored') return settleFailure(ports, record, read);
  if (read.sale !== 'contradicted') return read;
  const message = 'answered as not on sale, and the product itself is on sale by its own read';
  return { kind: 'failed', code: 'sale-contradicted', message };
}

/**
 * The availability of one window of a product's dates. Where the service caps an answer, the rest of the window is
 * asked for too. A product that is not on sale answers nothing about days: then its sale status is doubted.
 */
export async function readAvailability(
  ports: SyncPorts,
  record: RecordFacts,
  { signal, commit, sent, confirmed, late = () => undefined }: LiveRead,
): Promise<AvailabilityRead> {
  const { upstream, mirror, clock, policy } = ports;
  const { product_id, edition: currency } = record;
  const product = mirror.products.find(product_id);
  const window = product === null ? null : datesOf(policy.of(product.category), product, record.part, clock.now());
  if (product === null || window === null) throw new Error(`no window ${record.part} of product ${product_id}`);

  // A look at a product that was not on sale counts as fetched, but has read no date.
  const again =
    record.fetched_at !== null && mirror.availability.wasRead({ product_id, currency }, window.from, window.to);
  const first = again ? 'again' : 'first';
  let from = window.from;
  let sent_at = Number.POSITIVE_INFINITY;
  let changed = false;
  let body_hash: string | null = null;
  let known = record.body_hash;
  while (from <= window.to) {
    const to = earlier(addDays(from, policy.daysPerRequest - 1), window.to);
    const whole = from === window.from && to === window.to;
    const known_hash = whole ? known : null;
    const [language] = policy.extent.languages;
    const reading = await upstream.availability({ product_id, language, currency, from, to, known_hash, signal, sent });
    if (reading.kind === 'refused' && reading.code === 'checkout_disabled')
      return notOnSale(ports, record, { sent_at: clock.now(), every: window.every, commit, late });
    if (reading.kind !== 'read' && reading.kind !== 'unchanged') return reading;
    if (reading.kind === 'read' && reading.value.sales_enabled !== true)
      return notOnSale(ports, record, { sent_at: reading.sent_at, every: window.every, commit, late });
    if (reading.kind === 'read' && reading.value.covered_to < from) return cappedAway(reading.value.covered_to);

    const start = from;
    const covered_to = reading.kind === 'read' ? reading.value.covered_to : to;
    const last = covered_to >= window.to;
    const same = reading.kind === 'unchanged' && mirror.records.find(record)?.body_hash === reading.hash;
    if (same) confirmed?.(reading.sent_at);
    const stored = await commit(
      () => {
        // A check beside this read has stored another answer: what stands now has to be compared day by day.
        if (reading.kind === 'unchanged' && mirror.records.find(record)?.body_hash !== reading.hash)
          return 'superseded';
        body_hash = whole && covered_to === to ? reading.hash : null;
        sent_at = Math.min(sent_at, reading.sent_at);
        changed = storeAnswer(ports, record, { from, today: window.today, product, first }, reading) || changed;
        if (product.sale_status === 'disabled') doubtSaleStatus(ports, product_id);
        if (!last) return 'stored';
        const sooner = dueForIncomingDate(nextWindow(ports, record, product), window.midnight);
        settleStored(ports, record, { sent_at, changed, body_hash, cadence: window.every, worth: product, sooner });
        release(ports, record, { sent_at, before: product });
        return 'stored';
      },
      same ? 'soon' : 'now',
      () =>
        late({
          sent_at: reading.sent_at,
          sale: 'on',
          dates: reading.kind === 'read' ? { from: start, answer: reading.value } : null,
        }),
    );
    if (stored === 'superseded') known = null;
    else from = addDays(covered_to, 1);
  }
  return { kind: 'stored', changed, sale: 'on', sent_at };
}

/** The service speaks of days again: its other dates are due, and after the last of them all are bookable. */
function release(
  { mirror, clock }: SyncPorts,
  { product_id, due_reason: reason }: RecordFacts,
  { sent_at, before }: { sent_at: number; before: KnownProduct },
): void {
  if (before.dates_off_at === null) return;
  const now = mirror.products.find(product_id);
  if (now === null || !now.sellable) return;
  if (now.dates_off_at !== null) mirror.records.askOffSale(product_id, clock.now(), null);
  else mirror.changes.add({ product_id, kind: 'dates_released', detail: {} }, { sent_at, reason });
}

function storeAnswer(
  { mirror, clock, policy, log }: SyncPorts,
  record: RecordFacts,
  { from, today, product, first }: Pick<WindowRead, 'from' | 'today' | 'first'> & { product: KnownProduct },
  reading: Answered,
): boolean {
  const { product_id, edition: currency, part, due_reason: reason } = record;
  const { sent_at, hash } = reading;
  if (reading.kind === 'unchanged') {
    mirror.availability.confirm({ product_id, currency, hash, sent_at });
    return false;
  }
  const now = clock.now();
  const { refused_prices: prices = 0 } = reading.value;
  if (prices > 0) noteRefused({ mirror, clock, log }, [{ product_id, refused: { images: 0, prices } }], now);
  const { availability: tiers, variants } = policy.of(product.category).cadence;
  const days = mirror.availability.store(
    { product_id, currency, from, sent_at, now, hash, today, tiers, reason, first },
    reading.value,
  );
  // Past dates go first: a variant that only they spoke of is no longer listed.
  if (part === 0) mirror.availability.prune({ product_id, currency }, today);
  const [language] = policy.extent.languages;
  const read = { source: 'availability' as const, product_id, language, sent_at, stale_at: sent_at + variants, now };
  const listed = mirror.availability.variantIds(product_id);
  const otherVariants = mirror.variants.store(read, reading.value.variants, listed);
  if (part === 0) mirror.contexts.store({ product_id, currency, document: reading.value.context, read_at: sent_at });
  return days.changed > 0 || otherVariants;
}

/** The window that hands its first date over at midnight; null where it was never read, or there is none. */
function nextWindow({ mirror, policy }: SyncPorts, record: RecordFacts, { category }: KnownProduct): NextWindow | null {
  const part = record.part + 1;
  const window = policy.of(category).extent.windows.find((each) => each.part === part);
  const next = window === undefined ? null : mirror.records.find({ ...record, part });
  if (window === undefined || next?.fetched_at == null) return null;
  return { fetched_at: next.fetched_at, due_at: next.due_at, cadence: window.every };
}

/**
 * The answer says "not on sale", or does not say that it is: no day row is touched. Where the product's own read says so
 * too, a look a week is enough until it is back. Where that one says it is on sale, both are asked again soon, and until
 * they agree no date of it counts as fresh or bookable.
 */
async function notOnSale(
  ports: SyncPorts,
  record: RecordFacts,
  { sent_at, every, commit, late }: { sent_at: number; every: number } & Required<Pick<LiveRead, 'commit' | 'late'>>,
): Promise<AvailabilityRead> {
  const { mirror, policy, clock, log } = ports;
  const { product_id } = record;
  const store = (): AvailabilityRead => {
    // Its own read may have come while this one was under way.
    const product = mirror.products.find(product_id);
    if (product === null) throw new Error(`no product ${product_id}`);
    const { earliest } = venueToday(product.timezone, clock.now());
    mirror.availability.prune({ product_id, currency: record.edition }, earliest);
    const { cadence, extent } = policy.of(product.category);
    const current = mirror.records.find(record) ?? record;
    const since_at = current.off_sale_at ?? sent_at;
    const settle = (settled: { cadence: number; sooner: Due | null }) =>
      settleStored(ports, record, {
        sent_at,
        changed: false,
        body_hash: null,
        teaches: 'nothing',
        off_sale_at: since_at,
        ...settled,
      });
    const verdict = judgeOffSale(product);
    if (verdict === 'contradicted') {
      if (isOwnReadDoubted(product.read_at, since_at, sent_at, every)) doubtSaleStatus(ports, product_id);
      if (current.job_id !== null) mirror.jobs.giveUp(record, current.job_id);
      settle({ cadence: every, sooner: contradictedLook(since_at, sent_at, every) });
      if (product.dates_off_at === null) {
        const by = { sent_at, reason: record.due_reason };
        mirror.changes.add({ product_id, kind: 'dates_withheld', detail: {} }, by);
        log.warn({ product_id }, 'a product is on sale by its own read, and its dates are answered as not on sale');
      }
    } else {
      // Where there is no single-product read, the near dates are looked at for the reopening.
      const looks = verdict === 'confirmed' && record.part === 0 && !extent.resources.has('product_detail');
      settle({
        cadence: verdict === 'confirmed' ? cadence.products : every,
        sooner: looks ? reopeningLook(product.expected_reopening, sent_at, cadence.products) : null,
      });
    }
    return { kind: 'stored', changed: false, sale: verdict === 'contradicted' ? 'contradicted' : 'off', sent_at };
  };
  return commit(store, 'now', () => {
    const product = mirror.products.find(product_id);
    const sale = product !== null && judgeOffSale(product) === 'contradicted' ? 'contradicted' : 'off';
    late({ sent_at, sale, dates: null });
  });
}

/** Two reads contradict each other about whether the product is on sale: the one that decides is due. */
export function doubtSaleStatus(ports: Pick<SyncPorts, 'mirror' | 'clock' | 'policy'>, product_id: number): void {
  const { mirror, clock, policy } = ports;
  const [language] = policy.extent.languages;
  const detail = productKinds(policy.extent).filter(
    (kind) => kind.resource === 'product_detail' && kind.edition === language,
  );
  if (detail.length > 0)
    mirror.records.bringForward({ kinds: detail, product_ids: [product_id] }, clock.now(), 'sale-status-doubted');
  else lookAround(ports);
}

function cappedAway(covered_to: string): NoAnswer {
  return {
    kind: 'failed',
    code: 'capped',
    message: `the answer ends at ${covered_to}, before the first date asked for`,
  };
}

/** The dates of a window, from the venue's today; the last one reaches a day further where the zone is unknown. */
function datesOf({ extent }: ProductPolicy, product: KnownProduct, part: number, now: number) {
  const window = extent.windows.find((each) => each.part === part);
  if (window === undefined) return null;
  const { earliest, latest } = venueToday(product.timezone, now);
  const end = part === extent.windows.length - 1 ? latest : earliest;
  return {
    from: addDays(earliest, window.first_day),
    to: addDays(end, window.last_day),
    today: earliest,
    midnight: startOfDate(addDays(earliest, 1), product.timezone),
    every: window.every,
  };
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}
