import { ago, counted, printable, short } from '../format.ts';
import { type JudgedStatus, verdictOf } from './verdict.ts';

/** Returns the age of the figures: `as of 8 s ago`; null if they were counted for this answer. */
export function asOfText({ as_of }: { readonly as_of: number }, now: number): string | null {
  return now - as_of < 1000 ? null : `as of ${ago(as_of, now)}`;
}

/** Returns the state of the mirror in one line, for `systemctl status`. */
export function statusLine(
  status: JudgedStatus & { readonly products: { readonly visible: number } },
  now: number,
): string {
  const { state, severity, reasons } = verdictOf(status, now);
  const [first = '', ...others] = reasons;
  const more = others.length === 0 ? '' : ` (and ${others.length} more: catalogued status)`;
  if (state === 'true') return `up to date: ${counted(status.products.visible, 'product')}, every freshness target met`;
  return `${state === 'filling' ? 'filling' : severity}: ${short(printable(first), 200)}${more}`;
}
