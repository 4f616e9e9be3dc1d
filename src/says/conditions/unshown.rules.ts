import type { Tried } from './facts.rules.ts';

/** Number of products with announced updates, and the instant of the first. */
interface Announced {
  readonly products: number;
  readonly since: number | null;
}

/** Fewer announcements may be about data that we do not mirror. */
const fewestTold = 3;

/**
 * Decides whether announced updates do not show in reads. One is enough if it named as the old value one that we still
 * show after a read. Of updates that named no value that we know there must be several, and no read may have shown any
 * of them.
 */
export function unshownOf({
  told,
  awaited,
}: {
  readonly told: Announced & { readonly shown: number };
  readonly awaited: Announced;
}): Tried['unshown'] {
  const found = [awaited, ...(told.products < fewestTold || told.shown > 0 ? [] : [told])].flatMap(
    ({ products, since }) => (products === 0 || since === null ? [] : [{ products, since }]),
  );
  if (found.length === 0) return null;
  return {
    products: Math.max(...found.map(({ products }) => products)),
    since: Math.min(...found.map(({ since }) => since)),
  };
}
