/*
 * Finds changes that many records make at once. A single such change is ordinary: a few dates are sold out, a price
 * rises, a text is edited. Only the whole shows a fault: nearly all prices move by one ratio, all zones become the same.
 */

/** Share that the last changes of one kind must reach among the answers since the first of them. */
export interface WaveRule {
  /**
   * Denominator of the share. `answers`: all answers. `changes`: those with a change of the same member. `amount`: the sum
   * of what was shown, of which the answers since then show less than `share`.
   */
  readonly of: 'answers' | 'changes' | 'amount';
  readonly share: number;
}

/** An answer about a record, as far as a wave counts it. */
export interface CountedAnswer<Item> {
  /** Identifies the record: of several changes of one the last counts, as where a window is answered in parts. */
  readonly record: string;
  /** Marks of the change: answers with the same one are alike. Empty: the answer changes nothing that counts. */
  readonly marks: readonly (WaveRule & { readonly name: string })[];
  /** True: the member differs from what is shown. */
  readonly changed: boolean;
  /** How much is shown, and how much the answer has. */
  readonly shown: number;
  readonly said: number;
  readonly at: number;
  readonly item: Item;
}

interface Counts {
  readonly answers: number;
  readonly changes: number;
  readonly shown: number;
  readonly said: number;
}

/** A change, with the counts before it. */
interface Marked<Item> {
  readonly record: string;
  readonly item: Item;
  readonly at: number;
  readonly before: Counts;
}

/** A wave as it is stored. The mark that changed last stands last. */
export interface WaveState<Item> {
  readonly counts: Counts;
  readonly marked: readonly (readonly [mark: string, changes: Marked<Item>[]])[];
}

/** Fewer records than this could make a claim by chance, so they are never a wave. */
export const leastAble = 20;

/** Changes longer ago do not belong to the same wave. */
const waveMs = 24 * 3_600_000;

/** Most kinds of change that are followed at one time; those without a recent change are dropped first. */
const mostMarks = 2000;

/**
 * The changes of one member, over all records. It remembers only the last few changes of each kind, so that an answer
 * costs no more in a large catalogue than in a small one.
 */
export class Wave<Item> {
  #counts: Counts;
  /** The last changes of each mark, the newest last. The mark that changed last stands last. */
  readonly #marked: Map<string, Marked<Item>[]>;
  #isUnsaved = false;

  constructor(
    { counts, marked }: WaveState<Item> = { counts: { answers: 0, changes: 0, shown: 0, said: 0 }, marked: [] },
  ) {
    this.#counts = counts;
    this.#marked = new Map(marked);
  }

  /** True: it has changes that `saved` has not returned yet. */
  get isUnsaved(): boolean {
    return this.#isUnsaved;
  }

  /** Returns its state, without the changes that belong to no wave any more. */
  saved(now: number): WaveState<Item> {
    this.#isUnsaved = false;
    const marked = [...this.#marked].filter(([, changes]) => changes.some(({ at }) => Math.abs(now - at) <= waveMs));
    return { counts: this.#counts, marked };
  }

  /**
   * Counts an answer. Returns the mark of a wave that it belongs to, and the earlier changes of that wave; null: it belongs
   * to none. `limit`: how many records that change alike are a wave.
   */
  note(
    { record, marks, changed, shown, said, at, item }: CountedAnswer<Item>,
    limit: () => number,
  ): { readonly mark: string; readonly earlier: readonly Item[] } | null {
    const before = this.#counts;
    this.#counts = {
      answers: before.answers + 1,
      changes: before.changes + (changed ? 1 : 0),
      shown: before.shown + shown,
      said: before.said + said,
    };
    if (marks.length === 0) return null;
    this.#isUnsaved = true;
    const most = limit();
    for (const { name } of marks) {
      const last = (this.#marked.get(name) ?? []).filter(
        (each) => Math.abs(at - each.at) <= waveMs && each.record !== record,
      );
      last.push({ record, item, at, before });
      last.splice(0, last.length - most);
      this.#marked.delete(name);
      this.#marked.set(name, last);
    }
    for (const mark of this.#marked.keys()) {
      if (this.#marked.size <= mostMarks) break;
      this.#marked.delete(mark);
    }
    const found = marks.find((each) => this.#isWave(each, most));
    if (found === undefined) return null;
    const earlier = (this.#marked.get(found.name) ?? []).slice(0, -1).map((each) => each.item);
    return { mark: found.name, earlier };
  }

  #isWave({ name, of, share }: CountedAnswer<Item>['marks'][number], most: number): boolean {
    const last = this.#marked.get(name) ?? [];
    const [first] = last;
    if (first === undefined || last.length < most) return false;
    const since = (count: keyof Counts) => this.#counts[count] - first.before[count];
    if (of === 'amount') return since('said') < share * since('shown');
    return last.length >= share * since(of);
  }
}
