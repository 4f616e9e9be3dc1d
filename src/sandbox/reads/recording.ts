import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, dayMs } from '../../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import type { CatalogueEntry } from '../world/catalogue.ts';
import { recorded } from '../world/catalogue-file.ts';
import type { SandboxAnswer } from './answer.ts';

type Members = Readonly<Record<string, unknown>>;

/** An answer of a real service as stored by `catalogued probe --record`. */
export interface RecordedAnswer {
  readonly resource: string;
  readonly product_id: number | null;
  readonly recorded_on: string;
  readonly status: number;
  readonly body: unknown;
}

export interface Recording {
  /** The products of the recorded lists and reads, which are served as recorded. */
  readonly entries: readonly CatalogueEntry[];
  /**
   * Returns the recorded answer to a question. Null: none was recorded, or the question is for the product list, which
   * is built from the entries.
   */
  answer(question: {
    readonly resource: string | undefined;
    readonly id: number | null;
    readonly part: string | undefined;
    readonly query: URLSearchParams;
  }): SandboxAnswer | null;
}

/** The names of product reads that are recorded under another name than the last part of their path. */
const recordedAs: Readonly<Record<string, string>> = { 'product-variants': 'variants' };

/** Serves recorded answers. Their dates move with the clock, so that recorded dates of today stay today. */
export function createRecording(answers: readonly RecordedAnswer[], clock: Clock): Recording {
  const rows = answers.flatMap(({ resource, status, body }) =>
    status !== 200 ? [] : resource === 'products' ? list(member(body, 'products')) : list([member(body, 'product')]),
  );
  const entries = rows.map(recorded).filter((entry) => entry !== null);
  const today = () => Math.floor(clock.now() / dayMs);

  function print({ status, body, recorded_on }: RecordedAnswer): SandboxAnswer {
    const later = today() - Date.parse(recorded_on) / dayMs;
    return { status, body: JSON.stringify(moved(body, later)) };
  }

  /** Returns the requested dates, from all recorded windows together. */
  function availability(of: readonly RecordedAnswer[], query: URLSearchParams): SandboxAnswer | null {
    const [first] = of.filter(({ status }) => status === 200);
    if (first === undefined) return of[0] === undefined ? null : print(of[0]);
    const days = new Map<string, Members>();
    for (const each of of)
      for (const day of list(member(JSON.parse(print(each).body), 'dates'))) days.set(String(day.date), day);
    const [from, to] = [query.get('start_date') ?? '', query.get('end_date') ?? '9999'];
    const dates = [...days.values()].filter(({ date }) => String(date) >= from && String(date) <= to);
    const { body } = print(first);
    return { status: 200, body: JSON.stringify({ ...(JSON.parse(body) as Members), dates }) };
  }

  return {
    // The first entry is in the primary language and currency.
    entries: entries.filter(({ id }, index) => entries.findIndex((each) => each.id === id) === index),
    answer: ({ resource, id, part, query }) => {
      if (resource === 'experiences') {
        const own = answers.filter((each) => each.resource === 'experiences');
        const page = Number(query.get('page') ?? 1);
        const [first] = own;
        if (first === undefined) return null;
        return print(page === 1 || first.status !== 200 ? first : { ...first, body: emptied(first.body) });
      }
      if (resource !== 'products' || id === null) return null;
      const name = part === undefined ? 'product' : (recordedAs[part] ?? part);
      const of = answers.filter((each) => each.resource === name);
      // A read that exists for no recorded product does not exist at all.
      if (name === 'product' && of.length > 0 && of.every(({ status }) => status === 404 || status === 405))
        return print(of[0] as RecordedAnswer);
      const own = of.filter(({ product_id }) => product_id === id);
      if (name === 'availability') return availability(own, query);
      return own[0] === undefined ? null : print(own[0]);
    },
  };
}

function emptied(body: unknown): unknown {
  return { ...(body as Members), experiences: [] };
}

/** Returns the same answer with all dates moved by a number of days. */
function moved(value: unknown, days: number): unknown {
  if (Array.isArray(value)) return value.map((each) => moved(each, days));
  if (typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value))
    return new Date(Date.parse(value) + days * dayMs).toISOString().slice(0, 10);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, moved(inner, days)]));
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Members)[name] : undefined;
}

function list(value: unknown): Members[] {
  return Array.isArray(value)
    ? value.filter((each): each is Members => typeof each === 'object' && each !== null && !Array.isArray(each))
    : [];
}

/**
 * Reads the files written by `catalogued probe --record`, one per answer, in order. Throws (65) if the directory has
 * none.
 */
export function readRecording(directory: string): RecordedAnswer[] {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  } catch (cause) {
    throw refused(`there is no recording in ${directory}`, cause);
  }
  const answers = names.sort().map((name) => readAnswer(directory, name));
  if (!answers.some(({ resource, status }) => resource === 'products' && status === 200))
    throw refused(`${directory} has no recorded product list`);
  return answers;
}

function readAnswer(directory: string, name: string): RecordedAnswer {
  let json: Partial<RecordedAnswer> | null;
  try {
    json = JSON.parse(readFileSync(join(directory, name), 'utf8')) as Partial<RecordedAnswer> | null;
  } catch (cause) {
    throw refused(`${join(directory, name)} is not JSON`, cause);
  }
  const { resource, status, recorded_on } = json ?? {};
  if (typeof resource !== 'string' || typeof status !== 'number' || Number.isNaN(Date.parse(recorded_on ?? '')))
    throw refused(`${join(directory, name)} is no recorded answer: it lacks resource, status or recorded_on (a date)`);
  return json as RecordedAnswer;
}

function refused(message: string, cause?: unknown): CataloguedError {
  return new CataloguedError('recording', message, {
    exitCode: exitCodes.data,
    hint: 'catalogued probe --record DIR makes one',
    ...(cause === undefined ? {} : { cause }),
  });
}
