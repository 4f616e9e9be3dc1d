/** Returns the address of a page, by http or https; null for anything else: a link on a shop's page runs what it says. */
export function pageAddress(value: unknown): string | null {
  return typeof value === 'string' && /^https?:\/\/./i.test(value) ? value : null;
}
