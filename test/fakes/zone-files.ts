import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A zone as a file has it: its offsets in minutes, each from an instant on, and the text that rules after the last one. */
export interface PlantedZone {
  readonly first: number;
  readonly changes: readonly (readonly [from: string, offset_minutes: number])[];
  readonly footer: string;
}

/** Returns the bytes of a TZif file, version 2 (RFC 9636). Its first block, for readers of version 1, is empty. */
export function tzifOf({ first, changes, footer }: PlantedZone, { version = '2', leaps = 0 } = {}): Buffer {
  const offsets = [first, ...changes.map(([, offset]) => offset)];
  const header = (times: number, types: number) => {
    const bytes = Buffer.alloc(44);
    bytes.write(`TZif${version}`);
    // Leap seconds, changes, kinds of time and letters.
    for (const [index, count] of [0, 0, types === 0 ? 0 : leaps, times, types, 4].entries())
      bytes.writeUInt32BE(count, 20 + 4 * index);
    return bytes;
  };
  const data = Buffer.alloc(9 * changes.length + 6 * offsets.length + 4 + 12 * leaps);
  for (const [index, [from]] of changes.entries()) {
    data.writeBigInt64BE(BigInt(Date.parse(from) / 1000), 8 * index);
    data.writeUInt8(index + 1, 8 * changes.length + index);
  }
  for (const [index, offset] of offsets.entries()) data.writeInt32BE(60 * offset, 9 * changes.length + 6 * index);
  return Buffer.concat([
    header(0, 0),
    Buffer.alloc(4),
    header(changes.length, offsets.length),
    data,
    Buffer.from(`\n${footer}\n`),
  ]);
}

/** Writes a directory of zones as an operating system has one. `release` null: no file names it. */
export function plantZones(
  directory: string,
  release: string | null,
  zones: Readonly<Record<string, PlantedZone | Buffer>>,
): void {
  rmSync(directory, { recursive: true, force: true });
  const write = (name: string, bytes: Buffer | string) => {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), bytes);
  };
  if (release !== null) write('tzdata.zi', `# version ${release}\n# This zic input file is in the public domain.\n`);
  write('UTC', tzifOf({ first: 0, changes: [], footer: 'UTC0' }));
  for (const [name, zone] of Object.entries(zones)) write(name, Buffer.isBuffer(zone) ? zone : tzifOf(zone));
}
