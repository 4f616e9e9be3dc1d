import { counted } from '../../format.ts';
import { identifier } from '../values/identifier.ts';
import { type Members, memberNames } from '../values/members.ts';
import {
  type Assumption,
  answerTo,
  asBelieved,
  cannotTell,
  type Exchange,
  ending,
  exchange,
  type Judgement,
  listIn,
  numberOf,
  otherwise,
  type ProbeEvidence,
  rowsIn,
  share,
  unusable,
} from './assumption.ts';

/** The assumptions about the product list and its rows. */
export const listAssumptions: readonly Assumption[] = [
  { name: 'shape of the list', believed: 'rows under products, each with an id', judge: listShape },
  { name: 'first page', believed: 'page 1', judge: firstPage },
  { name: 'page size', believed: 'as many rows as asked for, up to 100', judge: pageSize },
  { name: 'list total', believed: 'as many rows as the list counts', judge: listTotal },
  { name: 'list order', believed: 'the same order in two walks, a few rows drift', judge: listOrder },
  { name: 'end of the list', believed: 'a page beyond the last is empty', judge: listEnd },
  { name: 'texts', believed: 'plain text, titles of at most 87 characters', judge: texts },
];

function listed(evidence: ProbeEvidence): Members[] {
  return ['list', 'page 2'].flatMap((name) => rowsIn(evidence, name));
}

/** Hint for a service that no key of the profile describes. */
const notFollowed =
  'no key describes this: write an adapter (docs/service.md, service.adapter). Nothing is filled until then';

function listShape(evidence: ProbeEvidence): Judgement {
  const read = exchange(evidence, 'list')?.read ?? null;
  if (read === null) return cannotTell('the list was not answered');
  if ('unusable' in read) return unusable(read.unusable, notFollowed);
  const rows = rowsIn(evidence, 'list');
  const [unnamed] = rows.filter(({ id }) => identifier(id) === null);
  if (rows.length === 0) return cannotTell('no rows');
  if (unnamed === undefined) return asBelieved(`${counted(rows.length, 'row')} with an id`);
  const without = rows.filter(({ id }) => identifier(id) === null).length;
  const seen = `${share(without, rows.length, 'rows')} without an id; members of one: ${memberNames(unnamed)}; expected: id`;
  return without === rows.length ? unusable(seen, notFollowed) : otherwise(seen, 'such rows are left out');
}

const noRows = 'the list has no row that can be read';

function firstPage(evidence: ProbeEvidence): Judgement {
  const { first_page } = evidence;
  if (first_page !== 1) return asBelieved(`page ${first_page}, as configured`);
  const before = exchange(evidence, 'page 0');
  if (before === null) return cannotTell('not asked');
  if (before.failure !== null)
    return before.status === null ? cannotTell(ending(before)) : asBelieved('page 0 is refused');
  const listed = new Set(rowsIn(evidence, 'list').map(({ id }) => String(id)));
  const rows = rowsIn(evidence, 'page 0');
  if (listed.size === 0) return cannotTell(noRows);
  const unknown = rows.filter(({ id }) => !listed.has(String(id))).length;
  if (unknown <= rows.length / 2) return asBelieved(rows.length === 0 ? 'page 0 is empty' : 'page 0 is page 1');
  return otherwise(
    `page 0 has ${counted(unknown, 'row')} that page 1 lacks`,
    'they are missing from the mirror until the profile has the key',
    {
      first_page: 0,
    },
  );
}

function pageSize(evidence: ProbeEvidence): Judgement {
  const list = listIn(evidence, 'list');
  if (list === null) return cannotTell('the list was not answered');
  const rows = rowsIn(evidence, 'list').length;
  const total = numberOf(list.total);
  const seen = `${counted(rows, 'row')} of ${evidence.page_size} asked for${total === null ? '' : `, ${total} in all`}`;
  if (rows === evidence.page_size) return asBelieved(seen);
  const size = numberOf(list.page_size) ?? rows;
  const more = rowsIn(evidence, 'page 2').length > 0;
  if (rows < evidence.page_size && (size >= evidence.page_size || !more))
    return cannotTell(seen, 'the whole list is shorter than a page');
  return otherwise(seen, `a walk takes ${Math.ceil(evidence.page_size / Math.max(1, rows))} times the calls`, {
    page_size: Math.max(1, Math.min(100, rows)),
  });
}

function listTotal(evidence: ProbeEvidence): Judgement {
  const first = listIn(evidence, 'list');
  if (first === null) return cannotTell('the list was not answered');
  const pages = ['list', 'page 2'].map((name) => rowsIn(evidence, name));
  const rows = pages.flat();
  const total = numberOf(first.total);
  if (total === null) return cannotTell(`${counted(rows.length, 'row')} on two pages, and no total`);
  const missing = missingRows(evidence, pages, total);
  if (missing === null) return cannotTell(`${rows.length} of ${counted(total, 'row')} on two pages`);
  const ids = rows.flatMap(({ id }) => (id === undefined ? [] : [String(id)]));
  const repeated = ids.length - new Set(ids).size;
  if (missing.rows <= repeated)
    return asBelieved(`${counted(total, 'row')}${repeated > 0 ? `, ${repeated} of them drifted` : ''}`);
  return otherwise(
    missing.seen,
    'a list with fewer rows than it counts is incomplete, and the mirror is not filled by it; if the total counts what the list leaves out, set service.profile.list_total: ignore',
  );
}

/**
 * Returns how many rows are missing from the first two pages, or else from the last one; null if that cannot be
 * determined.
 */
function missingRows(
  evidence: ProbeEvidence,
  [first = [], second = []]: readonly (readonly Members[])[],
  total: number,
): { readonly rows: number; readonly seen: string } | null {
  const named = numberOf(listIn(evidence, 'list')?.page_size);
  const size = Math.min(evidence.page_size, named ?? evidence.page_size);
  const [there, wanted] = [first.length + second.length, Math.min(total, 2 * size)];
  // Pages are smaller than they state.
  if (first.length < Math.min(size, total) && second.length === first.length) return null;
  if (there < wanted)
    return { rows: wanted - there, seen: `${there} of ${counted(total, 'row')}, and page 2 is not full` };
  if (total <= 2 * size) return { rows: 0, seen: '' };
  const last = exchange(evidence, 'last page');
  if (last === null || last.failure !== null) return null;
  const page = pageOf(last);
  const [rows, due] = [rowsIn(evidence, 'last page').length, Math.min(size, total - (page - 1) * size)];
  return { rows: due - rows, seen: `${rows} of ${counted(due, 'row')} on page ${page}, the last of ${total} rows` };
}

function listOrder(evidence: ProbeEvidence): Judgement {
  const [first, again, second] = ['list', 'list again', 'page 2'].map((name) =>
    rowsIn(evidence, name).flatMap(({ id }) => (id === undefined ? [] : [String(id)])),
  ) as [string[], string[], string[]];
  if (first.length < 2 || again.length < 2) return cannotTell('the first page was not answered twice');
  if (second.length > 0 && second.every((id, index) => first[index] === id))
    return unusable(
      `page 2 is page 1 once more; members: ${memberNames(answerTo(evidence, 'page 2'))}`,
      'check service.profile.parameters.page and first_page. Pages by offset or cursor take an adapter (docs/service.md). If there is one: it returned no `next`, or its request for `after` was answered with the same page. Nothing is filled until then',
    );
  const moved = first.filter((id, index) => again[index] !== id).length;
  const repeated = second.filter((id) => first.includes(id)).length;
  const seen = `${share(moved, first.length, 'rows')} elsewhere in the second walk${repeated > 0 ? `, ${repeated} again on page 2` : ''}`;
  if (moved > first.length / 2)
    return otherwise(seen, 'a product counts as missing only after two complete walks and a read of its own');
  return asBelieved(seen);
}

function pageOf({ question }: Exchange): number {
  return 'page' in question ? question.page : 1;
}

function listEnd(evidence: ProbeEvidence): Judgement {
  const beyond = exchange(evidence, 'beyond the end');
  if (beyond === null) return cannotTell('not asked');
  const rows = rowsIn(evidence, 'beyond the end').length;
  const page = pageOf(beyond) - 1 + evidence.first_page;
  if (beyond.failure !== null)
    return beyond.status !== null && beyond.status >= 400 && beyond.status < 500
      ? otherwise(`page ${page} is refused: ${ending(beyond)}`, 'a walk ends at the total that the list names')
      : cannotTell(ending(beyond));
  if (rows === 0)
    return rowsIn(evidence, 'list').length === 0 ? cannotTell(noRows) : asBelieved(`page ${page} is empty`);
  return otherwise(
    `page ${page} has ${counted(rows, 'row')}`,
    'the list does not end by itself: a walk ends where pages bring nothing new, and nothing is withdrawn by it',
  );
}

/** Matches control characters that a terminal obeys, characters that reverse the direction of a line, and scripts. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const hostile = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|<script/i;

function texts(evidence: ProbeEvidence): Judgement {
  const rows = listed(evidence);
  if (rows.length === 0) return cannotTell('no rows');
  const wrong = rows.filter((row) =>
    Object.values(row).some((value) => typeof value === 'string' && hostile.test(value)),
  );
  const longest = Math.max(...rows.map(({ title }) => String(title).length));
  const seen = `titles of at most ${longest} characters`;
  if (wrong.length > 0)
    return otherwise(
      `${share(wrong.length, rows.length, 'products')} with control characters or scripts; ${seen}`,
      'kept as sent and made harmless where catalogued prints it: a storefront must escape it too',
    );
  return longest > 500 ? otherwise(seen, 'kept as sent: a storefront must bear it') : asBelieved(seen);
}
