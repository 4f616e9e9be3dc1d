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
 * Returns a JPEG that any program can show: a sky above a ground, in two colours of its own. Its comments bring it to a
 * few kilobytes, and hold the text that makes it unique.
 */
export function jpeg(seed: number, { key, width, height, edition }: Picture): Buffer {
  const text = `sandbox ${key} ${width}x${height} edition ${edition} `;
  const filling = hex(2000 + 2 * Math.floor(roll(seed, key, width, 'length') * 6000), seed, key, width, edition);
  const [columns, rows] = [Math.ceil(width / 8), Math.ceil(height / 8)];
  const chance = (what: string) => roll(seed, key, edition, what);
  const ground = Math.floor(rows * (0.5 + 0.3 * chance('horizon')));
  // Brightness, and how blue and how red. No two differ by more than 127.
  const sky = [40 + chance('light') * 50, chance('blue') * 45, chance('red') * 60 - 40];
  const land = [-30 + chance('dark') * 60, -10 - chance('green') * 40, chance('earth') * 60 - 30];
  return Buffer.concat([
    Buffer.of(0xff, 0xd8),
    segment(0xe0, Buffer.from('4a46494600010100000100010000', 'hex')),
    segment(0xfe, Buffer.from(text + filling)),
    // Steps of one level of brightness.
    segment(0xdb, Buffer.concat([Buffer.of(0), Buffer.alloc(64, 8)])),
    segment(
      0xc0,
      Buffer.of(
        8,
        height >> 8,
        height & 0xff,
        width >> 8,
        width & 0xff,
        3,
        ...[1, 2, 3].flatMap((id) => [id, 0x11, 0]),
      ),
    ),
    // Differences of 0 (code 0) or of n bits (four bits, 7 + n). The other coefficients have a single code, "no more"
    // (code 0).
    segment(0xc4, Buffer.concat([Buffer.of(0x00, 1, 0, 0, 7), Buffer.alloc(12), Buffer.of(0, 1, 2, 3, 4, 5, 6, 7)])),
    segment(0xc4, Buffer.concat([Buffer.of(0x10, 1), Buffer.alloc(15), Buffer.of(0)])),
    segment(0xda, Buffer.of(3, 1, 0, 2, 0, 3, 0, 0, 63, 0)),
    scan(
      [sky, land].map((colour) => colour.map(Math.round)),
      columns * ground,
      columns * (rows - ground),
    ),
    Buffer.of(0xff, 0xd9),
  ]);
}

function segment(marker: number, payload: Buffer): Buffer {
  const length = payload.length + 2;
  return Buffer.concat([Buffer.of(0xff, marker, length >> 8, length & 0xff), payload]);
}

/** Encodes blocks of one colour, then of another: of each block the differences to the block before, two bits if none. */
function scan(colours: readonly (readonly number[])[], ...counts: readonly number[]): Buffer {
  let bits = '';
  let before: readonly number[] = [0, 0, 0];
  for (const [index, colour] of colours.entries()) {
    const count = counts[index] ?? 0;
    if (count === 0) continue;
    bits += colour.map((value, each) => difference(value - (before[each] ?? 0))).join('') + '000000'.repeat(count - 1);
    before = colour;
  }
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  const bytes = Buffer.alloc(padded.length / 8);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(padded.slice(at * 8, at * 8 + 8), 2);
  return stuffed(bytes);
}

/** Encodes one difference: the number of its bits, the bits (of a negative one inverted), and "no more". */
function difference(value: number): string {
  if (value === 0) return '00';
  const size = Math.abs(value).toString(2).length;
  const bits = value > 0 ? value : value + 2 ** size - 1;
  return `${(7 + size).toString(2).padStart(4, '0')}${bits.toString(2).padStart(size, '0')}0`;
}

/** Puts a zero behind each byte of ones, which otherwise would begin a marker. */
function stuffed(bytes: Buffer): Buffer {
  return Buffer.from(
    bytes.toString('hex').replace(/(..)/g, (byte) => (byte === 'ff' ? 'ff00' : byte)),
    'hex',
  );
}
