import { counted } from '../../kernel/format.ts';
import { isMembers, type Members, memberNames } from '../../kernel/values/exact-json.ts';
import { identifier } from '../../kernel/values/identifier.ts';
import { minorUnitExponent } from '../../kernel/values/money.ts';
import { publishable } from '../../kernel/values/public-address.ts';
import type { ListAnswer, Question, RowAnswer, UnusableAnswer } from '../../service/adapter.rules.ts';
import { type AnswerContext, amountsIn, type Member, unreadable } from '../../service/member.rules.ts';
import type { Shape } from '../../service/shapes.rules.ts';
import { exampleOf, rowShapes } from '../../service/shapes.rules.ts';

/*
 * The assumptions about the service, judged by a few calls to it. Each judgement is a pure function
 * of the exchanges; none makes a call.
 */

/** One call of a probe, and its result. */
export interface Exchange {
  /** Name of the call: `list`, `list again`, `dates` … Each occurs once. */
  readonly name: string;
  /** Asked of a path that does not exist where the name is `nowhere`. */
  readonly question: Question;
  /** Null if no head of an answer arrived. */
  readonly status: number | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined without a usable body: refused, broken, or not JSON. */
  readonly json: unknown;
  /** Result of reading it by the adapter; null: there is no usable body. */
  readonly read: ListAnswer | RowAnswer | UnusableAnswer | null;
  /** The code and message of a failure; null: there was an answer. */
  readonly failure: { readonly code: string; readonly message: string } | null;
  readonly sent_at: number;
  readonly took_ms: number;
}

/** All exchanges of a probe, and the settings it used. */
export interface ProbeEvidence {
  readonly exchanges: readonly Exchange[];
  /** Every attempt, including retries. */
  readonly attempts: readonly Exchange[];
  /** Number of a list's first page. */
  readonly first_page: number;
  readonly page_size: number;
  readonly days_per_request: number;
  /** Statuses that mean throttling. */
  readonly throttle_statuses: readonly number[];
  readonly language: string;
  readonly currency: string;
  /** All configured languages, the primary one first. */
  readonly languages: readonly string[];
  /** Calls a second that the probe made at most. */
  readonly calls_a_second: number;
}

export type AssumptionVerdict = 'as believed' | 'otherwise' | 'cannot tell';

/** Keys below `service.profile` that follow from the exchanges. */
export type ProfilePart = Readonly<Record<string, unknown>>;

export interface Finding {
  readonly name: string;
  readonly believed: string;
  readonly seen: string;
  readonly verdict: AssumptionVerdict;
  /** Consequence, as text; empty if there is none. */
  readonly means: string;
  readonly profile: ProfilePart | null;
}

/** Result of a judgement. `profile` is set if a key follows from it. */
export type Judgement = Omit<Finding, 'name' | 'believed' | 'profile'> & {
  readonly profile?: ProfilePart;
  /** Set if the mirror cannot be filled from such a service. */
  readonly unusable?: true;
};

export interface Assumption {
  readonly name: string;
  readonly believed: string;
  judge(evidence: ProbeEvidence): Judgement;
}

export function asBelieved(seen: string, means = ''): Judgement {
  return { verdict: 'as believed', seen, means };
}

export function otherwise(seen: string, means: string, profile?: ProfilePart): Judgement {
  return { verdict: 'otherwise', seen, means, ...(profile === undefined ? {} : { profile }) };
}

/**
 * Returns the judgement that the service behaves differently, and that the mirror cannot be filled from it with this
 * configuration.
 */
export function unusable(seen: string, means: string): Judgement {
  return { ...otherwise(seen, means), unusable: true };
}

export function cannotTell(seen: string, means = ''): Judgement {
  return { verdict: 'cannot tell', seen, means };
}

export function exchange({ exchanges }: ProbeEvidence, name: string): Exchange | null {
  return exchanges.find((each) => each.name === name) ?? null;
}

/** Returns the rows that an answer has; none where it has none. */
export function rowsIn(evidence: ProbeEvidence, name: string): Members[] {
  return rowsOf(listIn(evidence, name)?.rows);
}

/** Returns what an answer says of the whole list. */
export function listIn(evidence: ProbeEvidence, name: string): ListAnswer | null {
  const read = exchange(evidence, name)?.read ?? null;
  return read !== null && 'rows' in read ? read : null;
}

/** Returns the one row that an answer is; null where it is none. */
export function rowIn(evidence: ProbeEvidence, name: string): RowAnswer | null {
  const read = exchange(evidence, name)?.read ?? null;
  return read !== null && 'row' in read ? read : null;
}

/** Returns the members of what was answered; null where there is no answer, or none of this shape. */
function answerTo(evidence: ProbeEvidence, name: string): Members | null {
  return membersOf(exchange(evidence, name)?.json);
}

function membersOf(value: unknown): Members | null {
  return isMembers(value) ? value : null;
}

/** Returns the elements of an array that are objects; empty if the value is not an array. */
export function rowsOf(value: unknown): Members[] {
  return Array.isArray(value) ? value.map(membersOf).filter((row) => row !== null) : [];
}

/** Returns a number, in any printed form; null if the value is not one. */
export function numberOf(value: unknown): number | null {
  const number = JSON.isRawJSON(value) ? Number(value.rawJSON) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** Describes the end of an exchange without an answer. */
export function ending({ status, failure }: Exchange): string {
  return status === null ? (failure?.message ?? 'no answer') : `${status} ${failure?.code ?? ''}`.trim();
}

/** Formats a share like `3 of 100 products`. */
function share(count: number, of: number, what: string): string {
  return `${count} of ${of} ${what}`;
}

/** Returns the distinct values, the most frequent first. */
export function distinct(values: readonly unknown[]): string[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([value]) => value);
}

/** The assumptions about the product list and its rows. */
export const listAssumptions: readonly Assumption[] = [
  { name: 'shape of the list', believed: 'rows under products, each with an id', judge: listShape },
  { name: 'first page', believed: 'page 1', judge: firstPage },
  { name: 'page size', believed: 'as many rows as asked for, up to 100', judge: pageSize },
  { name: 'list total', believed: 'as many rows as the list counts', judge: listTotal },
  { name: 'list order', believed: 'the same order in two walks, a few rows drift', judge: listOrder },
  { name: 'end of the list', believed: 'a page beyond the last is empty', judge: listEnd },
  { name: 'texts', believed: 'plain text, titles of at most 87 characters', judge: texts },
];

function listed(evidence: ProbeEvidence): Members[] {
  return ['list', 'page 2'].flatMap((name) => rowsIn(evidence, name));
}

/** Hint for a service that no key of the profile describes. */
const notFollowed =
  'no key describes this: write an adapter (docs/service.md, service.adapter). Nothing is filled until then';

function listShape(evidence: ProbeEvidence): Judgement {
  const read = exchange(evidence, 'list')?.read ?? null;
  if (read === null) return cannotTell('the list was not answered');
  if ('unusable' in read) return unusable(read.unusable, notFollowed);
  const rows = rowsIn(evidence, 'list');
  const [unnamed] = rows.filter(({ id }) => identifier(id) === null);
  if (rows.length === 0) return cannotTell('no rows');
  if (unnamed === undefined) return asBelieved(`${counted(rows.length, 'row')} with an id`);
  const without = rows.filter(({ id }) => identifier(id) === null).length;
  const seen = `${share(without, rows.length, 'rows')} without an id; members of one: ${memberNames(unnamed)}; expected: id`;
  return without === rows.length ? unusable(seen, notFollowed) : otherwise(seen, 'such rows are left out');
}

const noRows = 'the list has no row that can be read';

function firstPage(evidence: ProbeEvidence): Judgement {
  const { first_page } = evidence;
  if (first_page !== 1) return asBelieved(`page ${first_page}, as configured`);
  const before = exchange(evidence, 'page 0');
  if (before === null) return cannotTell('not asked');
  if (before.failure !== null)
    return before.status === null ? cannotTell(ending(before)) : asBelieved('page 0 is refused');
  const listed = new Set(rowsIn(evidence, 'list').map(({ id }) => String(id)));
  const rows = rowsIn(evidence, 'page 0');
  if (listed.size === 0) return cannotTell(noRows);
  const unknown = rows.filter(({ id }) => !listed.has(String(id))).length;
  if (unknown <= rows.length / 2) return asBelieved(rows.length === 0 ? 'page 0 is empty' : 'page 0 is page 1');
  return otherwise(
    `page 0 has ${counted(unknown, 'row')} that page 1 lacks`,
    'they are missing from the mirror until the profile has the key',
    {
      first_page: 0,
    },
  );
}

function pageSize(evidence: ProbeEvidence): Judgement {
  const list = listIn(evidence, 'list');
  if (list === null) return cannotTell('the list was not answered');
  const rows = rowsIn(evidence, 'list').length;
  const total = numberOf(list.total);
  const seen = `${counted(rows, 'row')} of ${evidence.page_size} asked for${total === null ? '' : `, ${total} in all`}`;
  if (rows === evidence.page_size) return asBelieved(seen);
  const size = numberOf(list.page_size) ?? rows;
  const more = rowsIn(evidence, 'page 2').length > 0;
  if (rows < evidence.page_size && (size >= evidence.page_size || !more))
    return cannotTell(seen, 'the whole list is shorter than a page');
  return otherwise(seen, `a walk takes ${Math.ceil(evidence.page_size / Math.max(1, rows))} times the calls`, {
    page_size: Math.max(1, Math.min(100, rows)),
  });
}

function listTotal(evidence: ProbeEvidence): Judgement {
  const first = listIn(evidence, 'list');
  if (first === null) return cannotTell('the list was not answered');
  const pages = ['list', 'page 2'].map((name) => rowsIn(evidence, name));
  const rows = pages.flat();
  const total = numberOf(first.total);
  if (total === null) return cannotTell(`${counted(rows.length, 'row')} on two pages, and no total`);
  const missing = missingRows(evidence, pages, total);
  if (missing === null) return cannotTell(`${rows.length} of ${counted(total, 'row')} on two pages`);
  const ids = rows.flatMap(({ id }) => (id === undefined ? [] : [String(id)]));
  const repeated = ids.length - new Set(ids).size;
  if (missing.rows <= repeated)
    return asBelieved(`${counted(total, 'row')}${repeated > 0 ? `, ${repeated} of them drifted` : ''}`);
  return otherwise(
    missing.seen,
    'a list with fewer rows than it counts is incomplete, and the mirror is not filled by it; if the total counts what the list leaves out, set service.profile.list_total: ignore',
  );
}

/**
 * Returns how many rows are missing from the first two pages, or else from the last one; null if that cannot be
 * determined.
 */
function missingRows(
  evidence: ProbeEvidence,
  [first = [], second = []]: readonly (readonly Members[])[],
  total: number,
): { readonly rows: number; readonly seen: string } | null {
  const named = numberOf(listIn(evidence, 'list')?.page_size);
  const size = Math.min(evidence.page_size, named ?? evidence.page_size);
  const [there, wanted] = [first.length + second.length, Math.min(total, 2 * size)];
  // Pages are smaller than they state.
  if (first.length < Math.min(size, total) && second.length === first.length) return null;
  if (there < wanted)
    return { rows: wanted - there, seen: `${there} of ${counted(total, 'row')}, and page 2 is not full` };
  if (total <= 2 * size) return { rows: 0, seen: '' };
  const last = exchange(evidence, 'last page');
  if (last === null || last.failure !== null) return null;
  const page = pageOf(last);
  const [rows, due] = [rowsIn(evidence, 'last page').length, Math.min(size, total - (page - 1) * size)];
  return { rows: due - rows, seen: `${rows} of ${counted(due, 'row')} on page ${page}, the last of ${total} rows` };
}

function listOrder(evidence: ProbeEvidence): Judgement {
  const [first, again, second] = ['list', 'list again', 'page 2'].map((name) =>
    rowsIn(evidence, name).flatMap(({ id }) => (id === undefined ? [] : [String(id)])),
  ) as [string[], string[], string[]];
  if (first.length < 2 || again.length < 2) return cannotTell('the first page was not answered twice');
  if (second.length > 0 && second.every((id, index) => first[index] === id))
    return unusable(
      `page 2 is page 1 once more; members: ${memberNames(answerTo(evidence, 'page 2'))}`,
      'check service.profile.parameters.page and first_page. Pages by offset or cursor take an adapter (docs/service.md). If there is one: it returned no `next`, or its request for `after` was answered with the same page. Nothing is filled until then',
    );
  const moved = first.filter((id, index) => again[index] !== id).length;
  const repeated = second.filter((id) => first.includes(id)).length;
  const seen = `${share(moved, first.length, 'rows')} elsewhere in the second walk${repeated > 0 ? `, ${repeated} again on page 2` : ''}`;
  if (moved > first.length / 2)
    return otherwise(seen, 'a product counts as missing only after two complete walks and a read of its own');
  return asBelieved(seen);
}

function pageOf({ question }: Exchange): number {
  return 'page' in question ? question.page : 1;
}

function listEnd(evidence: ProbeEvidence): Judgement {
  const beyond = exchange(evidence, 'beyond the end');
  if (beyond === null) return cannotTell('not asked');
  const rows = rowsIn(evidence, 'beyond the end').length;
  const page = pageOf(beyond) - 1 + evidence.first_page;
  if (beyond.failure !== null)
    return beyond.status !== null && beyond.status >= 400 && beyond.status < 500
      ? otherwise(`page ${page} is refused: ${ending(beyond)}`, 'a walk ends at the total that the list names')
      : cannotTell(ending(beyond));
  if (rows === 0)
    return rowsIn(evidence, 'list').length === 0 ? cannotTell(noRows) : asBelieved(`page ${page} is empty`);
  return otherwise(
    `page ${page} has ${counted(rows, 'row')}`,
    'the list does not end by itself: a walk ends where pages bring nothing new, and nothing is withdrawn by it',
  );
}

/** Matches control characters that a terminal obeys, characters that reverse the direction of a line, and scripts. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const hostile = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|<script/i;

function texts(evidence: ProbeEvidence): Judgement {
  const rows = listed(evidence);
  if (rows.length === 0) return cannotTell('no rows');
  const wrong = rows.filter((row) =>
    Object.values(row).some((value) => typeof value === 'string' && hostile.test(value)),
  );
  const longest = Math.max(...rows.map(({ title }) => String(title).length));
  const seen = `titles of at most ${longest} characters`;
  if (wrong.length > 0)
    return otherwise(
      `${share(wrong.length, rows.length, 'products')} with control characters or scripts; ${seen}`,
      'kept as sent and made harmless where catalogued prints it: a storefront must escape it too',
    );
  return longest > 500 ? otherwise(seen, 'kept as sent: a storefront must bear it') : asBelieved(seen);
}

/** The assumptions about every answer of the service. */
export const behaviourAssumptions: readonly Assumption[] = [
  { name: 'limit', believed: '15 calls a second; 429, and perhaps Retry-After', judge: limit },
  { name: 'faults', believed: 'none without a reason', judge: faults },
  { name: 'clock', believed: 'Date is within 30 s of ours', judge: clock },
  { name: 'cache', believed: 'answers come from a cache, for a time that nobody has said', judge: cache },
  { name: 'counters', believed: 'the same answer twice is the same, byte by byte', judge: counters },
  { name: 'validators', believed: 'no ETag, no Last-Modified', judge: validators },
  { name: 'compression', believed: 'gzip where it is asked for', judge: compression },
  { name: 'time of an answer', believed: 'well below a second', judge: time },
];

const clockToleranceMs = 30_000;

function heard({ attempts }: ProbeEvidence): Exchange[] {
  return attempts.filter(({ status }) => status !== null);
}

function limit(evidence: ProbeEvidence): Judgement {
  const all = heard(evidence);
  const headers = distinct(
    all.flatMap(({ headers: own }) => Object.keys(own).filter((name) => /rate-?limit/.test(name))),
  );
  const throttled = all.filter(({ status, headers: own }) => status === 429 || own['retry-after'] !== undefined);
  const told = throttled.filter(({ headers: own }) => own['retry-after'] !== undefined);
  const others = distinct(told.map(({ status }) => status)).map(Number);
  const unknown = others.filter((status) => status >= 400 && !evidence.throttle_statuses.includes(status));
  const visible = headers.length > 0 ? `; headers ${headers.join(', ')}` : '';
  if (unknown.length > 0)
    return otherwise(
      `${share(told.length, all.length, 'calls')} ${unknown.join(', ')} with Retry-After${visible}`,
      'read as failures of a record until the profile names them',
      { throttle_statuses: [...evidence.throttle_statuses, ...unknown] },
    );
  if (told.length > 0)
    return otherwise(
      `${share(throttled.length, all.length, 'calls')} throttled at ${evidence.calls_a_second} a second, Retry-After ${distinct(told.map(({ headers: own }) => own['retry-after'])).join(', ')}${visible}`,
      'set budget.requests_per_second below what was met; the daemon learns it too',
    );
  if (throttled.length > 0)
    return otherwise(
      `${share(throttled.length, all.length, 'calls')} 429 without Retry-After${visible}`,
      'one alone is that call’s failure; several together mean less',
    );
  return cannotTell(
    `nothing throttled at ${evidence.calls_a_second} calls a second${visible}`,
    'nobody floods a service to find out',
  );
}

function faults({ attempts }: ProbeEvidence): Judgement {
  const broken = attempts.filter(({ status, failure }) => failure !== null && (status === null || status >= 500));
  if (broken.length === 0) return asBelieved(`none in ${counted(attempts.length, 'call')}`);
  const kinds = distinct(broken.map(({ status, failure }) => (status === null ? (failure?.code ?? 'none') : status)));
  return otherwise(
    `${share(broken.length, attempts.length, 'calls')}: ${kinds.join(', ')}`,
    'asked again; a single one takes nothing from the call budget',
  );
}

function clock(evidence: ProbeEvidence): Judgement {
  const offsets = heard(evidence)
    .map(({ headers, sent_at, took_ms }) => Date.parse(headers.date ?? '') + 500 - (sent_at + took_ms / 2))
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const median = offsets[offsets.length >> 1];
  if (median === undefined) return cannotTell('no answer had a Date');
  const seconds = Math.round(median / 1000);
  const seen = seconds === 0 ? 'the same second' : `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} ours`;
  return Math.abs(median) <= clockToleranceMs
    ? asBelieved(seen)
    : otherwise(seen, 'one of the two clocks is wrong: check this machine’s first');
}

function cache(evidence: ProbeEvidence): Judgement {
  const reads = ['near dates', 'near dates again', 'product', 'list'].map((name) => exchange(evidence, name));
  const said = reads
    .flatMap((each) =>
      ['age', 'cache-control', 'x-cache', 'expires'].map((name) => [name, each?.headers[name]] as const),
    )
    .filter(([, value]) => value !== undefined);
  if (said.length > 0) {
    const words = distinct(said.map(([name, value]) => `${name}: ${value}`));
    return asBelieved(words.slice(0, 4).join(', '));
  }
  const counting = differing(evidence);
  if (counting.length > 0) return cannotTell('no header says; the service builds each answer as it is read', closing);
  return cannotTell('no header says, and nothing changed meanwhile', closing);
}

const closing = 'a closure that was announced is believed until two reads a minute apart deny it';

/** Returns the members that differ between two immediate reads of the same answer. */
function differing(evidence: ProbeEvidence): string[] {
  const names: string[] = [];
  const [one, two] = [answerTo(evidence, 'near dates'), answerTo(evidence, 'near dates again')];
  if (one !== null && two !== null) compare(one, two, names);
  const [first, again] = ['product', 'product again'].map((name) => answerTo(evidence, name));
  if (first != null && again != null) compare(first, again, names);
  return distinct(names);
}

function compare(one: Members, two: Members, names: string[]): void {
  for (const name of Object.keys({ ...one, ...two })) {
    const [a, b] = [one[name], two[name]];
    if (JSON.stringify(a) === JSON.stringify(b)) continue;
    const [inner, other] = [membersOf(a), membersOf(b)];
    const [rows, others] = [rowsOf(a), rowsOf(b)];
    if (inner !== null && other !== null) compare(inner, other, names);
    else if (rows.length > 0 && rows.length === others.length)
      for (const [index, row] of rows.entries()) compare(row, others[index] ?? {}, names);
    else names.push(name);
  }
}

function counters(evidence: ProbeEvidence): Judgement {
  if (answerTo(evidence, 'near dates again') === null) return cannotTell('no answer was read twice');
  const names = differing(evidence);
  if (names.length === 0) return asBelieved('the same');
  return otherwise(
    `${names.slice(0, 6).join(', ')} differ at each read`,
    'such answers are parsed and stored at each read; how often they change is learned from them too',
  );
}

function validators(evidence: ProbeEvidence): Judgement {
  const names = distinct(
    heard(evidence).flatMap(({ headers }) => ['etag', 'last-modified'].filter((name) => headers[name] !== undefined)),
  );
  return names.length === 0
    ? asBelieved('none')
    : otherwise(names.join(', '), 'not used: an answer that is the same costs its bytes and no write');
}

function compression(evidence: ProbeEvidence): Judgement {
  const answers = heard(evidence).filter(({ failure }) => failure === null);
  const coded = distinct(answers.map(({ headers }) => headers['content-encoding'] ?? 'none'));
  if (answers.length === 0) return cannotTell('no answer');
  return coded.includes('gzip')
    ? asBelieved(coded.join(', '))
    : otherwise(coded.join(', '), 'more bytes, nothing else');
}

function time(evidence: ProbeEvidence): Judgement {
  const times = evidence.exchanges.filter(({ failure }) => failure === null).map(({ took_ms }) => took_ms);
  if (times.length === 0) return cannotTell('no answer');
  const sorted = times.toSorted((a, b) => a - b);
  const [median = 0, longest = 0] = [sorted[sorted.length >> 1], sorted.at(-1)];
  const seen = `${Math.round(median)} ms in the middle, ${Math.round(longest)} ms at most`;
  return median < 1000
    ? asBelieved(seen)
    : otherwise(seen, `budget.concurrency has to be ${Math.ceil((median / 1000) * 10)} for 10 calls a second`);
}

type Rows = Readonly<Partial<Record<keyof typeof rowShapes, readonly Members[]>>>;

/** The assumption about what rows hold: of the service, or of what an adapter makes of its answers. */
export const memberAssumptions: readonly Assumption[] = [
  { name: 'members of the rows', believed: 'those of docs/reference/members.md, each in its form', judge: members },
];

function members({ exchanges, currency }: ProbeEvidence): Judgement {
  const misread = exchanges.flatMap(({ name, read }) =>
    read !== null && 'unusable' in read ? [`${name}: ${read.unusable}`] : [],
  );
  const rows = mergedRows(exchanges.filter(({ name }) => name !== 'nowhere').map(rowsOfExchange));
  const amount = amountsIn(minorUnitExponent(currency) === null ? 'EUR' : currency);
  const context = { amount, mayPublish: publishable([]) };
  const wrong = Object.entries(rowShapes).flatMap(([kind, shape]) =>
    problemsOf(kind, shape, rows[kind as keyof typeof rowShapes] ?? [], context),
  );
  const seen = [...misread, ...wrong];
  if (seen.length > 0)
    return otherwise(seen.join('; '), 'what is missing or has another form is NULL, or the row fails');
  const count = Object.values(rows).reduce((sum, each) => sum + each.length, 0);
  return count === 0 ? cannotTell('no rows') : asBelieved(counted(count, 'row'));
}

/**
 * Names each member that no row has, and each that cannot be read or has a remark, with an example, what happens meanwhile,
 * and the names of a row's members.
 */
function problemsOf(
  kind: string,
  { members: declared }: Shape,
  rows: readonly Members[],
  context: AnswerContext,
): string[] {
  if (rows.length === 0) return [];
  const lacking = Object.entries(declared).flatMap(([name, { terms }]) =>
    terms.expected && [name, ...terms.aliases].every((each) => rows.every((row) => row[each] === undefined))
      ? [name]
      : [],
  );
  const wrong = Object.entries(declared).flatMap(([name, member]) => wrongWith(name, member, rows, context));
  const problems = [...(lacking.length === 0 ? [] : [`no row has ${lacking.join(', ')}`]), ...wrong];
  return problems.length === 0 ? [] : [`${kind}: ${problems.join(', ')}; members of one: ${memberNames(rows[0])}`];
}

function wrongWith(name: string, member: Member<unknown>, rows: readonly Members[], context: AnswerContext): string[] {
  const { form, meanwhile, isMissed } = member.terms;
  const values = rows.map((row) => row[name]);
  const found = new Map<string, { readonly meanwhile: string; readonly those: unknown[] }>();
  const add = (fault: string, value: unknown, then = meanwhile) =>
    found.getOrInsert(fault, { meanwhile: then, those: [] }).those.push(value);
  for (const value of values) {
    const outcome = member.read(value, context);
    if (outcome === unreadable) add(`no ${form}`, value);
    else if (outcome !== null) {
      const remark = member.remarkOn(outcome, context);
      if (remark !== null) add(remark.why, value, remark.meanwhile);
    } else if (isMissed) add('left out', value);
  }
  if (isMissed && values.every((value) => Array.isArray(value) && value.length === 0))
    add('empty everywhere', values[0], 'ask the service whether the key has access to them');
  return [...found].map(
    ([fault, { those, meanwhile: then }]) =>
      `${name} is ${fault} in ${share(those.length, rows.length, 'rows')}, such as ${exampleOf(those[0])}: ${then}`,
  );
}

/** Returns the rows of an answer, and those inside them. */
function rowsOfExchange({ question: { kind }, read }: Exchange): Rows {
  if (read === null || 'unusable' in read) return {};
  const rows = 'rows' in read ? read.rows : [read.row];
  const inside = (name: string, of: readonly Members[] = rows) => of.flatMap((row) => rowsOf([row[name]].flat()));
  switch (kind) {
    case 'products':
    case 'product':
      return {
        products: rows,
        'images of a product': inside('images'),
        venue: inside('venue'),
        geolocation: inside('geolocation'),
        ratings: inside('ratings'),
      };
    case 'availability': {
      const [dates, variants] = [inside('dates'), inside('variants')];
      const slots = inside('timeslots', dates);
      const offers = inside('variants', slots);
      return {
        availability: rows,
        variants,
        'dates of availability': dates,
        'timeslots of a date': slots,
        'variants of a timeslot': offers,
        'prices of a variant': inside('price_mediation', offers),
      };
    }
    case 'checkout_information':
      return { [kind]: rows, additional_information: inside('additional_information') };
    default:
      return { [kind]: rows };
  }
}

function mergedRows(all: readonly Rows[]): Rows {
  const kinds = Object.keys(rowShapes) as (keyof typeof rowShapes)[];
  return Object.fromEntries(kinds.map((kind) => [kind, all.flatMap((rows) => rows[kind] ?? [])]));
}
