/*
 * Copies of the images' files: allowed types, paths, and times of the next request to their host.
 */

/** The four sizes of an image, by the names that the service's answers use. */
export type ImageSize = 'small' | 'medium' | 'large' | 'extra_large';
export const imageSizes: readonly ImageSize[] = ['small', 'medium', 'large', 'extra_large'];

/** Allowed file types, with their extensions. SVG is excluded because it can contain scripts. */
const extensions = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/gif': 'gif',
} as const;
export type ImageType = keyof typeof extensions;

export function isImageType(type: string): type is ImageType {
  return Object.hasOwn(extensions, type);
}

/** Returns the type of a file by its first bytes, regardless of its name; null if it is none of the types. */
export function typeOf(head: Uint8Array): ImageType | null {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 16)).toString('latin1');
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (/^GIF8[79]a/.test(text)) return 'image/gif';
  if (/^RIFF.{4}WEBP/s.test(text)) return 'image/webp';
  return /^.{4}ftypavif/s.test(text) ? 'image/avif' : null;
}

/**
 * Returns whether a file ends as its type requires: without an announced length, half a file looks like a whole one.
 * `tail` is its last kilobyte, or all of it if it is shorter. AVIF has no recognisable end.
 */
export function endsWell(type: ImageType, head: Uint8Array, tail: Uint8Array, length: number): boolean {
  const end = Buffer.from(tail.buffer, tail.byteOffset, tail.length);
  switch (type) {
    // Some programs append a few bytes after the end.
    case 'image/jpeg':
      return end.includes(Buffer.of(0xff, 0xd9));
    case 'image/png':
      return end.includes('IEND');
    case 'image/gif':
      return end.includes(0x3b);
    case 'image/webp':
      return Buffer.from(head.buffer, head.byteOffset, head.length).readUInt32LE(4) + 8 <= length;
    case 'image/avif':
      return true;
  }
}

/** Returns the path `ab/cd/<checksum>.jpg`. It depends on the content only, so that equal files are kept once. */
export function filePath(checksum: string, type: ImageType): string {
  return `${checksum.slice(0, 2)}/${checksum.slice(2, 4)}/${checksum}.${extensions[type]}`;
}

/** Matches only paths that `filePath` returns, not other files beside them. */
export const filePattern = /^([0-9a-f]{2})\/([0-9a-f]{2})\/\1\2[0-9a-f]{60}\.(jpg|png|webp|avif|gif)$/;

/** Time after which a kept file is requested again. `If-None-Match` costs its host next to nothing. */
const recheckAfterMs = 7 * 24 * 60 * 60 * 1000;
/** Longest time until any file is due. */
export const longestWaitMs = recheckAfterMs;
const dayMs = 24 * 60 * 60 * 1000;

/**
 * Returns when to ask the host again about a file that it has just confirmed. Spread out, because many were fetched
 * together.
 */
export function recheckAt(chance: number, now: number): number {
  return now + Math.round(recheckAfterMs * (0.9 + 0.1 * chance));
}

/**
 * Returns when to ask again after an answer that is unlikely to change soon: not an image, too large, gone, or a
 * refused URL.
 */
export function refusedAgainAt(chance: number, now: number): number {
  return now + Math.round(dayMs * (0.9 + 0.1 * chance));
}
