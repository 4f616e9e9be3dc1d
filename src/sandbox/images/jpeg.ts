import { hex, roll } from '../random.ts';

/** The properties that make one file differ from the others. */
export interface Picture {
  readonly key: string;
  readonly width: number;
  readonly height: number;
  /** The number of times the image was replaced. */
  readonly edition: number;
}

/**
 * Returns a JPEG that any program can show: a single grey of the given size. Its comments bring it to 2 to 14 kB, and
 * hold the text that makes it unique.
 */
export function jpeg(seed: number, { key, width, height, edition }: Picture): Buffer {
  const text = `sandbox ${key} ${width}x${height} edition ${edition} `;
  const filling = hex(2000 + 2 * Math.floor(roll(seed, key, width, 'length') * 6000), seed, key, width, edition);
  return Buffer.concat([
    Buffer.of(0xff, 0xd8),
    segment(0xe0, Buffer.from('4a46494600010100000100010000', 'hex')),
    segment(0xfe, Buffer.from(text + filling)),
    segment(0xdb, Buffer.concat([Buffer.of(0), Buffer.alloc(64, 1)])),
    segment(0xc0, Buffer.of(8, height >> 8, height & 0xff, width >> 8, width & 0xff, 1, 1, 0x11, 0)),
    // Differences of 0 or of seven bits (codes 0 and 10). The other coefficients have a single code, "no more" (code
    // 0).
    segment(0xc4, Buffer.concat([Buffer.of(0x00, 1, 1), Buffer.alloc(14), Buffer.of(0, 7)])),
    segment(0xc4, Buffer.concat([Buffer.of(0x10, 1), Buffer.alloc(15), Buffer.of(0)])),
    segment(0xda, Buffer.of(1, 1, 0, 0, 63, 0)),
    scan(Math.ceil(width / 8) * Math.ceil(height / 8), Math.floor(roll(seed, key, edition) * 128)),
    Buffer.of(0xff, 0xd9),
  ]);
}

function segment(marker: number, payload: Buffer): Buffer {
  const length = payload.length + 2;
  return Buffer.concat([Buffer.of(0xff, marker, length >> 8, length & 0xff), payload]);
}

/** Encodes the image: the first block has the grey, each further block has the difference 0 to it, in two bits. */
function scan(blocks: number, grey: number): Buffer {
  const first = `10${grey.toString(2).padStart(7, '0')}0`;
  const bits = first.length + 2 * (blocks - 1);
  const bytes = Buffer.alloc(Math.ceil(bits / 8));
  for (const [at, bit] of [...first].entries())
    if (bit === '1') bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (0x80 >> (at & 7));
  for (let at = bits; at < bytes.length * 8; at += 1) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (0x80 >> (at & 7));
  return bytes;
}
