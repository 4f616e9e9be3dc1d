import { counted } from '../../kernel/format.ts';
import { daysBetween } from '../../kernel/time/venue.ts';
import type { Members } from '../../kernel/values/exact-json.ts';
import type { ListQuestion } from '../../service/adapter.rules.ts';
import {
  type Assumption,
  asBelieved,
  cannotTell,
  distinct,
  type Exchange,
  ending,
  exchange,
  type Judgement,
  otherwise,
  type ProbeEvidence,
  type ProfilePart,
  rowIn,
  rowsIn,
  rowsOf,
  unusable,
} from './assumption.rules.ts';

/** The assumptions about reads of one product. */
export const readAssumptions: readonly Assumption[] = [
  {
    name: 'GET product',
    believed: 'it exists, although the specification does not list it',
    judge: (evidence) =>
      optional(
        evidence,
        ['product', 'product 2', 'product 3', 'product 4', 'product 5'],
        'the list decides about a product',
        {
          paths: { product: null },
        },
      ),
  },
  {
    name: 'GET experiences',
    believed: 'it exists, although the specification does not list it',
    judge: (evidence) =>
      optional(evidence, ['experiences'], 'no experiences; products say their venue', { paths: { experiences: null } }),
  },
  {
    name: 'GET tags',
    believed: 'it exists, although the specification does not list it',
    judge: (evidence) => optional(evidence, ['tags'], 'tags have ids and no names', { paths: { tags: null } }),
  },
  {
    name: 'GET product-variants',
    believed: 'it is at this path, which the specification does not show',
    judge: (evidence) =>
      optional(
        evidence,
        ['variants'],
        'variants come from availability alone; if they are elsewhere, paths.variants takes a query too',
        { paths: { variants: null } },
      ),
  },
  {
    name: 'GET checkout_information',
    believed: 'it is at the path of the specification',
    judge: (evidence) =>
      optional(evidence, ['checkout information'], 'check service.profile.paths: no product is complete without it', {
        paths: { checkout_information: null },
      }),
  },
  { name: 'GET availability', believed: 'it is at the path of the specification', judge: availability },
  { name: 'GET subscription', believed: 'it exists: 404 for an id that nobody has', judge: subscription },
  { name: 'unknown product', believed: '404 (or 410)', judge: unknownProduct },
  { name: 'dates asked for', believed: 'an answer has the dates asked for, and no other', judge: dates },
  { name: 'order of dates', believed: 'ascending, each once', judge: dateOrder },
  { name: 'days in one answer', believed: '31, and capped_at names the last', judge: days },
  { name: 'a closed product', believed: 'sales_enabled false and no dates, or 400 checkout_disabled', judge: closed },
  { name: 'currency', believed: 'the one that is asked for', judge: currency },
  { name: 'language', believed: 'the one that is asked for', judge: language },
];

/** Judges a read that may not exist. Several products are read, because a single one may be gone. */
function optional(evidence: ProbeEvidence, names: readonly string[], means: string, profile: ProfilePart): Judgement {
  const asked = names.map((name) => exchange(evidence, name)).filter((each) => each !== null);
  const answered = asked.find(({ failure }) => failure === null);
  if (answered !== undefined) return asBelieved(`${answered.status}`);
  if (asked.length === 0) return cannotTell('not asked');
  const seen = distinct(asked.map(ending)).join(', ');
  // The list was answered, so the key is accepted.
  if (asked.every(({ status }) => status === 401 || status === 403))
    return otherwise(`${seen}: not for this key`, `ask the service for access; until then ${means}`, profile);
  if (!asked.every(({ status }) => status === 404 || status === 405)) return cannotTell(seen);
  return otherwise(`${seen}${asked.length > 1 ? ` for ${asked.length} products` : ''}: not offered`, means, profile);
}

function availability(evidence: ProbeEvidence): Judgement {
  const asked = exchange(evidence, 'near dates');
  if (asked === null) return cannotTell('not asked');
  if (asked.failure === null) return asBelieved(`${asked.status}`);
  return asked.status !== null && asked.status < 500 && asked.status !== 429
    ? otherwise(ending(asked), 'check service.profile.paths.availability: without it no date is known')
    : cannotTell(ending(asked));
}

function subscription(evidence: ProbeEvidence): Judgement {
  const asked = exchange(evidence, 'subscription');
  if (asked === null) return cannotTell('not asked');
  const { status, failure } = asked;
  if (status === 405)
    return otherwise('405: not offered', 'subscriptions are put and the answer is believed; none can be compared');
  if (status !== 404) return cannotTell(ending(asked));
  // A path that does not exist at all answers the same, so "none yet" and "not offered" look alike.
  const nowhere = exchange(evidence, 'nowhere');
  const same = nowhere !== null && nowhere.failure?.message === failure?.message && nowhere.status === status;
  return same
    ? otherwise(
        '404, in the words of a path that does not exist: not offered',
        'subscriptions are put and the answer is believed; none can be compared',
      )
    : asBelieved(ending(asked));
}

function unknownProduct(evidence: ProbeEvidence): Judgement {
  const asked = exchange(evidence, 'unknown product');
  if (asked === null) return cannotTell('not asked');
  if (asked.status === 404 || asked.status === 410) return asBelieved(ending(asked));
  if (asked.failure === null || (asked.status !== null && asked.status < 500 && asked.status !== 429))
    return otherwise(
      asked.failure === null ? `${asked.status}, an answer` : ending(asked),
      'a product is withdrawn only where the list lacks it: its own read proves nothing',
    );
  return cannotTell(ending(asked));
}

interface Dated {
  readonly from: string;
  readonly to: string;
  readonly dates: readonly string[];
  readonly covers_to: unknown;
}

function dated(evidence: ProbeEvidence, name: string): Dated | null {
  const asked = exchange(evidence, name)?.question;
  const answer = rowIn(evidence, name);
  if (asked?.kind !== 'availability' || answer === null) return null;
  const { from, to } = asked;
  const dates = rowsOf(answer.row.dates).map(({ date }) => String(date));
  return { from, to, dates, covers_to: answer.covers_to };
}

function dates(evidence: ProbeEvidence): Judgement {
  const windows = ['dates', 'near dates'].map((name) => dated(evidence, name)).filter((each) => each !== null);
  const telling = windows.find(({ from, to, dates: all }) => all.some((date) => date < from || date > to));
  const [asked] = windows;
  if (telling === undefined) {
    if (asked === undefined || asked.dates.length === 0)
      return cannotTell(asked === undefined ? 'availability was not answered' : 'no date had tickets');
    return asBelieved(`${counted(asked.dates.length, 'date')}, all within ${asked.from} to ${asked.to}`);
  }
  const sorted = telling.dates.toSorted();
  const [first = '', last = ''] = [sorted[0], sorted.at(-1)];
  const within = telling.dates.some((date) => date >= telling.from && date <= telling.to);
  const seen = `${telling.from} to ${telling.to} was answered with ${first} to ${last}`;
  if (!within)
    return otherwise(
      `${seen}: other dates`,
      'such an answer is a failed read: check service.profile.parameters.from and .to',
    );
  const weeks = daysBetween(first, telling.from) < 7 && daysBetween(telling.to, last) < 7;
  return otherwise(
    `${seen}: ${weeks ? 'rounded, to weeks perhaps' : 'the requested dates are ignored'}`,
    'what lies outside is dropped, and only from the first to the last date of an answer counts as answered',
  );
}

function isRounded(evidence: ProbeEvidence): boolean {
  const asked = dated(evidence, 'dates');
  return asked?.dates.some((date) => date < asked.from || date > asked.to) ?? false;
}

function dateOrder(evidence: ProbeEvidence): Judgement {
  const answers = ['dates', 'near dates', 'many dates']
    .map((name) => dated(evidence, name)?.dates ?? [])
    .filter((all) => all.length > 1);
  if (answers.length === 0) return cannotTell('no answer had two dates');
  const twice = answers.reduce((sum, all) => sum + all.length - new Set(all).size, 0);
  const shuffled = answers.some((all) => all.some((date, index) => index > 0 && date < (all[index - 1] ?? '')));
  if (twice === 0 && !shuffled) return asBelieved('ascending, each once');
  return otherwise(
    [...(shuffled ? ['in no order'] : []), ...(twice > 0 ? [`${twice} of them twice`] : [])].join(', '),
    'read as if each came once and in order',
  );
}

function days(evidence: ProbeEvidence): Judgement {
  const many = dated(evidence, 'many dates');
  const asked = exchange(evidence, 'many dates');
  if (many === null)
    return asked !== null && asked.status === 400
      ? otherwise(`a longer range is refused: ${ending(asked)}`, 'ranges are asked for in parts anyway')
      : cannotTell('availability was not answered');
  const { covers_to: capped_at } = many;
  const sorted = many.dates.toSorted();
  const [earliest = many.from, last] = [sorted[0], sorted.at(-1)];
  // If the requested dates are ignored, the answer begins on another date.
  if (last !== undefined && (earliest > many.to || (earliest < many.from && typeof capped_at !== 'string')))
    return cannotTell('the requested dates are ignored');
  const [from = earliest] = [earliest, many.from].sort();
  if (typeof capped_at === 'string') {
    const covered = daysBetween(from, capped_at) + 1;
    const seen = `capped at ${capped_at}: ${covered} days`;
    if (covered === 31) return asBelieved(seen);
    // After rounding to weeks, up to six of the days lie before the requested ones, perhaps sold out.
    if (covered >= 25 && isRounded(evidence)) return asBelieved(`${seen} and what was rounded`);
    const fewer = covered >= 1 && covered < evidence.days_per_request;
    return otherwise(seen, 'what lies behind is asked for again', fewer ? { days_per_request: covered } : undefined);
  }
  if (last === undefined) return cannotTell('no date had tickets');
  const covered = daysBetween(from, last) + 1;
  return covered > 31
    ? otherwise(`${covered} days and more, no capped_at`, 'fewer calls could do: the profile asks for at most 31')
    : otherwise(
        `dates end after ${covered} days, and capped_at says nothing`,
        'what lies behind such an end is asked for once more, a call for each end',
        { days_per_request: Math.max(1, Math.min(covered, evidence.days_per_request)) },
      );
}

function closed(evidence: ProbeEvidence): Judgement {
  const asked = exchange(evidence, 'closed product');
  if (asked === null) return cannotTell('no product of the first pages is closed');
  if (asked.failure !== null)
    return asked.status === 400 && asked.failure.code === 'checkout_disabled'
      ? asBelieved('400 checkout_disabled')
      : otherwise(ending(asked), 'a failed read: its dates stay as they were');
  const row = rowIn(evidence, 'closed product')?.row;
  const seen = `sales_enabled ${JSON.stringify(row?.sales_enabled)}, ${counted(rowsOf(row?.dates).length, 'date')}`;
  return row?.sales_enabled === false ? asBelieved(seen) : otherwise(seen, 'the list and the product decide');
}

function currency(evidence: ProbeEvidence): Judgement {
  const said = (row: Members) => String(row.currency).toUpperCase();
  return choice(evidence, { other: 'currency', made_up: 'made-up currency', said, primary: evidence.currency });
}

function language(evidence: ProbeEvidence): Judgement {
  const said = (row: Members) => String(row.language).toLowerCase();
  const judged = choice(evidence, { other: 'language', made_up: 'made-up language', said, primary: evidence.language });
  const asked = listQuestion(evidence, 'language')?.language ?? '';
  const primary = rowsIn(evidence, 'list').every((row) => said(row) === evidence.language);
  // The probe makes up a second language where one is configured: nothing follows from that for the mirror.
  if (judged.verdict !== 'otherwise' || (primary && !evidence.languages.includes(asked))) return judged;
  return unusable(
    judged.seen,
    `${judged.means}. A language in a header takes an adapter (docs/service.md); until then configure one language`,
  );
}

function choice(
  evidence: ProbeEvidence,
  {
    other,
    made_up,
    said,
    primary,
  }: { other: 'currency' | 'language'; made_up: string; said: (row: Members) => string; primary: string },
): Judgement {
  const first = distinct(rowsIn(evidence, 'list').map(said));
  const asked = exchange(evidence, other);
  const wanted = listQuestion(evidence, other)?.[other] ?? '';
  const rows = distinct(rowsIn(evidence, other).map(said));
  const invented = exchange(evidence, made_up);
  const seen = `${primary}: ${first.join(', ') || 'nothing'}; ${wanted}: ${rows.join(', ') || ends(asked)}; a made-up one ${fateOf(invented)}`;
  if (first.length === 0) return cannotTell(seen);
  if (first.join() !== primary)
    return otherwise(
      seen,
      `service.profile.parameters.${other} may be called otherwise: other ${other}s are not believed`,
    );
  if (rows.length > 0 && rows.join() !== wanted)
    return otherwise(seen, `${wanted} is answered in another: check service.profile.parameters.${other}`);
  if (rows.length === 0) return cannotTell(seen);
  const key = other === 'currency' ? 'currencies' : 'languages';
  return asBelieved(seen, invented?.failure === null ? `a mistake in service.${key} is not refused` : '');
}

function listQuestion(evidence: ProbeEvidence, name: string): ListQuestion | null {
  const question = exchange(evidence, name)?.question;
  return question !== undefined && 'page' in question ? question : null;
}

function fateOf(invented: Exchange | null): string {
  if (invented?.failure === null) return 'is answered';
  return invented !== null && (invented.status ?? 0) >= 400
    ? `is refused with ${invented.status}`
    : `has no answer: ${ends(invented)}`;
}

function ends(asked: Exchange | null): string {
  return asked === null ? 'not asked' : ending(asked);
}
