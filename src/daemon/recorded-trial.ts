import type { LoadedConfig } from '../config/load.ts';
import { addDays } from '../kernel/time/venue.ts';
import {
  asBelieved,
  type Exchange,
  memberAssumptions,
  otherwise,
  type ProbeEvidence,
} from '../says/probe/assumption.rules.ts';
import type { ProbeReport } from '../says/probe/probe.ask.ts';
import type { Question } from '../service/adapter.rules.ts';
import { tryOn } from '../service/adapter-trial.ts';
import type { Http } from '../service/http.ts';
import { ServiceAsker } from '../service/service-asker.ts';

/** An answer that `catalogued probe --record` has kept. */
interface KeptAnswer {
  readonly resource: string;
  readonly product_id: number | null;
  readonly recorded_on: string;
  readonly status: number;
  readonly body: unknown;
  /** Absent: the answer was kept by hand. */
  readonly question?: unknown;
}

/** The key is not read, and nothing is sent. */
const anyKey = { reveal: () => 'key' };
const noNetwork: Http = {
  ask: () => Promise.reject(new Error('nothing is sent')),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/** Has the configured adapter read recorded answers, as the daemon would. Asks nobody, and stores nothing. */
export async function tryAdapter({ config, adapter }: LoadedConfig, kept: readonly KeptAnswer[]): Promise<ProbeReport> {
  const { service, signing } = config;
  const asker = new ServiceAsker(noNetwork, adapter(), {
    key: anyKey,
    profile: service.profile,
    select: {},
    signing: signing.body,
    content_type: signing.content_type,
  });
  const exchanges: Exchange[] = [];
  const findings: ProbeReport['findings'][number][] = [];
  let failed: string | null = null;
  for (const answer of kept) {
    const question = questionOf(answer, service);
    if (question === null) continue;
    const { status, body } = answer;
    const came = { status, text: JSON.stringify(body) };
    const { result, says } = await tryOn(asker, question, came);
    const name = question.kind;
    const judged =
      result === 'failed'
        ? otherwise(says, 'the record fails, and what was mirrored stays')
        : result === 'partly'
          ? otherwise(says, 'these rows are left out')
          : asBelieved(says);
    findings.push({ name, believed: 'an answer that can be read', profile: null, ...judged });
    if (result === 'failed') failed ??= `${name}: ${says}`;
    const looked = status >= 400 ? null : asker.look(question, came);
    const read = looked === null || 'kind' in looked ? null : looked;
    exchanges.push({ name, question, status, headers: {}, json: body, read, failure: null, sent_at: 0, took_ms: 0 });
  }
  const evidence = { exchanges, attempts: exchanges } as unknown as ProbeEvidence;
  for (const { name, believed, judge } of memberAssumptions)
    findings.push({ name, believed, profile: null, ...judge(evidence) });
  return {
    unusable: failed === null ? null : { code: 'not-followed', message: failed },
    cut_short: null,
    calls: 0,
    findings,
    profile: {},
    recorded: [],
  };
}

/** Returns the question that was asked, or the first of its kind where the recording does not say; null: none was. */
function questionOf(
  { resource, product_id, recorded_on, question }: KeptAnswer,
  { languages, currencies }: LoadedConfig['config']['service'],
): Question | null {
  if (resource === 'nowhere') return null;
  if (question !== undefined) return question as Question;
  const [language, currency] = [languages[0], currencies[0]];
  switch (resource) {
    case 'products':
    case 'experiences':
    case 'tags':
      return { kind: resource, page: 1, after: null, page_size: 100, language, currency, ordered: false };
    case 'product':
      return product_id === null ? null : { kind: resource, product_id, language, currency };
    case 'checkout_information':
    case 'variants':
      return product_id === null ? null : { kind: resource, product_id, language };
    case 'availability': {
      const [from, to] = [recorded_on, addDays(recorded_on, 30)];
      return product_id === null ? null : { kind: resource, product_id, language, currency, from, to };
    }
    default:
      return null;
  }
}
