/**
 * The loopback address of this process, so that two that live through the same seed do not meet at its port. Digests are
 * made without it.
 */
export const ownHost = `127.${[16, 8, 0].map((shift) => 10 + (((process.pid >> shift) & 255) % 200)).join('.')}`;

/** The port of a seed, below those that systems give out, and above 10,080, which `fetch` asks nothing of. */
export const portOf = (seed: number) => 10_100 + (seed % 20_000);
