import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Clock } from '../../kernel/clock.ts';
import { pick, roll, sequence } from '../random.ts';
import { type LieKind, lied, lieKinds, spellingNames } from './lies.ts';
import { type FaultTerms, oneOf, refuseSettings, terms } from './settings.ts';

/** An answer to be spoilt, and the ways to send it. */
interface Spoiling {
  readonly response: ServerResponse;
  readonly terms: FaultTerms;
  readonly body: string;
  /** Sends a text as JSON, with the status of the answer or 200. */
  send(text: string | Buffer, headers?: Readonly<Record<string, string>>): void;
  ok(text: string | Buffer, headers?: Readonly<Record<string, string>>): void;
  /** Sends the head of the answer, as JSON of so many bytes. */
  head(bytes: number): void;
  /** Waits for this many milliseconds, or until the client has gone. */
  sleep(ms: number): Promise<void>;
}

/** Injected faults in the manner of Toxiproxy's toxics, and answers with missing or renamed members. */
const spoils = {
  status: ({ response, terms: { status = 500, headers, body = errorOf(status) } }) => {
    response.writeHead(status, { 'content-type': body.startsWith('<') ? 'text/html' : 'application/json', ...headers });
    response.end(body);
  },
  delay: async (it) => {
    await it.sleep(it.terms.ms ?? 1000);
    it.send(it.body);
  },
  drip: async (it) => {
    const bytes = Buffer.from(it.body);
    it.head(bytes.length);
    for (const byte of bytes) {
      it.response.write(Buffer.of(byte));
      await it.sleep(it.terms.ms ?? 300);
    }
    it.response.end();
  },
  hang: async (it) => {
    await it.sleep(it.terms.ms ?? 3_600_000);
    it.response.destroy();
  },
  reset: (it) => void it.response.socket?.resetAndDestroy(),
  truncate: (it) => breakOff(it, it.body, Buffer.byteLength(it.body) >> 1),
  'truncate-valid': (it) => breakOff(it, it.body + ' '.repeat(4096), Buffer.byteLength(it.body)),
  garbage: (it) => it.ok(`{"success":tru${it.body.slice(0, 40)}`),
  html: (it) => it.ok('<!doctype html><title>Maintenance</title>', { 'content-type': 'text/html; charset=utf-8' }),
  'gzip-bomb': (it) => it.ok(gzipBomb(), { 'content-encoding': 'gzip' }),
  huge: (it) => it.ok(`{"success":true,"padding":"${'x'.repeat(40 * 1024 * 1024)}"}`),
  redirect: ({ response, terms }) =>
    void response.writeHead(302, { location: 'http://127.0.0.1:9/elsewhere', ...terms.headers }).end(),
  bom: (it) => it.send(`\ufeff${it.body}`),
  'wrong-type': (it) => it.send(it.body, { 'content-type': 'text/plain' }),
  'success-false': (it) => it.ok('{"success":false,"error_code":"server_error","message":"Try again later."}'),
  'missing-array': (it) => it.ok('{"success":true}'),
  'invalid-utf8': (it) =>
    it.ok(Buffer.concat([Buffer.from(it.body.slice(0, -1)), Buffer.of(0xff, 0xfe), Buffer.from('}')])),
  'empty-list': (it) => it.ok(emptyList),
  without: (it) =>
    it.send(JSON.stringify(JSON.parse(it.body, (name, value) => (name === it.terms.member ? undefined : value)))),
  renamed: (it) => {
    const { member = 'id', as = 'product_id', rows = Infinity } = it.terms;
    otherList(it, (list, total) => [
      list.map(({ [member]: value, ...row }, index) => ({ [index < rows ? as : member]: value, ...row })),
      total,
    ]);
  },
  'fewer-rows': (it) => otherList(it, (list, total) => [list.slice(0, it.terms.rows), total]),
  'more-counted': (it) => otherList(it, (list, total) => [list, total + (it.terms.rows ?? Infinity)]),
} as const satisfies Readonly<Record<string, (it: Spoiling) => void | Promise<void>>>;

type SpoiltKind = keyof typeof spoils;

/** Each fault that replaces an answer; `any` draws among some of them each time. */
export const spoiltKinds = [...(Object.keys(spoils) as SpoiltKind[]), 'any'] as const;

export type FaultKind = SpoiltKind | 'any' | LieKind;

/**
 * A fault, the requests that it hits, and its time. Every lie that hits a request is applied. Of the other faults, the
 * first one that hits replaces the answer.
 */
export interface FaultRule extends FaultTerms {
  readonly kind: FaultKind;
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

/** The accepted values of each member of a fault. */
const members = { kind: oneOf(...lieKinds, ...spoiltKinds), ...terms };

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
  { kind, ...terms }: FaultRule,
  { status, body }: { status: number; body: string },
  sleep: Spoiling['sleep'],
): Promise<void> {
  const json = { 'content-type': 'application/json', ...terms.headers };
  const send = (text: string | Buffer, headers = {}) =>
    void response.writeHead(status, { ...json, ...headers }).end(text);
  const ok = (text: string | Buffer, headers = {}) => void response.writeHead(200, { ...json, ...headers }).end(text);
  const head = (bytes: number) => void response.writeHead(status, { ...json, 'content-length': String(bytes) });
  await spoils[kind as SpoiltKind]({ response, terms, body, send, ok, head, sleep });
}

/** Announces a text, sends as many bytes of it as `sent`, and breaks the connection. */
function breakOff(it: Spoiling, text: string, sent: number): void {
  const bytes = Buffer.from(text);
  it.head(bytes.length);
  it.response.write(bytes.subarray(0, sent), () => it.response.destroy());
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

type Row = Readonly<Record<string, unknown>>;

/** Sends the page of a list with other rows, or another total. */
function otherList(
  { send, body }: Spoiling,
  changed: (list: readonly Row[], total: number) => readonly [list: readonly Row[], total: number],
): void {
  const answer = JSON.parse(body) as Row & { pagination: { total: number } };
  const name = ['products', 'experiences', 'tags'].find((list) => list in answer) ?? 'products';
  const [list, total] = changed(answer[name] as Row[], answer.pagination.total);
  send(JSON.stringify({ ...answer, [name]: list, pagination: { ...answer.pagination, total } }));
}
