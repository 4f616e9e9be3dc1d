import type { Tried } from './facts.ts';

/** Announced updates, and since when. */
interface Announced {
  readonly products: number;
  readonly since: number | null;
}

/** Fewer may be about what we do not mirror. */
const fewestTold = 3;

/**
 * Decides whether announced updates do not show. One is enough that named as the old value what we still show after a read;
 * of those that named nothing we know there must be several, and no read may have shown anything.
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
