import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Clock } from '../clock.ts';
import { pick } from './random.ts';

/** What can go wrong with an answer, after Toxiproxy's toxics. */
export type FaultKind =
  | 'status' | 'delay' | 'drip' | 'hang' | 'reset' | 'truncate' | 'truncate-valid' | 'garbage' | 'html' | 'gzip-bomb' | 'huge'
  | 'redirect' | 'bom' | 'wrong-type' | 'success-false' | 'missing-array' | 'invalid-utf8' | 'empty-list' | 'without'
  | 'renamed' | 'fewer-rows' | 'more-counted'; // biome-ignore format: words

/** A fault and the requests it hits: the first rule that matches is the one. */
export interface FaultRule {
  readonly kind: FaultKind;
  /** A regular expression over path and query; none: every request. */
  readonly path?: string;
  /** None: any. */
  readonly method?: 'GET' | 'PUT' | 'POST';
  /** Whether a PUT or POST takes effect although its answer is spoilt; unless it is given, all but `status` do. */
  readonly effect?: 'taken' | 'none';
  /** Skips this many matching requests first. */
  readonly after?: number;
  /** Hits this many, then never again. */
  readonly times?: number;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For `without`: the name that no object of the answer has. For `renamed`: that no row of a list has. */
  readonly member?: string;
  /** For `renamed`: what the member is called instead. */
  readonly as?: string;
  /**
   * How many rows of the page it is about: for `renamed` the first ones (none given: all), for `fewer-rows` those that are
   * left, for `more-counted` those that the list counts beside its own.
   */
  readonly rows?: number;
  /** For `delay`, and for each byte of `drip`. */
  readonly ms?: number;
}

/** Decides what happens to each request. */
export interface FaultScript {
  add(rule: FaultRule): void;
  clear(): void;
  /** Returns the fault for a request, or null. */
  next(method: string, url: string): FaultRule | null;
}

/** What a share of all answers is hit by, where no rule says otherwise. */
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

export function faultScript(share: () => number, chance: () => number): FaultScript {
  let rules: { rule: FaultRule; met: number }[] = [];
  return {
    add: (rule) => {
      rules.push({ rule, met: 0 });
    },
    clear: () => {
      rules = [];
    },
    next: (asked, url) => {
      for (const each of rules) {
        const { path, method = asked, after = 0, times = Number.POSITIVE_INFINITY } = each.rule;
        if (method !== asked) continue;
        if (path !== undefined && !new RegExp(path).test(url)) continue;
        each.met += 1;
        if (each.met > after && each.met <= after + times) return each.rule;
      }
      return share() > 0 && chance() < share() ? pick(mix, chance()) : null;
    },
  };
}

/** Tells whether a request does what it asks for although it is answered with a fault. */
export function takesEffect({ kind, effect = kind === 'status' ? 'none' : 'taken' }: FaultRule): boolean {
  return effect === 'taken';
}

const emptyList = '{"success":true,"products":[],"experiences":[],"pagination":{"page":1,"page_size":100,"total":0}}';

/** Sends a spoilt answer in the place of `body`. Resolves when it is out, or when the client has gone. */
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
        fault.body ?? '{"success":false,"error_code":"server_error","message":"Something broke."}',
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
      return send(200, { ...json, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(20 * 1024 * 1024, 0x20)));
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

function without(body: string, member: string | undefined): string {
  return JSON.stringify(JSON.parse(body, (name, value) => (name === member ? undefined : value)));
}

/** Returns the page of a list as a service sends it whose list and count do not agree, or whose rows are named otherwise. */
function otherList(
  body: string,
  { kind, member = 'id', as = 'product_id', rows = Number.POSITIVE_INFINITY }: FaultRule,
): string {
  const answer = JSON.parse(body) as Record<string, unknown> & { pagination: { total: number } };
  const name = 'products' in answer ? 'products' : 'experiences';
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
