import type { Said, ServiceLog } from '../history.ts';

/*
 * Two logs and the one pass over them: what was so at the service, and what a reader of the mirror saw. Nothing here knows what
 * the service answered, or whether a case is made of lies or of truths: what is shown and was never so is an error of one kind,
 * what was so and is over is one of the other.
 */

/** Records are counted subject by subject, one of each for a product. */
const subjects = [
  'near dates', 'near price', 'near times', 'far dates', 'far price', 'status', 'texts', 'variants', 'types', 'zone',
] as const; // biome-ignore format: words
export type Subject = (typeof subjects)[number];

/** Name of a fact in both logs. */
export const factOf = (subject: Subject, product_id: number) => `${subject} of ${product_id}`;

/** Values of records with nothing to show: no record of them can be taken away. */
export const nothing: ReadonlySet<string> = new Set(['0', 'null', '[null,null]']);

/** What was shown of a subject and was never so. */
interface Wrong {
  /** Hours, of all its records together. */
  readonly hours: number;
  /** The most records at one time, and how many had something to show. */
  readonly at_once: number;
  readonly able: number;
}

/** Hours until changes of a subject were shown that came about at one time, in ascending order; those that never were: Infinity. */
interface Late {
  readonly at: number;
  readonly hours: readonly number[];
}

export type Errors = Readonly<Record<Subject, { readonly wrong: Wrong; readonly late: readonly Late[] }>>;

interface Logs {
  readonly truth: ServiceLog;
  readonly shown: ServiceLog;
  readonly product_ids: readonly number[];
  readonly to: number;
}

const hour = 3_600_000;

export function judge(logs: Logs): Errors {
  const { product_ids } = logs;
  return Object.fromEntries(
    subjects.map((subject) => {
      const facts = product_ids.map((id) => factOf(subject, id));
      return [subject, { wrong: wrongOf(facts, logs), late: lateOf(facts, logs) }];
    }),
  ) as unknown as Errors;
}

function wrongOf(facts: readonly string[], { truth, shown, to }: Logs): Wrong {
  const steps: { readonly at: number; readonly by: 1 | -1 }[] = [];
  let ms = 0;
  for (const fact of facts)
    for (const { from, until } of lies(truth.of(fact), shown.of(fact), to)) {
      ms += until - from;
      steps.push({ at: from, by: 1 }, { at: until, by: -1 });
    }
  // Of one instant, what ends ends first.
  steps.sort((one, other) => one.at - other.at || one.by - other.by);
  let [count, at_once] = [0, 0];
  for (const { by } of steps) {
    count += by;
    at_once = Math.max(at_once, count);
  }
  const able = facts.filter((fact) => !nothing.has(truth.of(fact)[0]?.value ?? 'null')).length;
  return { hours: ms / hour, at_once, able };
}

/** Returns the times at which a value was shown that had never been so until then. */
function* lies(truth: readonly Said[], shown: readonly Said[], to: number): Generator<{ from: number; until: number }> {
  for (const [index, { from, value }] of shown.entries()) {
    const until = Math.min(shown[index + 1]?.from ?? to, truth.find((each) => each.value === value)?.from ?? to);
    if (until > from && value !== 'null') yield { from, until };
  }
}

function lateOf(facts: readonly string[], { truth, shown, to }: Logs): Late[] {
  const changes = facts.flatMap((fact) => {
    const values = truth.of(fact);
    return values.flatMap(({ from, value }, index) => {
      const over = values[index + 1]?.from ?? to;
      const seen = shownFrom(shown.of(fact), value, from);
      // The first value is no change where it is shown already, nor is a value that was over before anybody had to show it.
      const isOld = index === 0 && (seen === from || nothing.has(value));
      if (value === 'null' || isOld || (over < to && seen >= over)) return [];
      return [{ at: from, hours: (seen - from) / hour }];
    });
  });
  return [...Map.groupBy(changes, ({ at }) => at)].map(([at, each]) => ({
    at,
    hours: each.map(({ hours }) => hours).sort((one, other) => one - other),
  }));
}

/** Returns since when a value is shown, at the earliest from an instant on. */
function shownFrom(shown: readonly Said[], value: string, from: number): number {
  if (shown.findLast((each) => each.from <= from)?.value === value) return from;
  return shown.find((each) => each.from > from && each.value === value)?.from ?? Number.POSITIVE_INFINITY;
}

const median = (sorted: readonly number[]) => sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;

/** What a case allows: the longest that changes take at the median, and hours in which something wrong is shown, of a product. */
export interface Bounds {
  readonly late: Partial<Readonly<Record<Subject, number>>>;
  readonly wrong: Partial<Readonly<Record<Subject, number>>>;
  /** Subjects of the rule that must be reported at some time, because what the service says is shown. */
  readonly tells?: readonly string[];
}

/** Returns how many of so many records may be shown wrong at one time. */
export function limitOf(able: number): number {
  return Math.max(1, Math.min(Math.floor(able / 2), Math.max(5, Math.floor(able / 10))));
}

/**
 * Returns how many facts of a subject may be shown wrong at one time. A window of 31 days is one record, also where it shows none
 * of the near ones; and what is off sale shows no dates, and is counted apart from them. A product has two windows of far dates,
 * and all of those that are shown wrong may be the first ones.
 */
function limitsOf(subject: Subject, errors: Errors): number {
  const { able } = errors[subject].wrong;
  const dated = subject === 'near dates' || subject === 'far dates' || subject === 'near times';
  const windows = (subject.startsWith('far') ? 2 : 1) * Math.max(able, errors.status.wrong.able);
  return dated ? limitOf(windows) + Math.min(limitOf(windows), errors.status.wrong.at_once) : limitOf(windows);
}

/** Errors beyond what a case allows, in words. */
export interface Verdict {
  /** Subjects of the rule that had to be reported, and were not. */
  readonly silent: readonly string[];
  /** Lies that were shown. */
  readonly shown: readonly string[];
  /** Truths that came late. */
  readonly late: readonly string[];
  /** Records and hours a product by which lies were shown beyond their limit, of the subject with the most. */
  readonly beyond: { readonly records: number; readonly hours: number };
  /** Hours until truths were shown, at the median of those that took longest; Infinity: never. */
  readonly delay: number;
}

export function verdictOf(errors: Errors, bounds: Bounds, told: ReadonlySet<string> = new Set()): Verdict {
  const [shown, late]: [string[], string[]] = [[], []];
  let [records, over, delay] = [0, 0, 0];
  for (const subject of subjects) {
    const { wrong, late: changes } = errors[subject];
    const most = limitsOf(subject, errors);
    if (wrong.at_once > most)
      shown.push(`${subject}: ${wrong.at_once} of ${wrong.able} were shown wrong at one time, at most ${most} may be`);
    const each = wrong.hours / wrong.able;
    const hours = bounds.wrong[subject] ?? 0;
    [records, over] = [Math.max(records, wrong.at_once - most), Math.max(over, wrong.able === 0 ? 0 : each - hours)];
    if (each > hours) shown.push(`${subject}: wrong for ${each.toFixed(2)} h a product, at most ${hours.toFixed(2)}`);
    const allowed = bounds.late[subject];
    if (allowed === undefined) continue;
    for (const { at, hours: sorted } of changes) {
      delay = Math.max(delay, median(sorted));
      if (median(sorted) > allowed)
        late.push(
          `${subject}: ${sorted.length} changes of ${new Date(at).toISOString().slice(5, 16)} were shown after ${median(sorted).toFixed(1)} h at the median, at most ${allowed}`,
        );
    }
  }
  const silent = (bounds.tells ?? []).filter((subject) => !told.has(subject));
  return { shown, late, silent, beyond: { records, hours: over }, delay };
}
