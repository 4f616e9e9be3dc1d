import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { hrtime } from 'node:process';

/** What a reader process is told, as JSON in the file that is its argument. */
export interface ReadingJob {
  readonly path: string;
  /** It reads until there is a file of this name. */
  readonly stop: string;
  /** Each asks for two or more dates of one window, which one answer of the service filled. */
  readonly questions: readonly (readonly [product_id: number, from: string, to: string, days: number])[];
  /** The last date whose slots a `window` reads, by its first date. */
  readonly few: Readonly<Record<string, string>>;
  /** What is read in turn; `window` is calendar and slots, two statements. */
  readonly turns: readonly ('product' | 'slots' | 'calendar' | 'window')[];
  readonly sql: Readonly<Record<'product' | 'slots' | 'calendar', string>>;
  /** Around the two statements of a `window`, and before it is tried again. */
  readonly begin: string;
  readonly commit: string;
  readonly again: string;
}

/** What it prints at the end; before, now and then, how many reads it has made. Times by the reader's own clock. */
export interface ReadingResult {
  readonly reads: number;
  readonly inconsistent: number;
  /** What was wrong first; null: nothing. */
  readonly first: string | null;
  readonly retries: number;
  readonly errors: readonly string[];
  /** The longest that any read slept: not the time for which it ran, or wanted to and others had the processor. */
  readonly blocked_ms: number;
  readonly times_us: readonly number[];
}

/** State numbers, as they stand in a row; null: the row has none. */
type Numbers = readonly (number | null)[];
type CalendarRow = readonly [day: number, sale: string, ...numbers: Numbers];

/** The three questions of a storefront, however they are answered. */
export interface Answering {
  product(product_id: number): readonly [title: unknown, state: unknown] | undefined;
  slots(product_id: number, from: string, to: string): readonly Numbers[];
  calendar(product_id: number, from: string, to: string): readonly CalendarRow[];
  together<Result>(read: () => Result): Result;
  /** Before a read is tried again. */
  recover(): void;
}

/** Reads as hard as it can, judges every answer, and prints what came of it. */
export function readHard(open: (job: ReadingJob) => Answering): void {
  const job = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as ReadingJob;
  const answering = open(job);
  const schedule = openSync('/proc/self/schedstat', 'r');
  const result = { reads: 0, inconsistent: 0, first: null as string | null, retries: 0, blocked_ms: 0 };
  const [errors, times_us]: [string[], number[]] = [[], []];
  for (let stop = false; !stop; ) {
    const busy = busyTime(schedule);
    const start = hrtime.bigint();
    try {
      const wrong = once(answering, job, result);
      if (wrong !== null) result.inconsistent += 1;
      result.first ??= wrong;
    } catch (error) {
      errors.push(String(error));
    }
    const end = hrtime.bigint();
    const took = Number(end - start);
    times_us.push(took / 1000);
    result.reads += 1;
    if (took > 1e6) result.blocked_ms = Math.max(result.blocked_ms, (took - (busyTime(schedule) - busy)) / 1e6);
    if (result.reads % 256 === 0) {
      process.stdout.write(`${result.reads}\n`);
      stop = existsSync(job.stop);
    }
  }
  closeSync(schedule);
  process.stdout.write(`${JSON.stringify({ ...result, errors: errors.slice(0, 5), times_us })}\n`);
}

function once(answering: Answering, job: ReadingJob, counts: { reads: number; retries: number }): string | null {
  try {
    return read(answering, job, counts.reads);
  } catch {
    counts.retries += 1;
    answering.recover();
    return read(answering, job, counts.reads);
  }
}

/** One read: null, or what is inconsistent in it. */
function read(answering: Answering, job: ReadingJob, turn: number): string | null {
  const question = job.questions[Math.floor(turn / 8) % job.questions.length];
  if (question === undefined) throw new Error('nothing is asked');
  const [product, from, to, count] = question;
  switch (job.turns[turn % job.turns.length]) {
    case 'product': {
      const [title, state] = answering.product(product) ?? [];
      return title === `State ${state}` ? null : `title ${title}, price ${state}`;
    }
    case 'slots':
      return judgeSlots(answering.slots(product, from, from), null);
    case 'calendar':
      return judgeCalendar(answering.calendar(product, from, to), count).wrong;
    default:
      return answering.together(() => {
        const { wrong, state } = judgeCalendar(answering.calendar(product, from, to), count);
        const slots = answering.slots(product, from, job.few[from] ?? from);
        return wrong ?? judgeSlots(slots, state);
      });
  }
}

function judgeCalendar(days: readonly CalendarRow[], count: number): { wrong: string | null; state: number | null } {
  const [state = null, ...others] = statesIn(days.map(([, , ...numbers]) => numbers));
  if (state === null || others.length > 0) return { wrong: `states in one calendar: ${[state, ...others]}`, state };
  for (const [day, sale] of days)
    if ((sale === 'sold_out') !== ((day + state) % 5 === 0))
      return { wrong: `day ${day} is ${sale} in state ${state}`, state };
  return { wrong: days.length === count ? null : `${days.length} of ${count} days`, state };
}

function judgeSlots(slots: readonly Numbers[], state: number | null): string | null {
  const states = statesIn([...slots, [state]]);
  return states.length <= 1 ? null : `states in one read of slots: ${states}`;
}

function statesIn(rows: readonly Numbers[]): number[] {
  const states = new Set<number>();
  for (const numbers of rows) for (const number of numbers) if (number !== null) states.add(number);
  return [...states];
}

/** Nanoseconds that this thread ran or wanted to run: the rest of a read's time it slept. */
function busyTime(schedule: number): number {
  const text = Buffer.alloc(100);
  readSync(schedule, text, 0, 100, 0);
  const [ran, waited] = text.toString().split(' ');
  return Number(ran) + Number(waited);
}
