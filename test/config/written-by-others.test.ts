import { chmodSync, chownSync, mkdirSync, mkdtempDisposableSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig, loadWholeConfig } from '../../src/config/load.ts';
import { refusalOf } from './check.ts';

/** Writes a configuration and its adapter, each with a mode, into a directory with a third one. */
function harness(modes: { readonly config?: number; readonly adapter?: number; readonly directory?: number }) {
  const { config = 0o644, adapter = 0o644, directory = 0o755 } = modes;
  const { path: top, [Symbol.dispose]: remove } = mkdtempDisposableSync(join(tmpdir(), 'catalogued-writers-'));
  chmodSync(top, 0o755);
  const place = join(top, 'etc');
  mkdirSync(place);
  const [file, module] = [join(place, 'catalogued.yaml'), join(place, 'adapter.mjs')];
  writeFileSync(file, `service: { base_url: https://api.example.com, adapter: ${module} }\n`);
  writeFileSync(module, 'export const request = (question, ask) => ask;\n');
  chmodSync(file, config);
  chmodSync(module, adapter);
  chmodSync(place, directory);
  const env = { CATALOGUED_API_KEY: 'k' };
  return {
    place,
    top,
    file,
    module,
    loads: (path = file) => refusalOf(() => loadWholeConfig({ file: path, env })),
    asksForAdapter: () => refusalOf(() => loadConfig({ file, env }).adapter()),
    [Symbol.dispose]: remove,
  };
}

test.each([0o600, 0o640, 0o644, 0o444, 0o755])('a configuration and an adapter of mode %o are read', (mode) => {
  using at = harness({ config: mode, adapter: mode });
  expect(at.loads()).toBeNull();
  expect(at.asksForAdapter()).toBeNull();
});

test.each([
  [0o664, '0664'],
  [0o620, '0620'],
  [0o646, '0646'],
  [0o666, '0666'],
  [0o777, '0777'],
])('a configuration of mode %o is refused by every command', (config, shown) => {
  using at = harness({ config });
  for (const refusal of [at.loads(), at.asksForAdapter()])
    expect(refusal).toMatchObject({
      exitCode: 77,
      code: 'permission',
      message: `the configuration: others can write ${at.file} (mode ${shown})`,
      hint: `chmod go-w ${at.file}`,
    });
});

test.each([
  [0o664, '0664'],
  [0o602, '0602'],
])('an adapter of mode %o is refused, and not run', (adapter, shown) => {
  using at = harness({ adapter });
  writeFileSync(at.module, 'globalThis.ranWhatOthersWrote = true;\n');
  for (const refusal of [at.loads(), at.asksForAdapter()])
    expect(refusal).toMatchObject({
      exitCode: 77,
      message: `service.adapter: others can write ${at.module} (mode ${shown})`,
      hint: `chmod go-w ${at.module}`,
    });
  expect(globalThis).not.toHaveProperty('ranWhatOthersWrote');
});

test.each([
  ['by all', 0o757, '0757'],
  ['by all, with the bit of its group', 0o2777, '2777'],
])('a file in a directory that can be written %s is refused: others could replace it', (_, directory, shown) => {
  using at = harness({ directory });
  expect(at.loads()).toMatchObject({
    exitCode: 77,
    message: `the configuration: others can replace ${at.file}: they can write its directory (mode ${shown})`,
    hint: `chmod go-w ${at.place}`,
  });
});

test('a directory in which nobody can replace the files of others is as good as one that others cannot write', () => {
  using at = harness({ directory: 0o1777 });
  expect(at.loads()).toBeNull();
});

test.skipIf(process.getuid?.() !== 0)(
  "a directory of its owner's own group may be written by it, one of another group not",
  () => {
    using at = harness({ directory: 0o775 });
    expect(at.loads()).toBeNull();
    chownSync(at.place, 0, 1);
    expect(at.loads()?.message).toContain('others can replace');
  },
);

test('a link is as safe as its own directory, and as that of its file', () => {
  using at = harness({});
  const open = join(at.top, 'open');
  mkdirSync(open);
  chmodSync(open, 0o777);
  const link = join(open, 'link.yaml');
  symlinkSync(at.file, link);
  expect(at.loads(link)?.message).toContain('others can replace');
  const safe = join(at.top, 'link.yaml');
  symlinkSync(at.file, safe);
  expect(at.loads(safe)).toBeNull();
  chmodSync(at.place, 0o777);
  expect(at.loads(safe)?.message).toContain('others can replace');
});
