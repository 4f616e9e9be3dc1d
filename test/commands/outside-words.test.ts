import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { runHere } from '../fakes/run-here.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

const hostile = 'Tour\u001b]0;owned\u0007\u009b31m\u202egnp.exe\u2066\r\nIn breach        0';
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal obeys them
const steers = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\r(?!\n)/;

it('no command prints what steers a terminal, wherever the service put it', async () => {
  await using harness = await virtualHarness({ lean: true, products: 5 }, { images: {} });
  for (const product of harness.sandbox.products()) {
    product.title = hostile;
    for (const image of product.images) image.credit = hostile;
  }
  await harness.runUntil(harness.isFilled);
  const shown = harness.sandbox.products().find(({ images }) => images.length > 0);
  const directory = dirname(dirname(harness.daemon.config.mirror.path));
  const config = join(directory, 'catalogued.yaml');
  writeFileSync(config, testConfigText(directory, harness.sandbox.url));
  const commands = [
    ['explain', String(shown?.id)],
    ['explain', String(shown?.id), '--json'],
    ['images', 'audit'],
    ['images', 'audit', '--csv'],
    ['changes', '--limit', '1000'],
    ['subscription', 'list'],
    ['status'],
  ];
  let seen = 0;
  for (const command of commands) {
    const { stdout, stderr } = await runHere(['--config', config, ...command]);
    expect(stdout + stderr, command.join(' ')).not.toMatch(steers);
    if (stdout.includes('gnp.exe')) seen += 1;
  }
  // The words are there, as escapes.
  expect(seen).toBeGreaterThanOrEqual(3);
});
