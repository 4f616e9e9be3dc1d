const block = 512;

/** Returns a tar archive (POSIX ustar) of texts by their names, each of at most 100 characters and readable by its owner alone. */
export function tar(files: ReadonlyMap<string, string>, now: number): Buffer {
  const entries = [...files].flatMap(([name, text]) => {
    const bytes = Buffer.from(text);
    return [header(name, bytes.length, now), bytes, Buffer.alloc(-bytes.length & (block - 1))];
  });
  return Buffer.concat([...entries, Buffer.alloc(2 * block)]);
}

function header(name: string, size: number, now: number): Buffer {
  const bytes = Buffer.alloc(block);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  const fields: readonly (readonly [at: number, text: string])[] = [
    [0, name],
    [100, octal(0o600, 7)],
    [108, octal(0, 7)],
    [116, octal(0, 7)],
    [124, octal(size, 11)],
    [136, octal(Math.floor(now / 1000), 11)],
    // The checksum is reckoned as if spaces stood in its place.
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\x0000'],
  ];
  for (const [at, text] of fields) bytes.write(text, at, 'latin1');
  bytes.write(
    octal(
      bytes.reduce((sum, byte) => sum + byte, 0),
      6,
    ),
    148,
    'latin1',
  );
  return bytes;
}
