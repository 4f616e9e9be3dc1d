import type { Mirror } from '../../mirror/mirror.ts';

/** The disk budget during one pass. */
export interface Room {
  isFull(): boolean;
  /** False: so many bytes more are too many, and nothing new is fetched before there is room. */
  take(bytes: number): boolean;
}

/** Room is some of the budget, so that one file removed does not begin it all again. */
const roomShare = 0.02;

/**
 * The disk budget of image files, `disk` bytes together. Once a file found no room, it counts as full until the files take
 * clearly less than they did then, for all passes that ask the same budget.
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
