import { basename } from 'node:path';
import { isMembers, type Members, memberNames, parseExact } from '../kernel/values/exact-json.ts';
import type {
  Adapter,
  AdapterAnswer,
  AdapterRequest,
  AdapterSettings,
  ListAnswer,
  ListQuestion,
  Question,
  RefusalAnswer,
  RowAnswer,
} from './adapter.rules.ts';
import { type Http, keyPlaceholder, type ServiceRequest, type TransferOptions } from './http.ts';
import { count, flag, type MemberOutcome, unreadable } from './member.rules.ts';
import type { NamedAdapter } from './named-adapter.rules.ts';
import { type Failed, failed, type Outcome, type RefusedOutcome } from './outcome.ts';
import { exampleOf, line, refusal, withoutKey } from './refusal.ts';
import { elementsIn, members, membersIn, WrongShape } from './shapes.rules.ts';

/** A question, and the request that asks it. */
export interface Prepared {
  readonly kind: 'prepared';
  readonly question: Question;
  readonly request: ServiceRequest;
  /** Content to sign, in place of the token's placeholder; null if nothing is to be signed. */
  readonly sign: NonNullable<AdapterRequest['sign']> | null;
}

export interface SendOptions extends TransferOptions {
  /** Returns a signed token; absent: there is no key to sign with. */
  readonly sign?: (wanted: NonNullable<AdapterRequest['sign']>) => Promise<string>;
}

/** The rows of an answer, and the names of its members as an example for people. */
export type ReadRows = ListAnswer & { readonly members: string };

/** Content that an adapter reads from an answer that is not a refusal. */
export type ReadAnswer = Exclude<AdapterAnswer, RefusalAnswer>;

/** An answer before it is read. */
export interface CameText {
  readonly status: number;
  readonly text: string;
}

/** Error for something that an adapter must not do. It fails the record and nothing else. */
class AdapterFault extends Error {
  override readonly name = 'AdapterFault';
}

/** Stands for the signed token in headers and in the body of a request. */
const tokenPlaceholder = '{token}';

/** Headers that belong to catalogued or to the connection, and what to do instead. */
const notTheAdapters: ReadonlyMap<string, string> = new Map([
  ['user-agent', 'set service.user_agent'],
  ['host', 'it follows from service.base_url'],
  ...['accept-encoding', 'connection', 'content-length', 'expect', 'keep-alive', 'te', 'trailer'].map(own),
  ...['proxy-authorization', 'proxy-connection', 'transfer-encoding', 'upgrade'].map(own),
]);

function own(name: string): [string, string] {
  return [name, 'catalogued sends its own'];
}

/**
 * Asks the service questions through an adapter: builds requests, sends them, and reads answers. An adapter that throws or
 * returns something else than it may fails the one question that it was asked.
 */
export class ServiceAsker {
  readonly #http: Http;
  readonly #adapter: NamedAdapter;
  readonly #settings: AdapterSettings;
  readonly #key: { reveal(): string } | null;

  constructor(
    http: Http,
    adapter: NamedAdapter,
    { key, ...settings }: Omit<AdapterSettings, 'key' | 'token'> & { readonly key: { reveal(): string } | null },
  ) {
    this.#http = http;
    this.#adapter = adapter;
    this.#key = key;
    const placeholders = { key: key === null ? null : keyPlaceholder, token: tokenPlaceholder };
    this.#settings = frozenCopy({ ...settings, ...placeholders });
  }

  /** Part of the hash of each body that is read: another adapter reads an unchanged body again. */
  get tag(): string {
    return this.#adapter.hash === null ? '' : `${this.#adapter.hash.slice(-8)}/`;
  }

  /** Returns whether a page of a list may need the answer to the previous page. */
  get mayChainPages(): boolean {
    return this.#adapter.module.answer !== undefined;
  }

  /** The same, for the whole product list. */
  withoutFilters(): ServiceAsker {
    return new ServiceAsker(this.#http, this.#adapter, { ...this.#settings, select: {}, key: this.#key });
  }

  /** Returns the request that asks a question, or the failure of an adapter that has none. Sends nothing. */
  prepare(question: Question): Prepared | Failed {
    try {
      const { request = standard.request } = this.#adapter.module;
      const given = this.#call('request', question, () => request(question, this.#settings, standard));
      return this.#requestOf(question, given);
    } catch (error) {
      if (error instanceof AdapterFault) return failed('adapter', error.message);
      throw error;
    }
  }

  /** Returns the same request to a path that does not exist. */
  nowhere(question: Question): Prepared | Failed {
    const prepared = this.prepare(question);
    if (prepared.kind === 'failed') return prepared;
    const path = prepared.request.path.replace(/(?=\?|$)/, '-nowhere');
    return { ...prepared, request: { ...prepared.request, path } };
  }

  /** Sends a request, once. A refusal is in the words that the adapter reads. */
  async send({ question, request, sign }: Prepared, { sign: signer, ...options }: SendOptions): Promise<Outcome> {
    let asked = request;
    if (sign !== null) {
      if (signer === undefined) return noKey;
      asked = withToken(request, await signer(sign));
    }
    const outcome = await this.#http.ask(asked, { ...options, effect: isChange(question) ? 'change' : 'read' });
    return outcome.kind === 'refused-text' ? this.refusalOf(question, outcome) : outcome;
  }

  /**
   * Returns the rows of an answer to a list or to variants. Throws what `undecodable` knows: a `WrongShape`, an
   * `AdapterFault`, a `Refusal`, or what JSON.parse throws.
   */
  rows(question: Question, came: CameText): ReadRows {
    const body = parseExact(came.text);
    return { ...(this.#read(question, came.status, body) as ListAnswer), members: memberNames(body) };
  }

  /** The same for a question that one row answers; `parse` parses the text. */
  row(question: Question, came: CameText, parse: (text: string) => unknown = parseExact): RowAnswer {
    const body = isChange(question) ? parsedIfJson(came.text, parse) : parse(came.text);
    return this.#read(question, came.status, body) as RowAnswer;
  }

  /** Returns a refusal in the words that the adapter reads. Its status means what it means whatever they are. */
  refusalOf(question: Question, { status, text }: CameText): RefusedOutcome {
    const body = parsedIfJson(text, JSON.parse);
    try {
      const { refused } = this.#answer(question, status, body) as RefusalAnswer;
      return refusal(status, refused, this.#key);
    } catch (error) {
      if (!(error instanceof AdapterFault)) throw error;
      const usual = standard.answer(question, status, body, standard) as RefusalAnswer;
      const { message, ...outcome } = refusal(status, usual.refused, this.#key);
      return { ...outcome, message: `${message} (${error.message})` };
    }
  }

  /** Returns everything that an adapter reads of an answer, or the outcome of one that says no. */
  look(question: Question, came: CameText): ReadAnswer | RefusedOutcome {
    try {
      return this.#read(question, came.status, parsedIfJson(came.text, parseExact));
    } catch (error) {
      const outcome = this.undecodable(question, error, came.text);
      return outcome.kind === 'refused' ? outcome : { unusable: outcome.message };
    }
  }

  /** Returns the outcome of an answer that cannot be read; any other error is thrown again. */
  undecodable(question: Question, error: unknown, text: string): Failed | RefusedOutcome {
    const quoted = () => exampleOf(text, this.#key);
    if (error instanceof Refusal) return error.outcome;
    if (error instanceof AdapterFault) return { ...failed('adapter', error.message), example: quoted() };
    if (error instanceof WrongShape) {
      const where = this.#adapter.file === null ? '' : `${this.#name}, ${questionText(question)}: `;
      return { ...failed('wrong-shape', where + error.message), example: quoted() };
    }
    if (error instanceof SyntaxError)
      return failed('not-json', `the service answers with text that is no JSON: ${quoted()}`);
    // A body nested 200,000 levels deep parses, and overflows the stack when it is printed again.
    if (error instanceof RangeError) return failed('too-deep', 'the body is nested too deeply');
    throw error;
  }

  get #name(): string {
    return this.#adapter.file === null ? 'the built-in adapter' : basename(this.#adapter.file);
  }

  #read(question: Question, status: number, body: unknown): ListAnswer | RowAnswer {
    const answer = this.#answer(question, status, body);
    if ('unusable' in answer) throw new WrongShape(line(withoutKey(answer.unusable, this.#key), 300));
    if ('refused' in answer) throw new Refusal(refusal(answer.refused.status ?? status, answer.refused, this.#key));
    return 'row' in answer ? { ...answer, row: payloadOf(answer.row, body) } : answer;
  }

  #answer(question: Question, status: number, body: unknown): AdapterAnswer {
    const { answer = standard.answer } = this.#adapter.module;
    const given = this.#call('answer', question, () => answer(question, status, body, standard));
    const problem = answerProblem(question, status, given);
    if (problem !== null) throw this.#fault('answer', question, problem);
    return given as unknown as AdapterAnswer;
  }

  #call(name: keyof Adapter, question: Question, run: () => unknown): Members {
    let given: unknown;
    try {
      given = run();
    } catch (error) {
      // The service's doing: its body is nested too deeply.
      if (error instanceof RangeError && this.#adapter.file === null) throw error;
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      throw this.#fault(name, question, `throws ${line(withoutKey(text, this.#key), 160)}`);
    }
    if (isMembers(given) && typeof given.then === 'function') {
      // Nobody awaits it.
      Promise.resolve(given as unknown as Promise<unknown>).catch(() => undefined);
      throw this.#fault(name, question, 'returns a promise; expected a value: an adapter cannot wait');
    }
    if (!isMembers(given)) throw this.#fault(name, question, `returns ${kindOf(given)}; expected an object`);
    return given;
  }

  #requestOf(question: Question, given: Members): Prepared {
    const refuse = (problem: string) => this.#fault('request', question, problem);
    const { method = 'GET', path, query = {}, headers = {}, body = null, sign = null } = given;
    if (!methods.includes(method)) throw refuse(`returns method ${shown(method)}; expected ${methods.join(', ')}`);
    if (typeof path !== 'string' || !/^\/(?!\/)[\x21-\x7e]*$/.test(path) || path.includes('#'))
      throw refuse(`returns path ${shown(path)}; expected one below service.base_url, like /v2/products`);
    if (path.includes(keyPlaceholder) || (typeof body === 'string' && body.includes(keyPlaceholder)))
      throw refuse(
        `has the key in its ${path.includes(keyPlaceholder) ? 'path' : 'body'}; expected it in a header or in query`,
      );
    if (!isMembers(query) || !Object.values(query).flat().every(isQueryValue))
      throw refuse(`returns query ${shown(query)}; expected names with texts, numbers or lists of them`);
    if (!isMembers(headers)) throw refuse(`returns headers ${shown(headers)}; expected names with texts`);
    for (const [name, value] of Object.entries(headers)) {
      const instead = notTheAdapters.get(name.toLowerCase());
      if (instead !== undefined) throw refuse(`returns the header ${name}; expected it left out: ${instead}`);
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
        throw refuse(`returns the header ${shown(name)} with ${kindOf(value)}; expected text that a header can have`);
    }
    if (body !== null && typeof body !== 'string')
      throw refuse(`returns body ${kindOf(body)}; expected text, like JSON.stringify(…)`);
    if (body !== null && method === 'GET') throw refuse('returns a body with method GET; expected another method');
    if (
      sign !== null &&
      !(isMembers(sign) && isMembers(sign.payload) && algorithms.includes(sign.algorithm ?? 'RS256'))
    )
      throw refuse(`returns sign ${shown(sign)}; expected { payload, algorithm }, with ${algorithms.join(' or ')}`);
    return {
      kind: 'prepared',
      question,
      request: {
        method: method as ServiceRequest['method'],
        path,
        query: query as ServiceRequest['query'],
        headers: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
        ),
        body,
      },
      sign: sign as Prepared['sign'],
    };
  }

  #fault(name: keyof Adapter, question: Question, problem: string): AdapterFault {
    return new AdapterFault(`${this.#name}: ${name} for ${questionText(question)} ${problem}`);
  }
}

/** Ends the reading of an answer that says no in its body. */
class Refusal extends Error {
  readonly outcome: RefusedOutcome;

  constructor(outcome: RefusedOutcome) {
    super('the answer is a refusal');
    this.outcome = outcome;
  }
}

const methods: readonly unknown[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies ServiceRequest['method'][];
const algorithms: readonly unknown[] = ['RS256', 'PS256'];

/** There is no key for what has to be signed. */
export const noKey = failed(
  'no-signing-key',
  'there is no key to sign with: set signing.key_file, or signing.body: json if the service accepts that',
);

/** Describes a question for people: `products page 2 in nl`. */
function questionText(question: Question): string {
  if ('page' in question) return `${question.kind} page ${question.page} in ${question.language}`;
  if ('subscription_id' in question) return `${question.kind} ${question.subscription_id}`;
  const span = question.kind === 'availability' ? ` from ${question.from} to ${question.to}` : '';
  return `${question.kind} ${question.product_id}${span}`;
}

function isChange({ kind }: Question): boolean {
  return kind === 'subscribe' || kind === 'reactivate';
}

/** Returns what is wrong with the form of an answer; null: nothing. Its rows are the decoders' business. */
function answerProblem({ kind }: Question, status: number, given: Members): string | null {
  const wanted = hasRows(kind) ? 'rows' : 'row';
  const parts = ['rows', 'row', 'refused', 'unusable'].filter((name) => Object.hasOwn(given, name));
  const [part = ''] = parts;
  const value = given[part];
  if (parts.length !== 1)
    return `returns ${parts.join(' and ') || `members: ${memberNames(given)}`}; expected ${wanted}, refused or unusable`;
  if (status >= 400 && part !== 'refused') return `returns ${part} for status ${status}; expected refused`;
  if (part === 'refused') return refusedProblem(value);
  if (part === 'unusable') return typeof value === 'string' ? null : `returns unusable ${kindOf(value)}; expected text`;
  if (part !== wanted) return `returns ${part}; expected ${wanted}`;
  if (part === 'row') return isMembers(value) ? null : `returns row ${kindOf(value)}; expected an object`;
  if (!Array.isArray(value)) return `returns rows ${kindOf(value)}; expected a list`;
  const { next, total, page_size } = given;
  if (next != null && (typeof next !== 'string' || next === ''))
    return `returns next ${next === '' ? 'an empty text' : kindOf(next)}; expected text, null at the end, or nothing`;
  for (const [name, count] of Object.entries({ total, page_size }))
    if (count != null && !isNumeric(count)) return `returns ${name} ${kindOf(count)}; expected a number`;
  return null;
}

function refusedProblem(refused: unknown): string | null {
  if (!isMembers(refused)) return `returns refused ${kindOf(refused)}; expected an object`;
  const { code, message, status } = refused;
  for (const [name, value] of Object.entries({ code, message }))
    if (value != null && typeof value !== 'string') return `returns refused.${name} ${kindOf(value)}; expected text`;
  const good = status === undefined || (Number.isInteger(status) && Number(status) >= 400 && Number(status) < 600);
  return good ? null : `returns refused.status ${shown(status)}; expected a status from 400 to 599`;
}

/** Members of an answer that are about the answer itself. */
const besidePayload = new Set(['success', 'api_version', 'pagination', 'message']);

/**
 * Returns the payload of an answer: its row without the members that are about the answer itself. Where the row is the
 * answer, or was made of its members, these stand in both.
 */
export function payloadOf(row: Members, body: unknown): Members {
  if (!isMembers(body)) return row;
  const isPayload = ([name, value]: [string, unknown]) => !besidePayload.has(name) || body[name] !== value;
  const own = Object.entries(row).filter(isPayload);
  return own.length === Object.keys(row).length ? row : Object.fromEntries(own);
}

function withToken(request: ServiceRequest, token: string): ServiceRequest {
  const filled = (text: string) => text.replaceAll(tokenPlaceholder, token);
  return {
    ...request,
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, filled(value)])),
    body: request.body === null ? null : filled(request.body),
  };
}

function parsedIfJson(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function isQueryValue(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
}

function isNumeric(value: unknown): boolean {
  return typeof value === 'number' || JSON.isRawJSON(value);
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(line(value, 80)) : kindOf(value);
}

function frozenCopy<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  const copy = Array.isArray(value)
    ? value.map(frozenCopy)
    : Object.fromEntries(Object.entries(value).map(([name, each]) => [name, frozenCopy(each)]));
  return Object.freeze(copy) as Value;
}

/**
 * The adapter that is built in: the service as docs/service.md describes it, with the names, paths and places that
 * `service.profile` configures.
 */
export const standard: Adapter = { request, answer };

type Query = NonNullable<AdapterRequest['query']>;

function request(question: Question, settings: AdapterSettings): AdapterRequest {
  const { paths, parameters } = settings.profile;
  const get = (path: string | null, query: Query = {}) => withKey({ path: found(path, question), query }, settings);
  switch (question.kind) {
    case 'products':
      return get(paths.products, {
        ...settings.select,
        ...edition(question, settings),
        ...paged(question, settings),
        ...inOrder(question, settings),
      });
    case 'experiences':
      return get(paths.experiences, { ...edition(question, settings), ...paged(question, settings) });
    case 'tags':
      return get(paths.tags, { [parameters.language]: question.language, ...paged(question, settings) });
    case 'product':
      return get(paths.product, edition(question, settings));
    case 'checkout_information':
    case 'variants':
      return get(paths[question.kind], { [parameters.language]: question.language });
    case 'availability':
      return get(paths.availability, {
        ...edition(question, settings),
        [parameters.from]: question.from,
        [parameters.to]: question.to,
      });
    case 'subscription':
      return get(paths.subscription);
    case 'subscribe': {
      const { subscription_type, entity_ids, change_types, callback_url } = question;
      const ids = entity_ids === null ? {} : { entity_ids };
      const payload = { subscription_type, ...ids, change_types, callback_url };
      return { ...get(paths.subscription), method: 'PUT', ...signed(payload, settings, get(paths.subscription)) };
    }
    case 'reactivate': {
      const payload = question.callback_url === null ? {} : { callback_url: question.callback_url };
      return { ...get(paths.reactivate), method: 'POST', ...signed(payload, settings, get(paths.reactivate)) };
    }
  }
}

function answer(question: Question, status: number, body: unknown): AdapterAnswer {
  if (status >= 400) return { refused: refusalIn(status, body) };
  try {
    return read(question, body);
  } catch (error) {
    if (error instanceof WrongShape) return { unusable: error.message };
    throw error;
  }
}

function read({ kind }: Question, body: unknown): AdapterAnswer {
  switch (kind) {
    case 'products':
    case 'experiences':
    case 'tags':
      return list(answered(body), kind);
    case 'product':
      return { row: membersIn(answered(body), 'product') };
    case 'checkout_information':
      return { row: answered(body) };
    case 'variants':
      return variants(answered(body));
    case 'availability': {
      const { capped_at: covers_to, ...row } = answered(body);
      return { row, covers_to };
    }
    case 'subscription':
    case 'subscribe':
    case 'reactivate':
      return { row: subscriptionIn(body) };
  }
}

/** Returns an answer's top level: an object whose `success` is true, or missing. */
function answered(value: unknown): Members {
  const body = members(value, 'the answer');
  const success = flag.read(body.success);
  if (success === false || success === unreadable)
    throw new WrongShape(`the answer says success: ${JSON.stringify(body.success)}`);
  return body;
}

function list(body: Members, name: string): ListAnswer {
  const rows = elementsIn(body, name) as ListAnswer['rows'];
  const { total, page_size } = isMembers(body.pagination) ? body.pagination : {};
  return { rows, total: known(count.read(total)), page_size: known(count.read(page_size)) };
}

/** Returns the variants of a product, with the names of their groups. */
function variants(body: Members): ListAnswer {
  return { rows: elementsIn(body, 'variants') as ListAnswer['rows'], groups: body.groups };
}

/** A size that cannot be read is none: then the rows show where a list ends. */
function known(size: MemberOutcome<number>): number | null {
  return size === unreadable ? null : size;
}

/** The shape of these answers is not specified, and one that is no JSON may have done what it was asked. */
function subscriptionIn(body: unknown): Members {
  if (!isMembers(body)) return {};
  const { subscription, data } = answered(body);
  return [subscription, data].find(isMembers) ?? body;
}

/** Reads the three generations of error bodies: `error_code`, `error`, or only a status. */
function refusalIn(status: number, body: unknown): RefusalAnswer['refused'] {
  const { error_code, error, message, field_errors } = isMembers(body) ? body : {};
  const code = [error_code, error].find((value) => typeof value === 'string' && value !== '');
  const said = typeof message === 'string' ? message : `the service answered ${status}`;
  return { code: typeof code === 'string' ? code : null, message: said + fieldErrors(field_errors) };
}

/** `validation_error` says of each field what is wrong with it. */
function fieldErrors(errors: unknown): string {
  if (!isMembers(errors)) return '';
  const fields = Object.entries(errors)
    .slice(0, 10)
    .map(([field, error]) => `${field}: ${typeof error === 'string' ? error : 'refused'}`);
  return fields.length === 0 ? '' : ` (${fields.join('; ')})`;
}

/** Returns a path of the profile with the ids of the question in it. */
function found(path: string | null, question: Question): string {
  if (path === null) throw new Error(`service.profile has no path for ${question.kind}`);
  if ('product_id' in question) return path.replaceAll('{product_id}', String(question.product_id));
  return 'subscription_id' in question
    ? path.replaceAll('{subscription_id}', encodeURIComponent(question.subscription_id))
    : path;
}

function edition({ language, currency }: { language: string; currency: string }, { profile }: AdapterSettings): Query {
  const { parameters } = profile;
  return { [parameters.language]: language, [parameters.currency]: currency };
}

function paged({ page, page_size }: ListQuestion, { profile }: AdapterSettings): Query {
  const { parameters, first_page } = profile;
  return { [parameters.page]: page - 1 + first_page, [parameters.page_size]: page_size };
}

/** A filter of the same name is the operator's own order. */
function inOrder({ ordered }: ListQuestion, { profile, select }: AdapterSettings): Query {
  const [name = '', value = ''] = profile.list_order?.split('=') ?? [];
  return ordered && name !== '' && !(name in select) ? { [name]: value } : {};
}

/** Adds the key: to the query if there is a parameter for it, else to the header if there is one, else not at all. */
function withKey(asked: { path: string; query: Query }, { key, profile }: AdapterSettings): AdapterRequest {
  const { header, scheme, parameter } = profile.authorization;
  if (key === null) return asked;
  if (parameter !== null) return { ...asked, query: { ...asked.query, [parameter]: key } };
  return header === null ? asked : { ...asked, headers: { [header]: scheme === null ? key : `${scheme} ${key}` } };
}

/** Returns the body of a request as plain JSON, or as a token whose payload is the object itself. */
function signed(payload: object, { signing, content_type, token }: AdapterSettings, asked: AdapterRequest) {
  const headers = { ...asked.headers, 'content-type': content_type };
  return signing === 'json' ? { headers, body: JSON.stringify(payload) } : { headers, body: token, sign: { payload } };
}

/** Returns whether a question is answered by rows: one for a list, or for the variants of a product. */
function hasRows(kind: Question['kind']): kind is ListQuestion['kind'] | 'variants' {
  return kind === 'products' || kind === 'experiences' || kind === 'tags' || kind === 'variants';
}
