import type { ImageType } from '../catalogue/image.rules.ts';

/** Result of an inspection: an image that may be kept, or the reason why the file is not. */
export type Inspected =
  | { readonly kind: 'image'; readonly type: ImageType; readonly width: number; readonly height: number }
  /** The host will hardly send another file soon. */
  | { readonly kind: 'refused'; readonly code: 'no-image'; readonly message: string }
  | { readonly kind: 'failed'; readonly code: 'half'; readonly message: string };

/** Facts about a file, as far as it was read. */
interface Findings {
  type: ImageType | null;
  /** Name of a format that is not supported. */
  other: string | null;
  width: number;
  height: number;
  /** The image ends where its format says. Bytes behind that end are allowed: cameras append films, servers rubbish. */
  whole: boolean;
}

/** Bytes that a walk asks for: so many of them, a look ahead, so many passed over, or all up to one of a value. */
type Want = Readonly<Partial<Record<'take' | 'peek' | 'skip' | 'until', number>>>;
type Walk = Generator<Want, void, Buffer>;

const nothing: Buffer = Buffer.alloc(0);
/** Longest box of an AVIF that is read as a whole. */
const mostTaken = 64 * 1024;

/**
 * Inspects a file while it arrives, part by part. It follows the structure of the format and decodes no pixels: an image
 * cut anywhere is recognised, also where no length was announced. Nothing but the bytes decides, neither name nor media type.
 */
export class ImageInspection {
  readonly #findings: Findings = { type: null, other: null, width: 0, height: 0, whole: false };
  readonly #walk: Walk = walk(this.#findings);
  /** Null: the walk has ended. */
  #want: Want | null = this.#walk.next().value ?? null;
  /** Bytes that arrived and were not used yet. */
  #held: Buffer = nothing;

  write(part: Uint8Array): void {
    const view = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    let data = this.#held.length === 0 ? view : Buffer.concat([this.#held, view]);
    while (this.#want !== null) {
      const { take = 0, peek = 0, skip, until } = this.#want;
      let answer = nothing;
      if (until !== undefined) {
        const at = data.indexOf(until);
        data = at < 0 ? nothing : data.subarray(at + 1);
        if (at < 0) break;
      } else if (skip !== undefined) {
        const missing = skip - data.length;
        data = data.subarray(Math.max(0, skip));
        this.#want = { skip: missing };
        if (missing > 0) break;
      } else {
        if (data.length < take + peek) break;
        answer = data.subarray(0, take + peek);
        data = data.subarray(take);
      }
      this.#want = this.#after(answer);
    }
    this.#held = this.#want === null ? nothing : Buffer.from(data);
  }

  /** Returns the next want. Numbers that lead out of a box end the walk: the file is damaged. */
  #after(answer: Buffer): Want | null {
    try {
      return this.#walk.next(answer).value ?? null;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return null;
    }
  }

  /** Returns the result, after the last part. */
  result(): Inspected {
    const { type, width, height, whole } = this.#findings;
    if (type === null) return { kind: 'refused', code: 'no-image', message: this.#describe() };
    if (!whole && this.#want !== null) return { kind: 'failed', code: 'half', message: 'the file is incomplete' };
    if (!whole) return { kind: 'refused', code: 'no-image', message: 'the file is damaged' };
    if (width === 0 || height === 0)
      return { kind: 'refused', code: 'no-image', message: 'the image has no width and height' };
    return { kind: 'image', type, width, height };
  }

  #describe(): string {
    const { other } = this.#findings;
    if (other !== null) return `the answer is ${other}, which is not supported`;
    return this.#want !== null && this.#held.length === 0 ? 'the answer is empty' : 'the answer is not an image';
  }
}

/** Formats that hosts send and shops cannot show. SVG can contain scripts. */
const unsupported = {
  TIFF: /^(?:II\*\0|MM\0\*)/,
  BMP: /^BM/,
  'SVG or XML': /^\s*<(?:svg|\?xml)/i,
  HTML: /^\s*<(?:!doctype|html|head)/i,
  'JPEG XL': /^.{4}JXL /s,
  'JPEG 2000': /^.{4}jP/s,
};

function* walk(findings: Findings): Walk {
  const start = (yield { peek: 12 }).toString('latin1');
  const named = Object.entries(unsupported).find(([, pattern]) => pattern.test(start));
  if (start.startsWith('\xff\xd8\xff')) yield* walkJpeg(findings);
  else if (start.startsWith('\x89PNG\r\n\x1a\n')) yield* walkPng(findings);
  else if (/^GIF8[79]a/.test(start)) yield* walkGif(findings);
  else if (/^RIFF.{4}WEBP/s.test(start)) yield* walkWebp(findings);
  else if (/^.{4}ftyp/s.test(start)) yield* walkAvif(findings);
  else findings.other = named?.[0] ?? null;
}

/** Markers without a length: TEM and RST0 to RST7. A zero is no marker but a byte of ones in the image. */
function isAlone(marker: number): boolean {
  return marker === 0 || marker === 1 || (marker >= 0xd0 && marker <= 0xd7);
}

/** SOF0 to SOF15, without DHT, JPG and DAC. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function* walkJpeg(findings: Findings): Walk {
  findings.type = 'image/jpeg';
  yield { skip: 2 };
  for (;;) {
    yield { until: 0xff };
    let marker = 0xff;
    // Any number of fill bytes may stand in front of a marker.
    while (marker === 0xff) marker = (yield { take: 1 }).readUInt8();
    if (marker === 0xd9) break;
    if (isAlone(marker)) continue;
    const length = (yield { take: 2 }).readUInt16BE();
    // A thumbnail is a whole JPEG inside a segment: it is passed over with it.
    if (!isFrame(marker)) yield { skip: length - 2 };
    else {
      const frame = yield { take: 5 };
      findings.height = frame.readUInt16BE(1);
      findings.width = frame.readUInt16BE(3);
      yield { skip: length - 7 };
    }
  }
  findings.whole = true;
}

function* walkPng(findings: Findings): Walk {
  findings.type = 'image/png';
  yield { skip: 8 };
  for (let name = ''; name !== 'IEND'; ) {
    const head = yield { take: 8 };
    const length = head.readUInt32BE();
    name = head.toString('latin1', 4);
    if (name === 'IHDR') {
      const size = yield { peek: 8 };
      findings.width = size.readUInt32BE();
      findings.height = size.readUInt32BE(4);
    }
    // A checksum of four bytes follows.
    yield { skip: length + 4 };
  }
  findings.whole = true;
}

function* walkGif(findings: Findings): Walk {
  findings.type = 'image/gif';
  const colours = (flags: number) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  const head = yield { take: 13 };
  yield { skip: colours(head.readUInt8(10)) };
  for (;;) {
    const block = (yield { take: 1 }).readUInt8();
    if (block === 0x3b) break;
    if (block === 0x2c) {
      findings.width = head.readUInt16LE(6);
      findings.height = head.readUInt16LE(8);
      yield { skip: colours((yield { take: 9 }).readUInt8(8)) + 1 };
    } else if (block === 0x21) yield { skip: 1 };
    else return;
    for (let length = -1; length !== 0; yield { skip: length }) length = (yield { take: 1 }).readUInt8();
  }
  findings.whole = true;
}

function* walkWebp(findings: Findings): Walk {
  findings.type = 'image/webp';
  const head = yield { take: 20 };
  const left = head.readUInt32LE(4) + 8 - head.length;
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ': {
      const frame = yield { peek: 10 };
      findings.width = frame.readUInt16LE(6) & 0x3fff;
      findings.height = frame.readUInt16LE(8) & 0x3fff;
      break;
    }
    case 'VP8L': {
      const bits = (yield { peek: 5 }).readUInt32LE(1);
      findings.width = (bits & 0x3fff) + 1;
      findings.height = ((bits >> 14) & 0x3fff) + 1;
      break;
    }
    case 'VP8X': {
      const canvas = yield { peek: 10 };
      findings.width = canvas.readUIntLE(4, 3) + 1;
      findings.height = canvas.readUIntLE(7, 3) + 1;
      break;
    }
    default:
      return;
  }
  yield { skip: left };
  findings.whole = true;
}

function* walkAvif(findings: Findings): Walk {
  const length = (yield { peek: 4 }).readUInt32BE();
  if (length < 16 || length > mostTaken) return;
  // The major brand, its version, and all brands that the file is compatible with.
  const brands = (yield { take: length }).toString('latin1', 8).match(/.{4}/gs) ?? [];
  if (!brands.some((brand) => ['avif', 'avis'].includes(brand))) {
    if (brands.some((brand) => /^(?:hei|hev|mif1|msf1)/.test(brand))) findings.other = 'HEIC';
    return;
  }
  findings.type = 'image/avif';
  let at = length;
  let metaEnd = Number.POSITIVE_INFINITY;
  let dataEnd: number | null = null;
  while (at < metaEnd) {
    const head = yield { take: 8 };
    const name = head.toString('latin1', 4);
    const stated = head.readUInt32BE();
    // 1: the size follows in eight bytes.
    const header = stated === 1 ? 16 : 8;
    const size = (header === 8 ? stated : Number((yield { take: 8 }).readBigUInt64BE())) - header;
    if (size < 0) return;
    at += header;
    if (name === 'meta') {
      metaEnd = at + size;
      // Version and flags; its boxes follow.
      yield { skip: 4 };
      at += 4;
    } else if (name !== 'iprp' && name !== 'ipco') {
      if (name === 'iloc' || name === 'ispe') {
        if (size > mostTaken) return;
        const content = yield { peek: size };
        if (name === 'iloc') dataEnd = endOfItems(content);
        else enlarge(findings, content.readUInt32BE(4), content.readUInt32BE(8));
      }
      yield { skip: size };
      at += size;
    }
  }
  if (dataEnd === null) return;
  yield { skip: dataEnd - at };
  findings.whole = true;
}

/** Keeps the largest item: the others are tiles and thumbnails of it. */
function enlarge(findings: Findings, width: number, height: number): void {
  if (width * height <= findings.width * findings.height) return;
  findings.width = width;
  findings.height = height;
}

/** Returns the position in the file behind the last item's data, by the box `iloc` (ISO/IEC 14496-12, 8.11.3). */
function endOfItems(box: Buffer): number {
  const version = box.readUInt8();
  let at = 4;
  const number = (bytes: number): number => {
    at += bytes;
    if (bytes === 8) return Number(box.readBigUInt64BE(at - 8));
    return bytes === 0 ? 0 : box.readUIntBE(at - bytes, bytes);
  };
  const [sizes, others] = [number(1), number(1)];
  let end = 0;
  for (let items = number(version < 2 ? 2 : 4); items > 0; items -= 1) {
    number(version < 2 ? 2 : 4);
    // 0: the data stand in this file, at an offset from its beginning.
    const inFile = version === 0 || (number(2) & 15) === 0;
    const here = number(2) === 0 && inFile;
    const base = number(others >> 4);
    for (let extents = number(2); extents > 0; extents -= 1) {
      if (version > 0) number(others & 15);
      const [offset, length] = [number(sizes >> 4), number(sizes & 15)];
      if (here) end = Math.max(end, base + offset + length);
    }
  }
  return end;
}
