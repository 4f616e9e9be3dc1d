import type {
  Adapter,
  AdapterAnswer,
  AdapterRequest,
  AdapterSettings,
  ListAnswer,
  ListQuestion,
  Question,
  RefusalAnswer,
} from '../../domain/service/adapter.ts';
import { count, flag, type MemberOutcome, unreadable } from '../../domain/service/member.ts';
import { elementsIn, members, membersIn, WrongShape } from '../../domain/service/shape.ts';
import { isMembers, type Members } from '../../domain/values/members.ts';

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
