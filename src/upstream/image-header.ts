import { imageSize } from 'image-size';
import type { ImageType } from '../domain/catalogue/image-file.ts';

/** In a JPEG the dimensions come behind everything that programs put in front of them; else they stand early. */
const looked: Readonly<Record<ImageType, number>> = {
  'image/jpeg': 1024 * 1024,
  'image/png': 64 * 1024,
  'image/gif': 64 * 1024,
  'image/webp': 64 * 1024,
  'image/avif': 64 * 1024,
};

/** As much of a file's beginning as `readDimensions` can use. */
export const headBytes = 1024 * 1024;

/** Width and height in pixels, from a file's beginning; null where it has none that make sense. */
export function readDimensions(type: ImageType, head: Uint8Array): { width: number; height: number } | null {
  try {
    // A copy: the library reads through the whole buffer that a view stands on.
    const { width, height } = imageSize(Uint8Array.from(head.subarray(0, looked[type])));
    return width > 0 && height > 0 ? { width, height } : null;
  } catch {
    return null;
  }
}
