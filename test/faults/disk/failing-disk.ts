import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { endianness, tmpdir } from 'node:os';
import { join } from 'node:path';

/** `fails`: EIO; `full`: ENOSPC; `short`: half of it is written, and the rest finds no room. */
export type How = 'fails' | 'full' | 'short';

/** The calls that are to fail: `times` of them, from the `from`-th on. */
export interface Planned {
  readonly how: How;
  readonly from: number;
  readonly times: number;
}

/** A disk that fails when it is told to, in a process that `environment` was given to. */
export interface FailingDisk extends Disposable {
  arm(planned: Planned): void;
  /** Nothing fails any more. Returns how many calls there were since it was armed, and how many of them failed. */
  disarm(): { readonly calls: number; readonly failed: number };
}

const ways: Readonly<Record<How, number>> = { fails: 1, full: 2, short: 3 };

/** What a process needs from its start on whose disk is to fail: writes, fsyncs and truncations below a directory. */
export function failingDisk(control: string, below: string): Record<string, string> {
  writeFileSync(control, Buffer.alloc(20));
  return { LD_PRELOAD: library(), FAILING_DISK: control, FAILING_DISK_BELOW: below };
}

/** The disk of this process, which was started with what `failingDisk` returned. */
export function ownDisk(control = process.env.FAILING_DISK ?? ''): FailingDisk {
  const file = openSync(control, 'r+');
  const write = (...numbers: number[]) => {
    writeSync(file, Int32Array.from(numbers), 0, 4 * numbers.length, 0);
  };
  const read = () => {
    const numbers = new Int32Array(5);
    readSync(file, numbers, 0, 20, 0);
    return { calls: numbers[3] ?? 0, failed: numbers[4] ?? 0 };
  };
  return {
    arm: ({ how, from, times }) => write(ways[how], from, times, 0, 0),
    disarm: () => {
      write(0);
      return read();
    },
    [Symbol.dispose]: () => closeSync(file),
  };
}

/** Returns the path of the library, compiled once for this version of its text. */
function library(): string {
  const source = join(import.meta.dirname, 'failing-disk.c');
  const made = join(tmpdir(), `catalogued-failing-disk-${statSync(source).mtimeMs}-${endianness()}.so`);
  const own = `${made}.${process.pid}`;
  const script = 'test -e "$2" || { cc -shared -fPIC -O1 -o "$3" "$1" -ldl && mv "$3" "$2"; }';
  const { status, stderr } = spawnSync('sh', ['-c', script, 'sh', source, made, own], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`cannot compile ${source}: ${stderr}`);
  return made;
}
