import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cli, nameOfSources } from './built-program.ts';
import { runCli } from './run-cli.ts';
import { temporaryDirectory } from './test-mirror.ts';

it('what tests start is built of the sources as they are, and built again when one of them has changed', async () => {
  const root = join(import.meta.dirname, '../..');
  expect(cli).toBe(join(root, 'node_modules/.cache/built', nameOfSources(root), 'dist/cli.js'));
  using other = temporaryDirectory();
  mkdirSync(join(other.path, 'src/domain'), { recursive: true });
  const write = (file: string, text: string) => writeFileSync(join(other.path, file), text);
  for (const file of ['.rolldown.ts', 'package-lock.json', 'src/cli.ts', 'src/domain/plan.ts']) write(file, '');
  const first = nameOfSources(other.path);
  expect(nameOfSources(other.path)).toBe(first);
  write('src/domain/plan.ts', '\n');
  expect(nameOfSources(other.path)).not.toBe(first);

  const { code, stdout } = await runCli(['config', 'schema'], { cwd: other.path });
  expect([code, stdout]).toEqual([0, expect.stringContaining('"$schema"')]);
});
