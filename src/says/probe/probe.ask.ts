import { z } from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import { addDays, knownZone, venueToday } from '../../kernel/time/venue.ts';
import { count, date, maybe, type Shaped, text } from '../../kernel/values/answer-values.ts';
import type { Members } from '../../kernel/values/exact-json.ts';
import type {
  AdapterProfile,
  AvailabilityQuestion,
  ListQuestion,
  ProductQuestion,
  TextQuestion,
} from '../../service/adapter.rules.ts';
import {
  behaviourAssumptions,
  type Exchange,
  ending,
  type Finding,
  listAssumptions,
  listIn,
  memberAssumptions,
  numberOf,
  type ProbeEvidence,
  type ProfilePart,
  rowsIn,
  rowsOf,
} from './assumption.rules.ts';
import { type ProbeCalls, type ProbedService, probeCalls } from './probe-calls.ask.ts';
import { readAssumptions } from './read-assumptions.rules.ts';

/** The assumptions, in the order of the report. */
const assumptions = [...listAssumptions, ...readAssumptions, ...memberAssumptions, ...behaviourAssumptions];

export interface ProbeSettings {
  /** The most calls a second, below the limiter's rate. */
  readonly calls_a_second: number;
  readonly paths: AdapterProfile['paths'];
  readonly first_page: number;
  readonly page_size: number;
  readonly days_per_request: number;
  readonly throttle_statuses: readonly number[];
  readonly languages: readonly string[];
  readonly currencies: readonly string[];
}

const profilePart = z.record(text, z.unknown());

/** The result of a probe. */
export const probe = z.object({
  /**
   * The reason why the service cannot be used; null: it can. Comes with findings if the service answers in an unusable
   * way.
   */
  unusable: z.object({ code: text, message: text }).nullable(),
  /** The reason why the probe ended early; null: it did not. */
  cut_short: maybe,
  calls: count,
  findings: z.array(
    z.object({
      name: text,
      believed: text,
      seen: text,
      verdict: z.enum(['as believed', 'otherwise', 'cannot tell']),
      means: text,
      profile: profilePart.nullable(),
    }),
  ),
  /** The keys below `service.profile` that should differ from the configured ones; empty: none. */
  profile: profilePart,
  recorded: z
    .array(
      z.object({
        resource: text,
        product_id: z.int().nullable(),
        recorded_on: date,
        question: z.record(text, z.unknown()),
        status: z.int(),
        body: z.unknown(),
      }),
    )
    .meta({ description: 'the recorded answers, anonymised' }),
});
export type ProbeReport = Shaped<typeof probe>;

/**
 * Tests the assumptions about the service with at most forty calls, one after another: lists, reads of a few products,
 * requests for things that do not exist. Stores nothing. Rejects with the signal's reason when it aborts.
 */
export async function probeService(
  service: ProbedService,
  settings: ProbeSettings,
  signal: AbortSignal,
  progressed: (calls: number, asking: string) => void = () => undefined,
): Promise<ProbeReport> {
  const calls = probeCalls(service, settings, signal, progressed);
  const { ask } = calls;
  const questions = questionsOf(settings, service.clock);
  const { list, ofProduct, dates } = questions;
  const evidence = evidenceOf(calls, settings);
  const report = (refused: ProbeReport['unusable']): ProbeReport => {
    const judged = assumptions.map(({ name, believed, judge }) => {
      const { unusable, ...judgement } = judge(evidence);
      return { finding: { name, believed, profile: null, ...judgement }, unusable: unusable === true };
    });
    const findings = judged.map(({ finding }) => finding);
    const stopping = judged.find(({ unusable }) => unusable)?.finding;
    const notFollowed =
      stopping === undefined ? null : { code: 'not-followed', message: `${stopping.name}: ${stopping.seen}` };
    return {
      unusable: refused ?? notFollowed,
      cut_short: calls.cutShort(),
      calls: calls.attempts.length,
      findings: refused === null ? findings : [],
      profile: profileOf(findings, settings),
      recorded: calls.recorded(),
    };
  };

  const first = await ask('list', list(1));
  const unusable = refusal(first);
  if (unusable !== null) return report(unusable);
  const { next, total: counted } = listIn(evidence, 'list') ?? {};
  await ask('page 2', { ...list(2), after: next ?? null });
  const rows = ['list', 'page 2'].flatMap((name) => rowsIn(evidence, name));
  const total = numberOf(counted) ?? rows.length;
  // If each page leads to the next, no other page can be asked for.
  if (next === undefined) {
    if (settings.first_page > 0) await ask('page 0', list(0));
    const last = Math.ceil(total / settings.page_size);
    if (last > 2) await ask('last page', list(last));
    await ask('beyond the end', list(Math.ceil(total / 10) + 1000));
  }
  await ask('nowhere', list(1));

  const open = rows.filter(({ sale_status }) => sale_status === 'available');
  const ids = idsOf(open.length > 0 ? open : rows);
  await askProducts(calls, questions, ids);
  const [id] = ids;
  // A known product, because a 404 for an unknown one would look as if the path were missing.
  if (id !== undefined) {
    await ask('checkout information', ofProduct('checkout_information', id));
    await ask('variants', ofProduct('variants', id));
  }
  await ask('experiences', { ...list(1), kind: 'experiences' });
  await ask('tags', { ...list(1), kind: 'tags' });
  await ask('subscription', { kind: 'subscription', subscription_id: 'catalogued-probe' });
  const unknown = Math.max(...idsOf(rows), 1) + 1_000_007;
  await ask('unknown product', ofProduct('checkout_information', unknown));
  await askDates(calls, questions, open.length > 0 ? open : rows);
  const [closed] = idsOf(rows.filter(({ sale_status }) => sale_status === 'unavailable'));
  if (closed !== undefined) await ask('closed product', dates(closed, null, 1, 8));
  await askEditions(calls, questions, settings);
  await ask('list again', list(1));
  return report(null);
}

type Questions = ReturnType<typeof questionsOf>;

function questionsOf({ page_size, languages, currencies }: ProbeSettings, clock: Clock) {
  const [language = 'en', currency = 'EUR'] = [languages[0], currencies[0]];
  const edition = { language, currency };
  const todayOf = (row: Members | null) => venueToday(knownZone(row?.timezone), clock.now()).latest;
  const dates = (product_id: number, row: Members | null, from: number, to: number): AvailabilityQuestion => {
    const [first, last] = [addDays(todayOf(row), from), addDays(todayOf(row), to)];
    return { kind: 'availability', product_id, ...edition, from: first, to: last };
  };
  return {
    edition,
    list: (page: number): ListQuestion => ({
      kind: 'products',
      page,
      after: null,
      page_size,
      ...edition,
      ordered: false,
    }),
    product: (product_id: number): ProductQuestion => ({ kind: 'product', product_id, ...edition }),
    ofProduct: (kind: TextQuestion['kind'], product_id: number): TextQuestion => ({ kind, product_id, language }),
    dates,
    /**
     * Dates from a Wednesday to the Thursday of the next week: a service that rounds to weeks shows it at both ends.
     */
    midweek: (product_id: number, row: Members) => {
      const weekday = new Date(`${todayOf(row)}T00:00:00Z`).getUTCDay();
      const wednesday = 10 + ((3 - ((weekday + 10) % 7) + 7) % 7);
      return dates(product_id, row, wednesday, wednesday + 8);
    },
  };
}

function evidenceOf(
  { exchanges, attempts }: ProbeCalls,
  { calls_a_second, first_page, page_size, days_per_request, throttle_statuses, languages, currencies }: ProbeSettings,
): ProbeEvidence {
  const [language = 'en', currency = 'EUR'] = [languages[0], currencies[0]];
  const asked = { first_page, page_size, days_per_request, throttle_statuses, language, currency, languages };
  return { exchanges, attempts, calls_a_second, ...asked };
}

/** Asks five products for reads that may not exist. */
async function askProducts({ ask, exchanges }: ProbeCalls, { product }: Questions, ids: readonly number[]) {
  for (const [index, each] of ids.slice(0, 5).entries()) {
    const made = await ask(index === 0 ? 'product' : `product ${index + 1}`, product(each));
    if (made === null || (made.status !== 404 && made.status !== 405)) break;
  }
  const [id] = ids;
  if (id !== undefined && exchanges.find(({ name }) => name === 'product')?.failure === null)
    await ask('product again', product(id));
}

/** Requests dates of products, and more dates of the first one that has any. */
async function askDates(
  { ask, exchanges }: ProbeCalls,
  { dates, midweek }: Questions,
  rows: readonly Members[],
): Promise<void> {
  for (const row of rows.slice(0, 3)) {
    const [id] = idsOf([row]);
    if (id === undefined) continue;
    const near = await ask('near dates', dates(id, row, 0, 30));
    if (near?.failure != null) return;
    const read = near?.read ?? null;
    if (rowsOf(read !== null && 'row' in read ? read.row.dates : null).length === 0) {
      exchanges.splice(
        exchanges.findIndex(({ name }) => name === 'near dates'),
        near === null ? 0 : 1,
      );
      continue;
    }
    await ask('near dates again', dates(id, row, 0, 30));
    await ask('dates', midweek(id, row));
    await ask('many dates', dates(id, row, 14, 89));
    return;
  }
}

async function askEditions({ ask }: ProbeCalls, { edition, list }: Questions, settings: ProbeSettings): Promise<void> {
  const { language, currency } = edition;
  const other = settings.currencies[1] ?? (currency === 'USD' ? 'EUR' : 'USD');
  const second = settings.languages[1] ?? (language === 'nl' ? 'en' : 'nl');
  const one = { ...list(1), page_size: 1 };
  await ask('currency', { ...one, currency: other });
  await ask('language', { ...one, language: second });
  await ask('made-up currency', { ...one, currency: 'QQQ' });
  await ask('made-up language', { ...one, language: 'qq' });
}

function refusal(first: Exchange | null): ProbeReport['unusable'] {
  if (first === null) return { code: 'throttled', message: 'it asks for a longer pause' };
  const { status, failure } = first;
  if (failure === null) return null;
  if (status === 401 || status === 403)
    return { code: 'key-refused', message: `it refuses the key (${status}): ${failure.message}` };
  if (status === null) return { code: 'unreachable', message: failure.message };
  return { code: 'no-list', message: `the product list is not answered: ${ending(first)}, ${failure.message}` };
}

function idsOf(rows: readonly Members[]): number[] {
  return rows
    .map(({ id }) => Number(JSON.isRawJSON(id) ? id.rawJSON : id))
    .filter((id) => Number.isSafeInteger(id) && id > 0);
}

/** Merges the profile keys of the findings, without those already configured. */
function profileOf(findings: readonly Finding[], { paths, page_size, days_per_request }: ProbeSettings): ProfilePart {
  const used: Record<string, unknown> = { page_size, days_per_request };
  const merged: Record<string, unknown> = {};
  for (const { profile } of findings) {
    for (const [name, value] of Object.entries(profile ?? {})) {
      if (name === 'paths') {
        const off = Object.keys(value as object).filter((each) => paths[each as keyof typeof paths] !== null);
        if (off.length > 0)
          merged.paths = { ...(merged.paths as object), ...Object.fromEntries(off.map((each) => [each, null])) };
      } else if (used[name] !== value) merged[name] = value;
    }
  }
  return merged;
}
