import type { Clock } from '../../clock.ts';
import type { Recorded } from '../../domain/probe/anonymise.ts';
import {
  answerTo,
  type Exchange,
  ending,
  type Finding,
  membersOf,
  numberOf,
  type ProbeEvidence,
  type ProfilePart,
  rowsOf,
} from '../../domain/probe/assumption.ts';
import { behaviourAssumptions } from '../../domain/probe/behaviour-assumptions.ts';
import { listAssumptions } from '../../domain/probe/list-assumptions.ts';
import { readAssumptions } from '../../domain/probe/read-assumptions.ts';
import { addDays } from '../../domain/time/dates.ts';
import { knownZone, venueToday } from '../../domain/time/venue.ts';
import type { Members } from '../../domain/values/members.ts';
import { type ProbeCalls, type ProbePaths, type ProbePorts, probeCalls } from './probe-calls.ts';

/** The assumptions, in the order of the report. */
const assumptions = [...listAssumptions, ...readAssumptions, ...behaviourAssumptions];

export interface ProbeSettings {
  readonly paths: ProbePaths;
  readonly parameters: ProbeEvidence['parameters'];
  readonly first_page: number;
  readonly page_size: number;
  readonly days_per_request: number;
  readonly throttle_statuses: readonly number[];
  readonly languages: readonly string[];
  readonly currencies: readonly string[];
}

/** The result of a probe. */
export interface ProbeReport {
  /**
   * The reason why the service cannot be used; null: it can. Comes with findings if the service answers in an unusable
   * way.
   */
  readonly unusable: { readonly code: string; readonly message: string } | null;
  /** The reason why the probe ended early; null: it did not. */
  readonly cut_short: string | null;
  readonly calls: number;
  readonly findings: readonly Finding[];
  /** The keys below `service.profile` that should differ from the configured ones; empty: none. */
  readonly profile: ProfilePart;
  /** The recorded answers, anonymised. */
  readonly recorded: readonly Recorded[];
}

/**
 * Tests the assumptions about the service with at most forty calls, one after another: lists, reads of a few products,
 * requests for things that do not exist. Stores nothing. Rejects with the signal's reason when it aborts.
 */
export async function probeService(
  ports: ProbePorts,
  settings: ProbeSettings,
  signal: AbortSignal,
  progressed: (calls: number, asking: string) => void = () => undefined,
): Promise<ProbeReport> {
  const calls = probeCalls(ports, settings, signal, progressed);
  const { ask } = calls;
  const queries = queriesOf(settings, ports.clock);
  const { inBoth, inLanguage, page, windowAt } = queries;
  const evidence = evidenceOf(calls, ports, settings);
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

  const first = await ask('list', 'products', { ...inBoth, ...page(1) });
  const unusable = refusal(first);
  if (unusable !== null) return report(unusable);
  await ask('page 2', 'products', { ...inBoth, ...page(2) });
  if (settings.first_page > 0) await ask('page 0', 'products', { ...inBoth, ...page(0) });
  const rows = ['list', 'page 2'].flatMap((name) => rowsOf(answerTo(evidence, name)?.products));
  const total = numberOf(membersOf(answerTo(evidence, 'list')?.pagination)?.total) ?? rows.length;
  const last = Math.ceil(total / settings.page_size);
  if (last > 2) await ask('last page', 'products', { ...inBoth, ...page(last) });
  await ask('beyond the end', 'products', { ...inBoth, ...page(Math.ceil(total / 10) + 1000) });
  await ask('nowhere', 'nowhere', {});

  const open = rows.filter(({ sale_status }) => sale_status === 'available');
  const ids = idsOf(open.length > 0 ? open : rows);
  await askProducts(calls, queries, ids);
  const [id] = ids;
  // A known product, because a 404 for an unknown one would look as if the path were missing.
  if (id !== undefined) {
    await ask('checkout information', 'checkout_information', inLanguage, id);
    await ask('variants', 'variants', inLanguage, id);
  }
  await ask('experiences', 'experiences', { ...inBoth, ...page(1) });
  await ask('subscription', 'subscription', {});
  const unknown = Math.max(...idsOf(rows), 1) + 1_000_007;
  await ask('unknown product', 'checkout_information', inLanguage, unknown);
  await askDates(calls, queries, open.length > 0 ? open : rows);
  const [closed] = idsOf(rows.filter(({ sale_status }) => sale_status === 'unavailable'));
  if (closed !== undefined) await ask('closed product', 'availability', { ...inBoth, ...windowAt(null, 1, 8) }, closed);
  await askEditions(calls, queries, settings);
  await ask('list again', 'products', { ...inBoth, ...page(1) });
  return report(null);
}

type Queries = ReturnType<typeof queriesOf>;

/** Returns functions that build the query parameters of the questions, with this service's parameter names. */
function queriesOf(
  { parameters, first_page, page_size, languages, currencies }: ProbeSettings,
  clock: Pick<Clock, 'now'>,
) {
  const [language = 'en', currency = 'EUR'] = [languages[0], currencies[0]];
  const edition = (of: string, price: string) => ({ [parameters.language]: of, [parameters.currency]: price });
  const todayOf = (row: Members | null) => venueToday(knownZone(row?.timezone), clock.now()).latest;
  const windowAt = (row: Members | null, from: number, to: number) => ({
    [parameters.from]: addDays(todayOf(row), from),
    [parameters.to]: addDays(todayOf(row), to),
  });
  return {
    language,
    currency,
    edition,
    inLanguage: { [parameters.language]: language },
    inBoth: edition(language, currency),
    page: (number: number, size = page_size) => ({
      [parameters.page]: String(number - 1 + first_page),
      [parameters.page_size]: String(size),
    }),
    windowAt,
    /** Dates from a Wednesday to the Thursday of the next week: both ends reveal a service that rounds to weeks. */
    midweek: (row: Members) => {
      const weekday = new Date(`${todayOf(row)}T00:00:00Z`).getUTCDay();
      const wednesday = 10 + ((3 - ((weekday + 10) % 7) + 7) % 7);
      return windowAt(row, wednesday, wednesday + 8);
    },
  };
}

function evidenceOf(
  { exchanges, attempts }: ProbeCalls,
  { calls_a_second }: ProbePorts,
  { first_page, page_size, days_per_request, throttle_statuses, parameters, languages, currencies }: ProbeSettings,
): ProbeEvidence {
  const [language = 'en', currency = 'EUR'] = [languages[0], currencies[0]];
  const asked = {
    first_page,
    page_size,
    days_per_request,
    throttle_statuses,
    parameters,
    language,
    currency,
    languages,
  };
  return { exchanges, attempts, calls_a_second, ...asked };
}

/** Requests reads of up to five products that the service may not have. */
async function askProducts({ ask, exchanges }: ProbeCalls, { inBoth }: Queries, ids: readonly number[]): Promise<void> {
  for (const [index, each] of ids.slice(0, 5).entries()) {
    const made = await ask(index === 0 ? 'product' : `product ${index + 1}`, 'product', inBoth, each);
    if (made === null || (made.status !== 404 && made.status !== 405)) break;
  }
  const [id] = ids;
  if (id !== undefined && exchanges.find(({ name }) => name === 'product')?.failure === null)
    await ask('product again', 'product', inBoth, id);
}

/** Requests dates of products, and more dates of the first one that has any. */
async function askDates(
  { ask, exchanges }: ProbeCalls,
  { inBoth, windowAt, midweek }: Queries,
  rows: readonly Members[],
): Promise<void> {
  for (const row of rows.slice(0, 3)) {
    const [id] = idsOf([row]);
    if (id === undefined) continue;
    const near = await ask('near dates', 'availability', { ...inBoth, ...windowAt(row, 0, 30) }, id);
    if (near?.failure != null) return;
    if (rowsOf(membersOf(near?.json)?.dates).length === 0) {
      exchanges.splice(
        exchanges.findIndex(({ name }) => name === 'near dates'),
        near === null ? 0 : 1,
      );
      continue;
    }
    await ask('near dates again', 'availability', { ...inBoth, ...windowAt(row, 0, 30) }, id);
    await ask('dates', 'availability', { ...inBoth, ...midweek(row) }, id);
    await ask('many dates', 'availability', { ...inBoth, ...windowAt(row, 14, 89) }, id);
    return;
  }
}

async function askEditions({ ask }: ProbeCalls, queries: Queries, settings: ProbeSettings): Promise<void> {
  const { language, currency, edition, page } = queries;
  const other = settings.currencies[1] ?? (currency === 'USD' ? 'EUR' : 'USD');
  const second = settings.languages[1] ?? (language === 'nl' ? 'en' : 'nl');
  const one = page(1, 1);
  await ask('currency', 'products', { ...edition(language, other), ...one });
  await ask('language', 'products', { ...edition(second, currency), ...one });
  await ask('made-up currency', 'products', { ...edition(language, 'QQQ'), ...one });
  await ask('made-up language', 'products', { ...edition('qq', currency), ...one });
}

function refusal(first: Exchange | null): ProbeReport['unusable'] {
  if (first === null) return { code: 'throttled', message: 'it asks for a longer pause' };
  const { status, failure } = first;
  if (failure === null) return null;
  if (status === 401 || status === 403)
    return { code: 'key-refused', message: `it refuses the key (${status}): ${failure.message}` };
  if (status === null) return { code: 'unreachable', message: failure.message };
  return { code: 'no-list', message: `the product list is not answered: ${ending(first)}` };
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
