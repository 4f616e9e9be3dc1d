/**
 * The loopback address of this process, so that two that live through the same seed do not meet at its port. Digests are
 * made without it.
 */
export const ownHost = `127.${[16, 8, 0].map((shift) => 10 + (((process.pid >> shift) & 255) % 200)).join('.')}`;

/** The port of a seed, below those that systems give out, and above 10,080, which `fetch` asks nothing of. */
export const portOf = (seed: number) => 10_100 + (seed % 10_000);
/**
 * Where the image host of a seed listens: always there, since the service's answers name it, and digests are of answers. A
 * process that finds another one there, which lives through the same seed, takes its own address: its digest is another one.
 */
export const imageHosts = ['127.9.9.9', ownHost] as const;
export const imagePortOf = (seed: number) => portOf(seed) + 10_000;
