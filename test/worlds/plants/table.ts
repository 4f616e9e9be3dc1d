/** A line of the sources as it was before something was mended. */
export interface Edit {
  readonly file: string;
  readonly is: string;
  readonly was: string;
}

/** What was found wrong once, by the number of its point, put back, and what never was wrong: seeds must find each. */
export const plants: Readonly<Record<string, { readonly what: string; readonly edits: readonly Edit[] }>> = {
  1: {
    what: 'an answer "not on sale" settles the dates of a product on sale for its longest cadence',
    edits: [
      {
        file: 'src/dates/off-sale-answer.ts',
        is: 'const since_at = current.off_sale_at ?? sent_at;\n',
        was: 'const since_at = null as never;\n',
      },
      { file: 'src/dates/off-sale-answer.ts', is: "if (verdict === 'contradicted') {", was: 'if (false) {' },
      {
        file: 'src/dates/off-sale-answer.ts',
        is: "cadence: verdict === 'confirmed' ? cadence.products : every,",
        was: 'cadence: cadence.products,',
      },
      {
        file: 'src/dates/off-sale-answer.ts',
        is: "return { sale: verdict === 'contradicted' ? 'contradicted' : 'off', sent_at };",
        was: "return { sale: 'off', sent_at };",
      },
    ],
  },
  2: {
    what: 'an answer for other dates is one for those asked for',
    edits: [
      {
        file: 'src/dates/window-requests.rules.ts',
        is: "if (named === null) return trust === 'as-asked' ? all : null;",
        was: 'return all;',
      },
    ],
  },
  3: {
    what: 'a clock that jumps is believed, and what it wrote stays',
    edits: [
      {
        file: 'src/daemon/clock/trusted-clock.ts',
        is: 'if (Math.abs(wall - this.#booted_at) <= agreeMs) {',
        was: 'if (wall < Number.POSITIVE_INFINITY) {',
      },
    ],
  },
  5: {
    what: 'a full disk, and another program that writes, end the daemon',
    edits: [
      {
        file: 'src/files/writer.ts',
        is: 'if (kind === null || !this.#serving) return false;',
        was: 'if (kind !== undefined) return false;',
      },
    ],
  },
  6: {
    what: 'nobody looks whether the file is still there',
    edits: [
      {
        file: 'src/files/watch.ts',
        is: "const standing = open?.[name].standing() ?? 'stands';",
        was: "const standing = 'stands' as 'stands' | 'gone';",
      },
    ],
  },
  8: {
    what: 'a check joins a call that was sent before it was asked',
    edits: [
      {
        file: 'src/desk/live-call.ts',
        is: 'return !this.#wasSent && !this.#isAnswered && !this.signal.aborted;',
        was: 'return !this.#isAnswered && !this.signal.aborted;',
      },
    ],
  },
  midnight: {
    what: 'the next midnight is the one that has passed, where no zone is known',
    edits: [
      {
        file: 'src/schedule/window-dates.ts',
        is: '    next_midnight: ends_at,',
        was: '    next_midnight: product.timezone === null ? began_at : ends_at,',
      },
    ],
  },
  sweep: {
    what: 'what a kill leaves of image files is never swept away',
    edits: [
      {
        file: 'src/daemon/jobs.ts',
        is: 'run: () => images.sweep(),',
        was: 'run: async () => {},',
      },
    ],
  },
  'a text': {
    what: 'an answer with the same texts as before takes one away',
    edits: [
      {
        file: 'src/trust/claims.rules.ts',
        is: '(said ?? 0) < (shown ?? 0)',
        was: '(said ?? 0) <= (shown ?? 0)',
      },
      { file: 'src/trust/claims-of-answers.ts', is: 'said: isLess ? 0 : said.size', was: 'said: said.size' },
    ],
  },
};
