import type { ListQuestion } from '../domain/service/adapter.ts';
import type { Page } from './decode-product.ts';
import type { Reading } from './reading.ts';

type List = Omit<ListQuestion, 'page' | 'after'>;

/**
 * Finds pages of lists by their number, also where only the answer to a page says how the next one is asked for. Remembers
 * what each answer said last; after a start, and after a refusal, it reads its way from the first page to the one asked
 * for.
 */
export class ListPages {
  /** `numbered`: every page can be asked for by its number. */
  readonly #kind: 'numbered' | 'perhaps chained';
  /** By list, at the index of a page: `after` in its question. Null: the pages of the list have numbers. */
  readonly #chains = new Map<string, (string | null)[] | null>();

  constructor(kind: 'numbered' | 'perhaps chained') {
    this.#kind = kind;
  }

  async read<Entry>(
    list: List,
    page: number,
    ask: (question: ListQuestion) => Promise<Reading<Page<Entry>>>,
  ): Promise<Reading<Page<Entry>>> {
    const name = Object.values(list).join(' ');
    for (;;) {
      const chain = this.#kind === 'numbered' ? null : this.#chains.get(name);
      if (chain === null) return ask({ ...list, page, after: null });
      const at = Math.min(page, (chain?.length ?? 2) - 1);
      const reading = await ask({ ...list, page: at, after: chain?.[at] ?? null });
      if (reading.kind === 'refused') this.#chains.delete(name);
      if (reading.kind !== 'read') return reading;
      const { next } = reading.value;
      if (at === 1 && next === undefined) this.#chains.set(name, null);
      else this.#note(name, at, next ?? null);
      if (at === page) return reading;
      if (next == null && this.#chains.get(name) !== null)
        return { ...reading, value: { ...reading.value, entries: [], rejected: [] } };
    }
  }

  #note(name: string, page: number, next: string | null): void {
    const chain = this.#chains.get(name) ?? [null, null];
    if (next === null) chain.length = page + 1;
    else chain[page + 1] = next;
    this.#chains.set(name, chain);
  }
}
