import type { SubscriptionOutcome } from '../../upstream/subscriptions.ts';

/** Why an attempt did not work. */
export type Failure =
  | Exclude<SubscriptionOutcome, { kind: 'read' }>
  | { readonly kind: 'self-test'; readonly message: string };

/** The service was busy or away: nobody's failure, and no reason to ask at once. */
export const pauseMs = 60_000;

/** Nobody's failure: the service asked for less, or was not reached. */
export function isBlameless({ kind }: Failure): boolean {
  return kind === 'throttled' || kind === 'unreachable';
}

/** One line, as it is stored and shown; never an address. */
export function failureText(outcome: Failure): string {
  switch (outcome.kind) {
    case 'missing':
      return 'refused: the service has no such subscription';
    case 'throttled':
      return `throttled: the service asks for less (${outcome.status})`;
    case 'self-test':
      return `self-test: ${outcome.message}`;
    default:
      return `${outcome.kind}: ${outcome.message} (${outcome.code})`;
  }
}
