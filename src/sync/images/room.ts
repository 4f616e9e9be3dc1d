import type { Mirror } from '../../mirror/mirror.ts';

/** The disk budget during one run of fetching. */
export interface Room {
  isFull(): boolean;
  /** Reserves this many bytes. Returns false if they do not fit; then nothing is fetched until there is room again. */
  take(bytes: number): boolean;
}

/** The share of the budget that must be free again, so that one removed file does not restart fetching. */
const roomShare = 0.02;

/**
 * Creates the disk budget of image files, `disk` bytes together. Once a file did not fit, the budget counts as full for
 * all runs until the files take clearly less space.
 */
export function imageRoom({ catalogue: { imageFiles } }: Mirror, disk: number): { measure(): Room } {
  let enoughBelow: number | null = null;
  return {
    measure: () => {
      let used = imageFiles.bytes();
      if (enoughBelow !== null && used < enoughBelow) enoughBelow = null;
      return {
        isFull: () => used >= disk || enoughBelow !== null,
        take: (bytes) => {
          if (used + bytes > disk) {
            enoughBelow = used * (1 - roomShare);
            return false;
          }
          used += bytes;
          return true;
        },
      };
    },
  };
}
