/*
 * Two logs, and the one pass over them: what the service said from when on, and what readers saw when. A value that a
 * reader saw was the service's at some instant; where the reader was told that it is fresh, at an instant within the promise;
 * and no reader goes back.
 */

/** What a reader saw of one fact. */
export interface Observation {
  readonly at: number;
  readonly who: string;
  readonly fact: string;
  readonly value: string;
  /** When it was read, as far as the reader is told so and it is said to be fresh; null: nothing is claimed. */
  readonly checked_at: number | null;
}

/** What the service said of each fact, and since when. */
export interface ServiceLog {
  /** Notes what it says from now on. */
  note(at: number, facts: ReadonlyMap<string, string>): void;
  /** The values of a fact in order, each with the instant at which it began; empty: the service never said anything of it. */
  of(fact: string): readonly Said[];
}

export interface Said {
  readonly from: number;
  readonly value: string;
}

export function serviceLog(): ServiceLog {
  const said = new Map<string, Said[]>();
  return {
    note: (at, facts) => {
      for (const [fact, value] of facts) {
        const values = said.getOrInsertComputed(fact, () => []);
        if (values.at(-1)?.value !== value) values.push({ from: at, value });
      }
    },
    of: (fact) => said.get(fact) ?? [],
  };
}

/** What a shopper was told of a date. */
export interface Told {
  readonly product_id: number;
  readonly date: string;
  readonly verdict: string;
  /** Whether the service was asked for it: that a product is withdrawn is said by the mirror, as of its last reads. */
  readonly live: boolean;
  readonly asked_at: number;
  readonly answered_at: number;
}

/** Returns what shoppers were told that was so at no instant between question and answer; a cache may be so much older. */
export function judgeChecks(log: ServiceLog, told: readonly Told[], cached_ms: number): string[] {
  return told.flatMap(({ product_id, date, verdict, live, asked_at, answered_at }) => {
    const facts = [`${product_id} is visible`, `${product_id} sale_status`, `${product_id} ${date}`].map(log.of);
    const from = live ? asked_at - cached_ms : 0;
    const instants = [
      ...(live ? [from] : []),
      ...facts.flat().flatMap((said) => (said.from > from && said.from <= answered_at ? [said.from] : [])),
    ];
    const sold = instants.map((at) => {
      const [visible, status, day] = facts.map((said) => said.findLast((each) => each.from <= at)?.value ?? '');
      return visible === 'true' && status === 'enabled' && day?.startsWith('["available"') === true;
    });
    const wrong = (verdict === 'holds' && !sold.includes(true)) || (verdict === 'gone' && !sold.includes(false));
    return wrong ? [`product ${product_id} on ${date}: asked at ${time(asked_at)}, told ${verdict}`] : [];
  });
}

export interface Rules {
  /** How far an answer may lie from the instant at which it is said to have been read: caches, slow answers. */
  readonly slack_ms: number;
  /** How old what the service answers may be: a reader goes back to nothing that was over for longer when it last looked. */
  readonly cached_ms: number;
}

/** Returns what is wrong in a reader's history: one line each, the first of each fact. */
export function judge(log: ServiceLog, seen: readonly Observation[], { slack_ms, cached_ms }: Rules): string[] {
  const wrong = new Map<string, string>();
  const reached = new Map<string, { readonly index: number; readonly at: number }>();
  for (const { at, who, fact, value, checked_at } of seen) {
    const said = log.of(fact);
    const differ = (why: string) => {
      const line = `${who} saw at ${time(at)} that ${fact} is ${value}: ${why}; it was ${history(said)}`;
      if (!wrong.has(fact)) wrong.set(fact, line);
    };
    const matching = said.flatMap((each, index) => (each.value === value && each.from <= at ? [index] : []));
    if (matching.length === 0) {
      differ('the service never said so');
      continue;
    }
    if (checked_at !== null) {
      const held = matching.some((index) => {
        const { from } = said[index] as Said;
        const to = said[index + 1]?.from ?? Number.POSITIVE_INFINITY;
        return from <= checked_at + slack_ms && to >= checked_at - slack_ms;
      });
      if (!held) differ(`it is said to be fresh, and was not so at ${time(checked_at)}`);
    }
    const key = `${who} ${fact}`;
    const before = reached.get(key) ?? { index: 0, at: 0 };
    const index = matching.find((each) => each >= before.index);
    const over = said[(matching.at(-1) ?? 0) + 1]?.from ?? at;
    if (index === undefined && (cached_ms === 0 || over < before.at - slack_ms))
      differ(`this reader had seen a later one, at ${time(before.at)}`);
    reached.set(key, { index: index ?? before.index, at });
  }
  return [...wrong.values()];
}

const time = (at: number) => new Date(at).toISOString().slice(5, 19);
const history = (said: readonly Said[]) =>
  said
    .map(({ from, value }) => `${value} from ${time(from)}`)
    .join(', ')
    .slice(0, 400) || 'nothing';
