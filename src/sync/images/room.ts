import type { Mirror } from '../../mirror/mirror.ts';

/** The disk budget during one pass. */
export interface Room {
  isFull(): boolean;
  /** Takes this many bytes; returns false if they do not fit, and then nothing is fetched before there is room. */
  take(bytes: number): boolean;
}

/** The share of the budget that must be free again, so that one removed file does not restart fetching. */
const roomShare = 0.02;

/**
 * Creates the disk budget of image files, `disk` bytes together. After a file found no room, it counts as full for all
 * passes until the files take clearly less space.
 */
export function imageRoom({ imageFiles }: Pick<Mirror, 'imageFiles'>, disk: number): { measure(): Room } {
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
