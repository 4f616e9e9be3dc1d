import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { document } from '../../documents.ts';
import { differentHarness } from '../../fakes/different-harness.ts';
import { openMirrorAt } from '../../fakes/mirror-at.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { deviations } from './deviations.ts';

/*
 * Services of other shapes, and the adapter that follows each: the mirror has what the sandbox behind the difference shows.
 */

/** On three pages of the list: what differs is the shape of an answer, whatever is in it. */
const products = 6;
const page_size = 2;

/** As a person counts them: without empty lines. */
const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '').length;

describe('with an adapter, a service that', () => {
  it.each(deviations)('$service is mirrored without a difference', async (deviation) => {
    const { difference, adapter, languages = ['en'], sandbox = {} } = deviation;
    using directory = temporaryDirectory();
    const file = join(directory.path, 'adapter.mjs');
    writeFileSync(file, adapter);
    const service = { adapter: file, languages, profile: { page_size } };
    await using harness = await differentHarness(difference, service, { products, ...sandbox });
    await harness.runUntil(harness.isFilled);
    expect(harness.isFilled()).toBe(true);
    if (languages.length > 1) {
      const reader = openMirrorAt(harness.daemon.config.mirror.path, harness.clock.now());
      const titles = reader.prepare('SELECT title FROM products WHERE language = ?').pluck().all(languages[1]);
      reader.close();
      expect(titles.filter((title) => String(title).endsWith(`[${languages[1]}]`))).toHaveLength(products);
      return;
    }
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [], products });
    expect(harness.status().records.failing).toBe(0);
  });

  it('is in the table of docs/reference/assumptions.md, with the lines of its adapter', () => {
    const rows = deviations.map(({ service, adapter }) => `| ${service} | ${linesOf(adapter)} |`);
    expect(rows).toHaveLength(16);
    expect(document('docs/reference/assumptions.md')).toContain(rows.join('\n'));
  });

  it('is not mirrored without it (control)', async () => {
    const failing: string[] = [];
    for (const { service, difference, sandbox = {} } of deviations.filter(({ languages }) => languages === undefined)) {
      await using harness = await differentHarness(difference, { profile: { page_size } }, { products, ...sandbox });
      await harness.drive(harness.daemon.schedule.run('pass') as Promise<unknown>);
      const isSame = harness.isFilled() && (await harness.compare()).differences === 0;
      if (!isSame) failing.push(service);
    }
    expect(failing).toEqual(
      deviations.filter(({ languages }) => languages === undefined).map(({ service }) => service),
    );
  });
});
