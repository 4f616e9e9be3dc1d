import { configFromObject } from '../../src/config/load.ts';
import type { Adapter, AdapterProfile, Question, RowAnswer } from '../../src/domain/service/adapter.ts';
import { memberNames } from '../../src/domain/values/members.ts';
import { type ReadRows, ServiceAsker } from '../../src/upstream/adapter/service-asker.ts';
import { standard } from '../../src/upstream/adapter/standard.ts';
import type { Http } from '../../src/upstream/http.ts';
import { WrongShape } from '../../src/upstream/shape.ts';

/** The profile with its defaults. */
export const defaultProfile: AdapterProfile = configFromObject({ service: { base_url: 'http://127.0.0.1' } }).service
  .profile;

/** Asks a service over a client of HTTP; the built-in adapter is asked what `module` leaves out. */
export function askerOver(
  http: Http,
  {
    key = null,
    module = {},
    signing = 'jwt',
    profile = {},
  }: {
    key?: { reveal(): string } | null;
    module?: Partial<Adapter>;
    signing?: 'jwt' | 'json';
    profile?: Partial<AdapterProfile>;
  } = {},
): ServiceAsker {
  const named = Object.keys(module).length === 0 ? null : '/etc/catalogued/adapter.mjs';
  const adapter = { file: named, hash: named === null ? null : 'sha256:012345678901', module };
  return new ServiceAsker(http, adapter, { key, signing, select: {}, profile: { ...defaultProfile, ...profile } });
}

/** What the built-in adapter reads of an answer; throws why it cannot. */
function read(kind: Question['kind'], body: unknown): object {
  const answer = standard.answer({ kind } as Question, 200, body, standard);
  if ('unusable' in answer) throw new WrongShape(answer.unusable);
  return answer;
}

export function rowsAnswered(kind: 'products' | 'experiences' | 'variants', body: unknown): ReadRows {
  return { ...(read(kind, body) as ReadRows), members: memberNames(body) };
}

export function rowAnswered(kind: 'product' | 'checkout_information' | 'availability', body: unknown): RowAnswer {
  return read(kind, body) as RowAnswer;
}
