import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes what was written to a file, or the names in a directory, outlast a power cut. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
