import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Clock } from '../../clock.ts';
import { pick, roll, sequence } from '../random.ts';
import { type LieKind, type LieTerms, lied, lieKinds, spellingNames } from './lies.ts';
import { oneOf, refuseSettings, share, type Values } from './values.ts';

/** Injected faults in the manner of Toxiproxy's toxics, and answers with missing or renamed members. */
export const spoiltKinds = [
  'status', 'delay', 'drip', 'hang', 'reset', 'truncate', 'truncate-valid', 'garbage', 'html', 'gzip-bomb', 'huge',
  'redirect', 'bom', 'wrong-type', 'success-false', 'missing-array', 'invalid-utf8', 'empty-list', 'without',
  'renamed', 'fewer-rows', 'more-counted', 'any',
] as const; // biome-ignore format: words

export type FaultKind = (typeof spoiltKinds)[number] | LieKind;

/**
 * A fault, the requests that it hits, and its time. Every lie that hits a request is applied. Of the other faults, the
 * first one that hits replaces the answer.
 */
export interface FaultRule extends LieTerms {
  readonly kind: FaultKind;
  /** A regular expression over path and query; absent: every request. */
  readonly path?: string;
  /** Absent: any method. */
  readonly method?: 'GET' | 'PUT' | 'POST';
  /**
   * The share of requests that it hits, 0 to 1; absent: all. Records are drawn by the seed, and records of one product
   * together.
   */
  readonly share?: number;
  /**
   * `records` (default): hits the same records for as long as the fault lasts. `answers`: each answer is drawn
   * independently.
   */
  readonly of?: 'records' | 'answers';
  /** Begin and end, in milliseconds since it was set; absent: at once, and never. */
  readonly from_ms?: number;
  readonly until_ms?: number;
  /** Makes the fault come and go: present for this many milliseconds, absent for as many, and so on. */
  readonly flap_ms?: number;
  /**
   * `taken`: a PUT or POST takes effect although its answer is spoilt. Default: `taken`; for the kind `status`: `none`.
   */
  readonly effect?: 'taken' | 'none';
  /** The number of matching requests to skip first. */
  readonly after?: number;
  /** The number of requests to hit, after which it never hits again. */
  readonly times?: number;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * For `without`: the member to remove from all objects of the answer. For `renamed`: the member to rename in the rows
   * of a list. For `respelt`: the path of the member in a record. For `one-value`: the member with the same text everywhere.
   */
  readonly member?: string;
  /** For `renamed`: the new name of the member. For `respelt`: the spelling; absent: `body` replaces the value. */
  readonly as?: string;
  /**
   * Number of rows of the page. `renamed`: the first rows that are changed (absent: all). `fewer-rows`: the rows that
   * are left. `more-counted`: the rows that the total counts in addition.
   */
  readonly rows?: number;
  /** Milliseconds: for `delay` and `hang` in all, for `drip` per byte. */
  readonly ms?: number;
}

/** The kinds among which `any` draws each time. */
const mix: readonly FaultRule[] = [
  { kind: 'status', status: 500 },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 502, body: '<html>Bad gateway</html>' },
  { kind: 'reset' },
  { kind: 'truncate' },
  { kind: 'garbage' },
  { kind: 'html' },
  { kind: 'success-false' },
  { kind: 'missing-array' },
  { kind: 'invalid-utf8' },
];

interface Scripted {
  readonly rule: FaultRule;
  readonly since: number;
  /** The number of requests that it has hit. */
  met: number;
  /** For `another-product`: the first answer with dates that it has not hit. */
  other?: string;
}

/** Decides which faults apply to each request. */
export class FaultScript {
  readonly #clock: Clock;
  readonly #seed: number;
  readonly #chance: () => number;
  /** `standing`: the faults among the quirks, which are replaced together. `added`: those added one by one. */
  #standing: readonly Scripted[] = [];
  #added: Scripted[] = [];

  constructor(clock: Clock, seed: number) {
    this.#clock = clock;
    this.#seed = seed;
    this.#chance = sequence(seed + 2);
  }

  /** Replaces the faults among the quirks. */
  set(rules: readonly FaultRule[]): void {
    this.#standing = rules.map((rule) => this.#scripted(rule));
  }

  add(rule: FaultRule): void {
    this.#added.push(this.#scripted(rule));
  }

  /** Removes the faults that were added one by one. */
  clear(): void {
    this.#added = [];
  }

  /** Returns the fault that replaces an answer; null: none. */
  next(method: string, url: string): FaultRule | null {
    for (const each of this.#about(method, url)) {
      const { rule } = each;
      if (isLie(rule) || !this.#isHit(rule, idIn(url))) continue;
      const { after = 0, times = Number.POSITIVE_INFINITY } = rule;
      each.met += 1;
      if (each.met > after && each.met <= after + times) return rule.kind === 'any' ? pick(mix, this.#chance()) : rule;
    }
    return null;
  }

  /** Returns an answer with all its lies applied. Without lies it is unchanged. */
  lied(method: string, url: string, body: string): string {
    return this.#about(method, url).reduce((said, each) => {
      const { rule } = each;
      if (!isLie(rule)) return said;
      const isHit = (id: number | null) => this.#isHit(rule, id ?? idIn(url));
      if (rule.kind === 'another-product' && said.includes('"dates":[{') && !isHit(null)) each.other ??= said;
      return lied(said, { ...rule, other: each.other }, isHit);
    }, body);
  }

  #scripted(rule: FaultRule): Scripted {
    return { rule, since: this.#clock.now(), met: 0 };
  }

  /** Returns the rules that match a request and are active now. */
  #about(method: string, url: string): Scripted[] {
    const now = this.#clock.now();
    return [...this.#added, ...this.#standing].filter(
      ({ rule, since }) =>
        (rule.method ?? method) === method &&
        (rule.path === undefined || new RegExp(rule.path).test(url)) &&
        isTimeOf(rule, now - since),
    );
  }

  #isHit({ kind, status = 0, share = 1, of }: FaultRule, id: number): boolean {
    return share >= 1 || (of === 'answers' ? this.#chance() : roll(this.#seed, id, kind, status, 'fault')) < share;
  }
}

function isLie(rule: FaultRule): rule is FaultRule & { readonly kind: LieKind } {
  return (lieKinds as readonly string[]).includes(rule.kind);
}

function isTimeOf({ from_ms = 0, until_ms = Number.POSITIVE_INFINITY, flap_ms }: FaultRule, age_ms: number): boolean {
  if (age_ms < from_ms || age_ms >= until_ms) return false;
  return flap_ms === undefined || Math.floor((age_ms - from_ms) / flap_ms) % 2 === 0;
}

/** Returns the id of the product that a request is about; 0: none. */
function idIn(url: string): number {
  return Number(/\/products\/(\d+)/.exec(url)?.[1] ?? 0);
}

const isAny = (value: unknown) => typeof value === 'number' && value >= 0;
const count: Values = { says: 'a whole number', fits: (value) => Number.isSafeInteger(value) && isAny(value) };
const ms: Values = { says: 'milliseconds', fits: isAny };
const text: Values = { says: 'a text', fits: (value) => typeof value === 'string' };

/** The accepted values of each member of a fault. */
const members: Readonly<Record<keyof FaultRule, Values>> = {
  kind: oneOf(...lieKinds, ...spoiltKinds),
  path: { says: 'a regular expression over path and query', fits: isPattern },
  method: oneOf('GET', 'PUT', 'POST'),
  share,
  of: oneOf('records', 'answers'),
  from_ms: ms,
  until_ms: ms,
  flap_ms: { says: 'milliseconds from 1', fits: (value) => typeof value === 'number' && value >= 1 },
  factor: { says: 'a number from 0', fits: isAny },
  amount: { says: 'a number from 0', fits: isAny },
  left: count,
  text,
  currency: { says: 'a code of three letters', fits: (value) => /^[A-Z]{3}$/.test(String(value)) },
  status: {
    says: 'a status from 200 to 599',
    fits: (value) => count.fits(value) && Number(value) >= 200 && Number(value) < 600,
  },
  headers: { says: 'names and texts', fits: (value) => isTexts(value) },
  body: text,
  effect: oneOf('taken', 'none'),
  after: count,
  times: count,
  member: text,
  as: text,
  rows: count,
  ms,
};

/** Returns the reason why a value from outside is not a list of faults; null: it is one. */
export function refuseFaults(given: unknown): string | null {
  if (!Array.isArray(given)) return 'expected a list of faults';
  for (const each of given) {
    const refused = refuseSettings(members, 'member', each) ?? lackedBy(each);
    if (refused !== null) return `a fault: ${refused}`;
  }
  return null;
}

/** Returns what a fault needs and does not say; null: it says everything. */
function lackedBy({ kind, member, as, body }: Partial<FaultRule>): string | null {
  if (kind === undefined) return 'it has no kind';
  if (kind === 'respelt' && (member === undefined || !isSpelling(as, body)))
    return `respelt needs the path of a member, and as one of ${spellingNames.join(', ')}, or body with JSON`;
  return kind === 'without' && member === undefined ? 'without needs the member to leave out, such as "id"' : null;
}

function isSpelling(as: string | undefined, body: string | undefined): boolean {
  if (as !== undefined) return spellingNames.includes(as);
  try {
    return body !== undefined && JSON.parse(body) !== undefined;
  } catch {
    return false;
  }
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === 'string' && new RegExp(value) !== null;
  } catch {
    return false;
  }
}

function isTexts(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((each) => typeof each === 'string');
}

/** Returns whether a request takes effect although a fault spoils its answer. */
export function takesEffect({ kind, effect = kind === 'status' ? 'none' : 'taken' }: FaultRule): boolean {
  return effect === 'taken';
}

let bomb: Buffer | null = null;

/** Returns 20 kB that inflate to 20 MB. Compressing them takes a tenth of a second, so the result is kept. */
function gzipBomb(): Buffer {
  bomb ??= gzipSync(Buffer.alloc(20 * 1024 * 1024, 0x20));
  return bomb;
}

const emptyList = '{"success":true,"products":[],"experiences":[],"pagination":{"page":1,"page_size":100,"total":0}}';

/** Sends a spoilt answer instead of `body`. Resolves when it is sent, or when the client has gone. */
export async function spoil(
  response: ServerResponse,
  fault: FaultRule,
  { status, body }: { status: number; body: string },
  { clock, gone, waits }: { clock: Clock; gone: AbortSignal; waits: (wait: Promise<void>) => Promise<void> },
): Promise<void> {
  const json = { 'content-type': 'application/json', ...fault.headers };
  const send = (status: number, headers: Record<string, string>, text: string | Buffer) => {
    response.writeHead(status, headers);
    response.end(text);
  };
  switch (fault.kind) {
    case 'status':
      return send(
        fault.status ?? 500,
        { 'content-type': fault.body?.startsWith('<') ? 'text/html' : 'application/json', ...fault.headers },
        fault.body ?? errorOf(fault.status ?? 500),
      );
    case 'delay':
      await waits(clock.sleep(fault.ms ?? 1000, gone));
      return send(status, json, body);
    case 'hang':
      await waits(clock.sleep(fault.ms ?? 3_600_000, gone));
      return void response.destroy();
    case 'drip': {
      const bytes = Buffer.from(body);
      response.writeHead(status, { ...json, 'content-length': String(bytes.length) });
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        await waits(clock.sleep(fault.ms ?? 300, gone));
      }
      return void response.end();
    }
    case 'reset':
      return void response.socket?.resetAndDestroy();
    case 'truncate':
    case 'truncate-valid': {
      const bytes = Buffer.from(fault.kind === 'truncate' ? body : `${body}${' '.repeat(4096)}`);
      response.writeHead(status, { ...json, 'content-length': String(bytes.length) });
      response.write(bytes.subarray(0, fault.kind === 'truncate' ? bytes.length >> 1 : bytes.length - 4096), () =>
        response.destroy(),
      );
      return undefined;
    }
    case 'garbage':
      return send(200, json, `{"success":tru${body.slice(0, 40)}`);
    case 'html':
      return send(200, { 'content-type': 'text/html; charset=utf-8' }, '<!doctype html><title>Maintenance</title>');
    case 'gzip-bomb':
      return send(200, { ...json, 'content-encoding': 'gzip' }, gzipBomb());
    case 'huge':
      return send(200, json, `{"success":true,"padding":"${'x'.repeat(40 * 1024 * 1024)}"}`);
    case 'redirect':
      return send(302, { location: 'http://127.0.0.1:9/elsewhere', ...fault.headers }, '');
    case 'bom':
      return send(status, json, `\ufeff${body}`);
    case 'wrong-type':
      return send(status, { ...json, 'content-type': 'text/plain' }, body);
    case 'success-false':
      return send(200, json, '{"success":false,"error_code":"server_error","message":"Try again later."}');
    case 'missing-array':
      return send(200, json, '{"success":true}');
    case 'renamed':
    case 'fewer-rows':
    case 'more-counted':
      return send(status, json, otherList(body, fault));
    case 'without':
      return send(status, json, without(body, fault.member));
    case 'invalid-utf8':
      return send(200, json, Buffer.concat([Buffer.from(body.slice(0, -1)), Buffer.of(0xff, 0xfe), Buffer.from('}')]));
    case 'empty-list':
      return send(200, json, emptyList);
  }
}

/** Returns the documented error body of a status. */
export function errorOf(status: number): string {
  return JSON.stringify({ success: false, ...(errors[status] ?? saying('server_error', 'Something broke.')) });
}

const saying = (error_code: string, message: string) => ({ error_code, message });

const errors: Readonly<Record<number, object>> = {
  401: { api_version: { major: 2, minor: 7 }, error: 'unauthorized', message: 'Key not accepted.' },
  403: saying('rate_limit_exceeded', 'Too many requests.'),
  404: saying('not_found', 'There is nothing here.'),
  405: saying('method_not_allowed', 'Only GET here.'),
  429: saying('rate_limit_exceeded', 'Too many requests.'),
  503: saying('service_unavailable', 'Please try again.'),
};

function without(body: string, member: string | undefined): string {
  return JSON.stringify(JSON.parse(body, (name, value) => (name === member ? undefined : value)));
}

/** Returns the page of a list with rows that do not match its total, or with a renamed member. */
function otherList(
  body: string,
  { kind, member = 'id', as = 'product_id', rows = Number.POSITIVE_INFINITY }: FaultRule,
): string {
  const answer = JSON.parse(body) as Record<string, unknown> & { pagination: { total: number } };
  const name = ['products', 'experiences', 'tags'].find((list) => list in answer) ?? 'products';
  const all = answer[name] as Record<string, unknown>[];
  switch (kind) {
    case 'fewer-rows':
      return JSON.stringify({ ...answer, [name]: all.slice(0, rows) });
    case 'more-counted':
      return JSON.stringify({ ...answer, pagination: { ...answer.pagination, total: answer.pagination.total + rows } });
    default:
      return JSON.stringify({
        ...answer,
        [name]: all.map(({ [member]: value, ...row }, index) => ({ [index < rows ? as : member]: value, ...row })),
      });
  }
}
