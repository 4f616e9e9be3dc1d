import { counted } from '../../format.ts';
import type { Members } from '../values/members.ts';
import {
  type Assumption,
  answerTo,
  asBelieved,
  cannotTell,
  distinct,
  type Exchange,
  exchange,
  type Judgement,
  membersOf,
  otherwise,
  type ProbeEvidence,
  rowsOf,
  share,
} from './assumption.ts';

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
