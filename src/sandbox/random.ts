/* Randomness without state: the same seed and the same words give the same number, in any order, on any machine. */

/** Returns a number in [0, 1) determined by the seed and these numbers and words. */
export function roll(seed: number, ...of: readonly (number | string)[]): number {
  let hash = (seed ^ 0x9e3779b9) | 0;
  for (const each of of) {
    if (typeof each === 'number') hash = mix(hash ^ each);
    else for (let index = 0; index < each.length; index += 1) hash = mix(hash ^ each.charCodeAt(index));
  }
  return (mix(hash) >>> 0) / 2 ** 32;
}

/** Returns one item of a list. `chance`: from 0 to below 1. */
export function pick<Item>(list: readonly Item[], chance: number): Item {
  const item = list[Math.floor(chance * list.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** Returns `digits` hex digits. */
export function hex(digits: number, seed: number, ...of: readonly (number | string)[]): string {
  let text = '';
  for (let part = 0; text.length < digits; part += 1)
    text += Math.floor(roll(seed, ...of, part) * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return text.slice(0, digits);
}

/** Returns a generator of random numbers. It has state: for events that happen once and in order (faults, drift). */
export function sequence(seed: number): () => number {
  let step = 0;
  return () => roll(seed, step++, 0x5eed);
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97);
  return (hash ^ (hash >>> 15)) | 0;
}
