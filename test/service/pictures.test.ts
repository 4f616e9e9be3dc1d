import { describe, expect, it } from 'vitest';
import { ImageInspection } from '../../src/service/image-inspection.ts';
import { encoded } from './encoded-pictures.ts';

type Name = keyof typeof encoded;
type Row = readonly [title: string, file: Buffer, type: string, width: number, height: number];

const of = (name: Name) => Buffer.from(encoded[name], 'base64');
const behind = (file: Buffer, bytes: number) => Buffer.concat([file, Buffer.alloc(bytes, 'behind the end ')]);

function replaced(file: Buffer, at: number, by: Buffer | string, removed = Buffer.from(by).length): Buffer {
  return Buffer.concat([file.subarray(0, at), Buffer.from(by), file.subarray(at + removed)]);
}

/** Puts bytes behind the two that begin a JPEG. */
const inFront = (file: Buffer, bytes: Buffer) => replaced(file, 2, bytes, 0);

function segment(marker: number, content: Buffer): Buffer {
  const size = content.length + 2;
  return Buffer.concat([Buffer.of(0xff, marker, size >> 8, size & 0xff), content]);
}

/** Puts three fill bytes in front of each marker, up to the scan. */
function filled(file: Buffer): Buffer {
  const parts = [file.subarray(0, 2)];
  let at = 2;
  for (; file[at + 1] !== 0xda; at += 2 + file.readUInt16BE(at + 2))
    parts.push(Buffer.of(0xff, 0xff, 0xff), file.subarray(at, at + 2 + file.readUInt16BE(at + 2)));
  return Buffer.concat([...parts, file.subarray(at)]);
}

function withBrands(file: Buffer, brands: readonly string[]): Buffer {
  const [major = '', ...others] = brands;
  // As long as before: the offset of the image data is absolute.
  return replaced(file, 4, `ftyp${major}\0\0\0\0${others.join('')}`.padEnd(file.readUInt32BE() - 4, 'miaf'));
}

/** Gives the last box the size 0: up to the end of the file. */
function openEnded(file: Buffer): Buffer {
  return replaced(file, file.indexOf('mdat') - 4, Buffer.alloc(4));
}

const jpeg = of('baseline');
const thumbnail = segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), jpeg]));
const profile = Buffer.concat(Array.from({ length: 20 }, () => segment(0xe2, Buffer.alloc(60_000, 'ICC_PROFILE\0'))));

const valid: readonly Row[] = [
  ['a baseline JPEG', jpeg, 'image/jpeg', 16, 12],
  ['a progressive JPEG', of('progressive'), 'image/jpeg', 8, 6],
  ['a grey JPEG', of('grey'), 'image/jpeg', 16, 12],
  ['a JPEG in CMYK', of('cmyk'), 'image/jpeg', 16, 12],
  ['a JPEG with restart markers', of('restarts'), 'image/jpeg', 16, 12],
  ['a JPEG with fill bytes', filled(jpeg), 'image/jpeg', 16, 12],
  ['a JPEG with 4 kB behind its end', behind(jpeg, 4096), 'image/jpeg', 16, 12],
  ['a JPEG with a film of 3 MB behind its end', behind(jpeg, 3_000_000), 'image/jpeg', 16, 12],
  ['a JPEG with a thumbnail', inFront(of('progressive'), thumbnail), 'image/jpeg', 8, 6],
  ['a JPEG with a profile of 1.2 MB', inFront(jpeg, profile), 'image/jpeg', 16, 12],
  ['a PNG with a palette', of('palette'), 'image/png', 16, 12],
  ['an interlaced PNG', of('interlaced'), 'image/png', 4, 3],
  ['a PNG of 16 bits', of('deep'), 'image/png', 4, 3],
  ['a PNG with 4 kB behind its end', behind(of('palette'), 4096), 'image/png', 16, 12],
  ['a GIF', of('still'), 'image/gif', 8, 6],
  ['an animated GIF', of('animation'), 'image/gif', 8, 6],
  ['a GIF with 4 kB behind its end', behind(of('still'), 4096), 'image/gif', 8, 6],
  ['a lossy WebP', of('lossy'), 'image/webp', 16, 12],
  ['a lossless WebP', of('lossless'), 'image/webp', 8, 6],
  ['a translucent WebP', of('translucent'), 'image/webp', 8, 6],
  ['an animated WebP', of('moving'), 'image/webp', 8, 6],
  ['an AVIF', of('av1'), 'image/avif', 16, 12],
  ['an AVIF of the brand mif1', withBrands(of('av1'), ['mif1', 'avif']), 'image/avif', 16, 12],
  ['an AVIF of the brand avis', withBrands(of('av1'), ['avis', 'avif', 'mif1']), 'image/avif', 16, 12],
  ['an AVIF whose last box is open-ended', openEnded(of('opaque')), 'image/avif', 8, 6],
  ['an AVIF with 4 kB behind its end', behind(of('opaque'), 4096), 'image/avif', 8, 6],
];

/** Returns the result for a file that arrives in parts of a size: the image, or the reason. */
function inspected(file: Buffer, size: number) {
  const inspection = new ImageInspection();
  for (let at = 0; at < file.length; at += size) inspection.write(file.subarray(at, at + size));
  const { kind, ...result } = inspection.result();
  return 'message' in result ? `${result.code}: ${result.message}` : result;
}

const cut = (name: Name, bytes = 10) => of(name).subarray(0, -bytes);

const broken: readonly (readonly [title: string, file: Buffer, reason: string])[] = [
  ['a JPEG that ends early', cut('baseline'), 'half: the file is incomplete'],
  [
    'a JPEG that ends behind its thumbnail',
    inFront(of('progressive'), thumbnail).subarray(0, thumbnail.length + 40),
    'half: the file is incomplete',
  ],
  ['a PNG that ends early', cut('palette', 14), 'half: the file is incomplete'],
  [
    'a GIF that ends early, behind a semicolon',
    replaced(of('animation'), 40, ';').subarray(0, -8),
    'half: the file is incomplete',
  ],
  ['a WebP that ends early', cut('lossy'), 'half: the file is incomplete'],
  ['an AVIF that ends early', cut('av1'), 'half: the file is incomplete'],
  [
    'a JPEG without an image',
    Buffer.concat([Buffer.of(0xff, 0xd8), segment(0xfe, Buffer.from('nothing')), Buffer.of(0xff, 0xd9)]),
    'no-image: the image has no width and height',
  ],
  ['a PNG of no width', replaced(of('palette'), 16, Buffer.alloc(4)), 'no-image: the image has no width and height'],
  ['a GIF with an unknown block', replaced(of('still'), 19, 'x'), 'no-image: the file is damaged'],
  ['HEIC', of('heic'), 'no-image: the answer is HEIC, which is not supported'],
  [
    'HEIC of the brand mif1',
    withBrands(of('heic'), ['mif1', 'heic']),
    'no-image: the answer is HEIC, which is not supported',
  ],
  ['TIFF', Buffer.from('II*\0\x08\0\0\0\0\0\0\0'), 'no-image: the answer is TIFF, which is not supported'],
  ['SVG', Buffer.from('<?xml version="1.0"?><svg/>'), 'no-image: the answer is SVG or XML, which is not supported'],
  ['HTML', Buffer.from('<!doctype html><title>no</title>'), 'no-image: the answer is HTML, which is not supported'],
  ['another RIFF', Buffer.from('RIFF\x10\0\0\0WAVEfmt '), 'no-image: the answer is not an image'],
  ['a cut signature', Buffer.from('\x89PNG', 'latin1'), 'no-image: the answer is not an image'],
  ['nothing', Buffer.alloc(0), 'no-image: the answer is empty'],
];

/** The sizes of the parts in which a file arrives. */
const partSizes = [1, 7, 1400, 65_536];

describe('a picture that decoders read', () => {
  it.each(valid)('is kept with its type and size: %s', (_, file, type, width, height) => {
    for (const size of partSizes.filter((each) => file.length < 100_000 || each > 7))
      expect(inspected(file, size), `in parts of ${size}`).toEqual({ type, width, height });
  });
});

describe('a broken picture', () => {
  it.each(broken)('is refused for what it is: %s', (_, file, reason) => {
    for (const size of partSizes) expect(inspected(file, size), `in parts of ${size}`).toBe(reason);
  });
});

describe('a file cut anywhere', () => {
  it.each(valid.filter(([, file]) => file.length < 1000))(
    'is never a whole picture up to its last byte: %s',
    (title, file) => {
      if (title.includes('behind its end')) return;
      for (let length = 0; length < file.length - 1; length += 1) {
        const found = inspected(file.subarray(0, length), 4096);
        expect(typeof found, `${length} of ${file.length} bytes: ${JSON.stringify(found)}`).toBe('string');
      }
    },
  );
});
