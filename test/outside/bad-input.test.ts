import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../fakes/run-cli.ts';

let cwd = '';
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'outside-'));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** Returns the code of a command that prints nothing but one line that says what is wrong, and one that says what to do. */
async function refused(line: string): Promise<number | null> {
  const { code, stdout, stderr } = await runCli(line.split(' '), { cwd });
  expect(stdout, line).toBe('');
  expect(stderr, line).toMatch(/^Error: [^\n]+\n(?:Try: [^\n]+\n)?$/);
  return code;
}

it('bad input is refused with one line and the code that the documents name', async () => {
  const lines = {
    nothing: 64,
    'status --nothing': 64,
    explain: 64,
    'check 7 --date 2026-02-30': 64,
    'changes --after -1': 64,
    'held approve nothing': 64,
    'sandbox --port 70000': 64,
    'follow copy.db --from nowhere': 64,
    '--config nowhere.yaml status': 78,
  };
  const codes: Record<string, number | null> = {};
  for (const line of Object.keys(lines)) codes[line] = await refused(line);
  expect(codes).toEqual(lines);
  // Where nothing is wrong, it is seen (control).
  await expect(refused('config schema')).rejects.toThrow();
});

it('each problem of a configuration has a line of its own', async () => {
  writeFileSync(join(cwd, 'bad.yaml'), 'service: { base_url: 7 }\nmirorr: {}\n');
  const { code, stdout, stderr } = await runCli(['--config', 'bad.yaml', 'run'], { cwd });
  expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
  expect(stderr).toMatch(/^Error: [^\n]+\n(?: {2}line \d+: [^\n]+\n){2,}Try: [^\n]+\n$/);
});
