import { z } from 'zod';
import { duration } from '../../kernel/format.ts';
import { amount, date, instant, maybe, never, type Shaped, text } from '../../kernel/values/answer-values.ts';
import type { MirrorFacts } from '../../mirror/reading.ts';
import { readsAbout } from '../../schedule/deciding-reads.ts';
import type { RecordDetail } from '../../schedule/record-reads.store.ts';
import type { Resource } from '../../schedule/resources.rules.ts';
import type { Policy } from '../../schedule/sync.ts';
import { isGain, subjectNames, subjects } from '../../trust/claims.rules.ts';
import { amountTexts, holdStanding } from '../../trust/hold.rules.ts';

/** A claim made by the latest answer about a part of a product. Prices are in minor units. */
export const explainedClaim = z.object({
  subject: z.enum(subjectNames),
  edition: text,
  /** First and last date of the window that a claim is about; null: it is about the product. */
  from: date.nullable(),
  to: date.nullable(),
  /**
   * `pending`: waits for a confirming read; `held`: too many records claim the same; `applied`: shown, and read again
   * later.
   */
  state: z.enum(['pending', 'held', 'applied']),
  shown: amount.meta({ description: 'how much was shown, or the lowest price in minor units' }),
  said: amount.meta({ description: 'the same by the last answer' }),
  shown_as: maybe.meta({
    description: 'the value that was shown, such as a time zone, where the claim is about one',
  }),
  said_as: maybe.meta({ description: 'the same by the last answer' }),
  first_at: instant,
  last_at: instant,
  /** Instant since which it is in its state. */
  since: instant,
  /** Instant of the next read that decides about it; null: none is planned. */
  again_at: never,
});
export type ExplainedClaim = Shaped<typeof explainedClaim>;

/** Explains the claims about a product. */
export function explainClaims(
  { evidence }: MirrorFacts,
  product_id: number,
  read: readonly RecordDetail[],
  by: {
    datesOf: (resource: Resource, part: number) => { from: string | null; to: string | null };
    extent: Policy['extent'];
    now: number;
  },
): ExplainedClaim[] {
  // What a product has gained takes nothing away.
  const claims = evidence.ofProduct({ product_id }).filter((claim) => !isGain(claim));
  return claims.map((claim) => {
    const { subject, edition, shown, said, shown_as, said_as, first_at, last_at, held_at, applied_at, resource, part } =
      claim;
    const held = holdStanding(evidence.hold(subject), by.now) === 'held';
    const state = applied_at !== null ? 'applied' : held ? 'held' : 'pending';
    const reads = readsAbout(by, claim);
    const isOne = (of: RecordDetail) =>
      reads.some((each) => each.resource === of.resource && each.edition === of.edition && each.part === of.part);
    const due = read.filter(isOne).map(({ due_at }) => due_at);
    return {
      subject,
      edition,
      ...by.datesOf(resource, part),
      state,
      shown,
      said,
      shown_as,
      said_as,
      first_at,
      last_at,
      since: applied_at ?? (held ? held_at : null) ?? first_at,
      again_at: due.length === 0 ? null : Math.min(...due),
    };
  });
}

/** Returns one sentence for each claim. */
export function claimTexts(claims: readonly ExplainedClaim[], now: number): string[] {
  return claims.map((claim) => {
    const { subject, edition, from, to, state, since, last_at, again_at } = claim;
    const of = from === null ? edition : `${from} to ${to}, ${edition}`;
    const [shown, said] = amountTexts(subject, edition, claim);
    const from_to = `${shown} before, ${said} in the answer of ${duration(now - last_at)} ago`;
    const again =
      again_at === null
        ? 'asked again with the list'
        : again_at <= now
          ? 'asked again now'
          : `asked again in ${duration(again_at - now)}`;
    const states = {
      pending: `shown as before until a second answer agrees, ${again}`,
      held: `held for ${duration(now - since)}, because too many claim the same, and shown as before, as stale; ${again}; catalogued held list`,
      applied: `believed ${duration(now - since)} ago, ${again}`,
    };
    return `${subjects[subject].text} (${of}): ${from_to}; ${states[state]}`;
  });
}
