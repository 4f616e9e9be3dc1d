import { memberNames } from '../../src/kernel/values/exact-json.ts';
import type { AdapterProfile, ListQuestion, Question, RowAnswer } from '../../src/service/adapter.rules.ts';
import type { Http } from '../../src/service/http.ts';
import { builtIn } from '../../src/service/named-adapter.rules.ts';
import { payloadOf, type ReadRows, ServiceAsker, standard } from '../../src/service/service-asker.ts';
import { WrongShape } from '../../src/service/shapes.rules.ts';
import { configOf } from '../config/check.ts';

/** The profile with its defaults. */
export const defaultProfile: AdapterProfile = configOf({ service: { base_url: 'http://127.0.0.1' } }).service.profile;

/** Asks a service over a client of HTTP, through the built-in adapter. */
export function askerOver(
  http: Http,
  {
    key = null,
    signing = 'jwt',
    content_type = 'application/json',
    profile = {},
  }: {
    key?: { reveal(): string } | null;
    signing?: 'jwt' | 'json';
    content_type?: string;
    profile?: Partial<AdapterProfile>;
  } = {},
): ServiceAsker {
  const settings = { key, signing, content_type, select: {}, profile: { ...defaultProfile, ...profile } };
  return new ServiceAsker(http, builtIn, settings);
}

/** What the built-in adapter reads of an answer; throws why it cannot. */
function read(kind: Question['kind'], body: unknown): object {
  const answer = standard.answer({ kind } as Question, 200, body, standard);
  if ('unusable' in answer) throw new WrongShape(answer.unusable);
  return answer;
}

export function rowsAnswered(kind: ListQuestion['kind'] | 'variants', body: unknown): ReadRows {
  return { ...(read(kind, body) as ReadRows), members: memberNames(body) };
}

export function rowAnswered(kind: 'product' | 'checkout_information' | 'availability', body: unknown): RowAnswer {
  const answer = read(kind, body) as RowAnswer;
  return { ...answer, row: payloadOf(answer.row, body) };
}
