import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { everyCommand, throughPipe } from '../fakes/every-command.ts';
import { startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const tooWide = (text: string) => text.split('\n').filter((line) => line.length > 80);

describe('in 80 columns', () => {
  const stack = new AsyncDisposableStack();
  let run: (...args: string[]) => ReturnType<typeof runHere>;
  let run80: typeof run;
  let start: (...args: string[]) => ReturnType<typeof startCli>;
  let product = '';
  beforeAll(async () => {
    const { path: cwd } = stack.use(temporaryDirectory());
    const sandbox = stack.use(await startSandbox({ products: 6 }));
    const config = writeTestConfig(cwd, sandbox.url);
    run = (...args) => runHere(['--config', config, ...args], { env: throughPipe });
    run80 = (...args) => runHere(['--config', config, ...args], { env: { ...throughPipe, COLUMNS: '80' } });
    start = (...args) => startCli(['--config', config, ...args], { cwd });
    product = String(sandbox.world.visible()[0]?.id);
    expect((await run('resync', '--all', '--wait')).code).toBe(0);
  });
  afterAll(() => stack.disposeAsync());

  it('stands every help text', async () => {
    const commands = await everyCommand();
    expect(commands.length).toBeGreaterThan(42);
    const wide: Record<string, string[]> = {};
    for (const args of commands) {
      const lines = tooWide((await runHere([...args, '--help'], { env: throughPipe })).stdout);
      if (lines.length > 0) wide[args.join(' ')] = lines;
    }
    expect(wide).toEqual({});
  });

  it('stand status, plan and explain, with a daemon and without one', async () => {
    const date = new Date(systemClock.now() + 5 * 86_400_000).toISOString().slice(0, 10);
    const all = async () => {
      const wide: string[] = [];
      for (const args of [
        ['status'],
        ['plan'],
        ['plan', '--declaration'],
        ['explain', product],
        ['explain', product, '--date', date],
      ]) {
        const { stdout, stderr } = await run(...args);
        expect(stdout, stderr).not.toBe('');
        wide.push(...tooWide(stdout));
      }
      return wide;
    };
    expect(await all()).toEqual([]);
    const daemon = start('run');
    await daemon.said('daemon started');
    expect(await all()).toEqual([]);
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  });

  it('stands the audit of images on a terminal, its summary through a pipe too, and cites nothing that users lack', async () => {
    const narrow = await run80('images', 'audit');
    expect(narrow.stdout).toMatch(/^Rule .*\n {17}\S/m);
    expect(tooWide(narrow.stdout)).toEqual([]);
    const { stdout } = await run('images', 'audit');
    expect(tooWide(stdout.split('\nPublished\n')[0] ?? '')).toEqual([]);
    // Through a pipe each image stays in one line.
    expect(stdout).toMatch(/^ *\d+ .* \d{4}-\d{2}-\d{2} \d{2}:\d{2} .*\d{2}:\d{2}$/m);
    expect(stdout).not.toMatch(/specification|§/);
  });
});
