import type { AttemptFailure } from '../../domain/push/attempt-failure.ts';
import type { SubscriptionOutcome } from '../../upstream/subscriptions.ts';

/** The cause of a failed attempt. */
export type Failure =
  | Exclude<SubscriptionOutcome, { kind: 'read' }>
  | { readonly kind: 'self-test'; readonly message: string };

/** The cause of a read without a result. `not-read`: the service never answers such reads, which is no failure. */
export type Unread = Exclude<Failure, { kind: 'missing' | 'self-test' }> | { readonly kind: 'not-read' };

/** The pause in milliseconds after the service was busy or unreachable, which is no failure. */
export const pauseMs = 60_000;

/** Returns the failure as one line to store and show. It never contains an address. */
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
