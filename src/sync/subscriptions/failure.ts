import type { AttemptFailure } from '../../domain/push/attempt-failure.ts';
import type { SubscriptionOutcome } from '../../upstream/subscriptions.ts';

/** Why an attempt did not work. */
export type Failure =
  | Exclude<SubscriptionOutcome, { kind: 'read' }>
  | { readonly kind: 'self-test'; readonly message: string };

/** Why a read brought nothing: `not-read`, because no read is ever answered here, which is nobody's failure. */
export type Unread = Exclude<Failure, { kind: 'missing' | 'self-test' }> | { readonly kind: 'not-read' };

/** The service was busy or away: nobody's failure, and no reason to ask at once. */
export const pauseMs = 60_000;

/** One line, as it is stored and shown; never an address. */
export function failureText(outcome: Failure | Unread): string {
  switch (outcome.kind) {
    case 'missing':
      return 'refused: the service has no such subscription';
    case 'throttled':
      return `throttled: the service asks for fewer calls (${outcome.status})`;
    case 'self-test':
      return `self-test: ${outcome.message}`;
    case 'not-read':
      return 'refused: the service does not let subscriptions be read';
    default:
      return `${outcome.kind satisfies AttemptFailure}: ${outcome.message} (${outcome.code})`;
  }
}
