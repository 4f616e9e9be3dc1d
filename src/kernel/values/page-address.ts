/**
 * Returns the address of a page, if it is http or https; else null, because a link on a shop's page could otherwise run
 * a script.
 */
export function pageAddress(value: unknown): string | null {
  return typeof value === 'string' && /^https?:\/\/./i.test(value) ? value : null;
}
