import type { Clock } from '../../clock.ts';
import { type Recorded, record } from '../../domain/probe/anonymise.ts';
import {
  answerTo,
  type Evidence,
  type Exchange,
  ending,
  type Finding,
  membersOf,
  numberOf,
  type ProfilePart,
  rowsOf,
} from '../../domain/probe/assumption.ts';
import { behaviourAssumptions } from '../../domain/probe/behaviour-assumptions.ts';
import { listAssumptions } from '../../domain/probe/list-assumptions.ts';
import { readAssumptions } from '../../domain/probe/read-assumptions.ts';
import { addDays } from '../../domain/time/dates.ts';
import { knownZone, venueToday } from '../../domain/time/venue.ts';
import { parseExact } from '../../domain/values/exact-json.ts';
import type { Members } from '../../domain/values/members.ts';
import type { RawAnswer, RawReads } from '../../upstream/raw-reads.ts';

/** The most calls that a probe makes, including repeated ones. */
export const mostCalls = 40;

/** The assumptions, in the order of the report. */
const assumptions = [...listAssumptions, ...readAssumptions, ...behaviourAssumptions];

export interface ProbePorts {
  readonly raw: RawReads;
  readonly clock: Clock;
  /** Most calls a second, below what the limiter would allow. */
  readonly calls_a_second: number;
}

export interface ProbeSettings {
  readonly paths: Readonly<
    Record<
      'products' | 'product' | 'checkout_information' | 'availability' | 'variants' | 'experiences' | 'subscription',
      string | null
    >
  >;
  readonly parameters: Evidence['parameters'];
  readonly page_size: number;
  readonly days_per_request: number;
  readonly throttle_statuses: readonly number[];
  readonly languages: readonly string[];
  readonly currencies: readonly string[];
}

/** The result of a probe. */
export interface ProbeReport {
  /** Why the service cannot be used; null: it can. */
  readonly unusable: { readonly code: string; readonly message: string } | null;
  /** Why it ended early; null: it did not. */
  readonly cut_short: string | null;
  readonly calls: number;
  readonly findings: readonly Finding[];
  /** The keys below `service.profile` that should differ from the configured ones; empty: none. */
  readonly profile: ProfilePart;
  /** The recorded answers, anonymised. */
  readonly recorded: readonly Recorded[];
}

/** The longest pause that a probe waits for; a longer one ends it. */
const patienceMs = 120_000;
/** How often a call that failed without a reason is repeated. */
const again = 2;

/**
 * Tests the assumptions about the service with at most forty calls, one after another: lists, reads of a few products,
 * things that do not exist. Stores nothing. Rejects with the signal's reason when it aborts.
 */
export async function probeService(
  { raw, clock, calls_a_second }: ProbePorts,
  settings: ProbeSettings,
  signal: AbortSignal,
  progressed: (calls: number, asking: string) => void = () => undefined,
): Promise<ProbeReport> {
  const { paths, parameters, page_size } = settings;
  const [language = 'en', currency = 'EUR'] = [settings.languages[0], settings.currencies[0]];
  const exchanges: Exchange[] = [];
  const attempts: Exchange[] = [];
  const recorded: { exchange: Exchange; resource: string; product_id: number | null }[] = [];
  let cut_short: string | null = null;
  let next_at = Number.NEGATIVE_INFINITY;

  async function attempt(name: string, path: string, query: Record<string, string>): Promise<Exchange | null> {
    if (cut_short !== null || attempts.length >= mostCalls) return null;
    const wait = next_at - clock.monotonic();
    if (wait > 0) await clock.sleep(wait, signal);
    next_at = clock.monotonic() + 1000 / calls_a_second;
    progressed(attempts.length, name);
    using patience = clock.deadline(patienceMs, signal);
    try {
      const made = exchangeOf(name, path, query, await raw.get(path, query, patience.signal));
      attempts.push(made);
      return made;
    } catch (error) {
      signal.throwIfAborted();
      if (!patience.signal.aborted) throw error;
      cut_short = `the service asks for a pause of more than ${patienceMs / 60_000} minutes`;
      return null;
    }
  }

  async function ask(
    name: string,
    resource: keyof ProbeSettings['paths'] | 'nowhere',
    query: Record<string, string>,
    product_id: number | null = null,
  ): Promise<Exchange | null> {
    const path = resource === 'nowhere' ? `${paths.products}-nowhere` : paths[resource];
    if (path === null) return null;
    const full = path.replace('{product_id}', String(product_id)).replace('{subscription_id}', 'catalogued-probe');
    let made = await attempt(name, full, query);
    for (let times = 0; made !== null && isStray(made) && times < again; times += 1)
      made = (await attempt(name, full, query)) ?? made;
    if (made === null) return null;
    exchanges.push(made);
    recorded.push({ exchange: made, resource, product_id });
    return made;
  }

  const evidence: Evidence = {
    exchanges,
    attempts,
    page_size,
    days_per_request: settings.days_per_request,
    throttle_statuses: settings.throttle_statuses,
    language,
    currency,
    parameters,
    calls_a_second,
  };
  const inBoth = { [parameters.language]: language, [parameters.currency]: currency };
  const page = (number: number, size = page_size) => ({
    [parameters.page]: String(number),
    [parameters.page_size]: String(size),
  });
  const report = (unusable: ProbeReport['unusable']): ProbeReport => {
    const findings = assumptions.map(({ name, believed, judge }) => ({
      name,
      believed,
      profile: null,
      ...judge(evidence),
    }));
    return {
      unusable,
      cut_short,
      calls: attempts.length,
      findings: unusable === null ? findings : [],
      profile: profileOf(findings, settings),
      recorded: record(recorded, clock.now()),
    };
  };

  const first = await ask('list', 'products', { ...inBoth, ...page(1) });
  const unusable = refusal(first);
  if (unusable !== null) return report(unusable);
  await ask('page 2', 'products', { ...inBoth, ...page(2) });
  const rows = ['list', 'page 2'].flatMap((name) => rowsOf(answerTo(evidence, name)?.products));
  const total = numberOf(membersOf(answerTo(evidence, 'list')?.pagination)?.total) ?? rows.length;
  await ask('beyond the end', 'products', { ...inBoth, ...page(Math.ceil(total / 10) + 1000) });
  await ask('nowhere', 'nowhere', {});

  const open = rows.filter(({ sale_status }) => sale_status === 'available');
  const ids = idsOf(open.length > 0 ? open : rows);
  await askProducts();
  const [id = 1] = ids;
  await ask('checkout information', 'checkout_information', { [parameters.language]: language }, id);
  await ask('variants', 'variants', { [parameters.language]: language }, id);
  await ask('experiences', 'experiences', { ...inBoth, ...page(1) });
  await ask('subscription', 'subscription', {});
  const unknown = Math.max(...idsOf(rows), 1) + 1_000_007;
  await ask('unknown product', 'checkout_information', { [parameters.language]: language }, unknown);
  await askDates();
  const [closed] = idsOf(rows.filter(({ sale_status }) => sale_status === 'unavailable'));
  if (closed !== undefined) await ask('closed product', 'availability', { ...inBoth, ...windowAt(null, 1, 8) }, closed);
  await askEditions();
  await ask('list again', 'products', { ...inBoth, ...page(1) });
  return report(null);

  /** Asks five products for reads that may not exist. */
  async function askProducts(): Promise<void> {
    for (const [index, each] of ids.slice(0, 5).entries()) {
      const made = await ask(index === 0 ? 'product' : `product ${index + 1}`, 'product', inBoth, each);
      if (made === null || (made.status !== 404 && made.status !== 405)) break;
    }
    const [id] = ids;
    if (id !== undefined && exchanges.find(({ name }) => name === 'product')?.failure === null)
      await ask('product again', 'product', inBoth, id);
  }

  /** Asks for dates of products, and for more of the first that has any. */
  async function askDates(): Promise<void> {
    for (const row of (open.length > 0 ? open : rows).slice(0, 3)) {
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

  async function askEditions(): Promise<void> {
    const other = settings.currencies[1] ?? (currency === 'USD' ? 'EUR' : 'USD');
    const second = settings.languages[1] ?? (language === 'nl' ? 'en' : 'nl');
    const of = (language: string, currency: string) => ({
      [parameters.language]: language,
      [parameters.currency]: currency,
      ...page(1, 1),
    });
    await ask('currency', 'products', of(language, other));
    await ask('language', 'products', of(second, currency));
    await ask('made-up currency', 'products', of(language, 'QQQ'));
    await ask('made-up language', 'products', of('qq', currency));
  }

  function windowAt(row: Members | null, from: number, to: number): Record<string, string> {
    const today = venueToday(knownZone(row?.timezone), clock.now()).latest;
    return { [parameters.from]: addDays(today, from), [parameters.to]: addDays(today, to) };
  }

  /**
   * Returns dates from a Wednesday to the Thursday of the next week: a service that rounds to weeks shows it at both
   * ends.
   */
  function midweek(row: Members): Record<string, string> {
    const today = venueToday(knownZone(row.timezone), clock.now()).latest;
    const weekday = new Date(`${today}T00:00:00Z`).getUTCDay();
    const wednesday = 10 + ((3 - ((weekday + 10) % 7) + 7) % 7);
    return windowAt(row, wednesday, wednesday + 8);
  }
}

function exchangeOf(name: string, path: string, query: Record<string, string>, answer: RawAnswer): Exchange {
  const { outcome, status, headers, sent_at, took_ms } = answer;
  const made = { name, path, query, status, headers, sent_at, took_ms };
  if (outcome.kind !== 'answer') {
    const { code, message } = outcome.kind === 'throttled' ? { code: 'throttled', message: 'throttled' } : outcome;
    return { ...made, json: undefined, failure: { code, message } };
  }
  try {
    return { ...made, json: parseExact(outcome.text), failure: null };
  } catch {
    return { ...made, json: undefined, failure: { code: 'not-json', message: 'the body is not JSON' } };
  }
}

/** Tells whether repeating a call may help: the service failed, or asked for a pause. */
function isStray({ status, headers, failure }: Exchange): boolean {
  if (failure === null) return false;
  return status === null || status >= 500 || status === 429 || headers['retry-after'] !== undefined;
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

/** Merges the profile keys that follow from the findings, without those already configured. */
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
