import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Tokens of forms. A token shows that our own page was displayed a short while ago with exactly this request. Pages of
 * other origins cannot read it.
 */
export interface FormTokens {
  /** Returns a token for a request, written as text. */
  issue(request: string): string;
  /** Returns the reason why a request is refused, in one line; null: it is accepted. */
  refusalOf(token: unknown, request: string): string | null;
}

export const formValidMs = 15 * 60_000;

/** Creates the tokens. `key` lives as long as the daemon, so after a restart every form is too old. */
export function formTokens(key: Uint8Array, now: () => number): FormTokens {
  const signed = (at: number, request: string) =>
    createHmac('sha256', key).update(`${at} ${request}`).digest('base64url');
  return {
    issue: (request) => {
      const at = now();
      return `${at}.${signed(at, request)}`;
    },
    refusalOf: (token, request) => {
      const [, at = '', given = ''] = /^(\d{1,15})\.([\w-]{43})$/.exec(typeof token === 'string' ? token : '') ?? [];
      if (given === '') return 'The form token is missing: look at the price, then start.';
      const good = timingSafeEqual(Buffer.from(given), Buffer.from(signed(Number(at), request)));
      const age = now() - Number(at);
      return good && age >= 0 && age <= formValidMs
        ? null
        : 'This form was too old, or was changed. Look at the price again, then start.';
    },
  };
}
