import { describe, expect, it } from 'vitest';
import { endsWell, type ImageType, typeOf } from '../../src/domain/catalogue/image-file.ts';
import { jpeg } from '../../src/sandbox/images/jpeg.ts';
import { readDimensions } from '../../src/upstream/image-header.ts';

function box(name: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const head = Buffer.alloc(8, name.padStart(8));
  head.writeUInt32BE(body.length + 8);
  return Buffer.concat([head, body]);
}

function avif(width: number, height: number): Buffer {
  const size = Buffer.alloc(12);
  size.writeUInt32BE(width, 4);
  size.writeUInt32BE(height, 8);
  const properties = box('iprp', box('ipco', box('ispe', size)));
  return Buffer.concat([
    box('ftyp', Buffer.from('avif\0\0\0\0avifmif1')),
    box('meta', Buffer.alloc(4), properties),
    box('mdat', Buffer.alloc(64)),
  ]);
}

const files: Readonly<Record<ImageType, readonly [Buffer, number, number]>> = {
  'image/jpeg': [jpeg(1, { key: 'a'.repeat(32), width: 640, height: 480, edition: 0 }), 640, 480],
  'image/png': [
    Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
      'base64',
    ),
    1,
    1,
  ],
  'image/gif': [Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'), 1, 1],
  'image/webp': [Buffer.from('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA', 'base64'), 1, 1],
  'image/avif': [avif(320, 200), 320, 200],
};

describe('the beginning of a file', () => {
  it.each(Object.entries(files))(
    'says that it is of type %s, and how large the image is',
    (type, [file, width, height]) => {
      expect(typeOf(file)).toBe(type);
      expect(readDimensions(type as ImageType, file)).toEqual({ width, height });
      expect(endsWell(type as ImageType, file, file.subarray(-1024), file.length)).toBe(true);
    },
  );

  it.each(Object.entries(files).filter(([type]) => type !== 'image/avif'))('half of one is no %s', (type, [file]) => {
    const half = file.subarray(0, file.length >> 1);
    expect(endsWell(type as ImageType, half, half.subarray(-1024), half.length)).toBe(false);
  });

  it.each([
    ['nothing', ''],
    ['HTML', '<!doctype html><title>no</title>'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['SVG behind an XML declaration', '<?xml version="1.0"?><svg/>'],
    ['BMP', 'BM\0\0\0\0\0\0\0\0'],
    ['HEIC', '\0\0\0\x18ftypheic'],
    ['RIFF that is sound', 'RIFF\x10\0\0\0WAVEfmt '],
    ['a cut signature', '\x89PNG'],
  ])('%s is none of the types', (_, text) => expect(typeOf(Buffer.from(text, 'latin1'))).toBeNull());

  it.each([
    ['image/jpeg', '\xff\xd8\xff\xe0'],
    ['image/jpeg', `\xff\xd8\xff${'\0'.repeat(3000)}`],
    ['image/png', '\x89PNG\r\n\x1a\n\0\0\0\x0dIEND'],
    ['image/gif', 'GIF89a'],
    ['image/gif', 'GIF89a\0\0\0\0'],
    ['image/webp', 'RIFF\x10\0\0\0WEBPVP8 '],
    ['image/avif', '\0\0\0\x18ftypavif'],
  ] as const)('%s without width and height has none: %j', (type, text) =>
    expect(readDimensions(type, Buffer.from(text, 'latin1'))).toBeNull(),
  );
});
