import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readCatalogue } from '../../src/sandbox/world/catalogue-file.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { needs } from '../fakes/needs.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { sharedData } from '../fakes/tools.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const data = fileURLToPath(sharedData);

describe('real data', needs('data'), () => {
  it('is served, mirrored and found equal: a sample of 40 products', needs('time'), async () => {
    const catalogue = readCatalogue(join(data, 'catalogue-sample.json'));
    expect(catalogue).toHaveLength(600);
    await using harness = await filledHarness({ catalogue: catalogue.filter((_, index) => index % 15 === 0) });
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [], products: 40 });
  });

  it.each(['recorded-product_en_usd.json', 'recorded-product_nl_eur.json'])(
    '%s: every member of a recorded answer is found in the mirror',
    async (name) => {
      const [entry] = readCatalogue(join(data, name));
      await using harness = await filledHarness({ catalogue: entry === undefined ? [] : [entry] });
      const db = openMirrorAt(harness.daemon.config.mirror.path, harness.clock.now());
      const { images, ...rest } = (entry?.recorded ?? {}) as Record<string, unknown>;
      const document = db.prepare<[], string>('SELECT document FROM products').pluck().get();
      expect(JSON.parse(document ?? '')).toEqual(rest);
      const shown = db.prepare<[], string>('SELECT document FROM images ORDER BY position').pluck().all();
      expect(shown.map((image) => JSON.parse(image) as unknown)).toEqual(images);
      db.close();
    },
  );
});

it.each([
  ['not json', /is not JSON/],
  ['[]', /has no entries/],
  ['[{"id":"1"}]', /entry 0 is neither/],
  ['{"products":[]}', /entry 0 is neither/],
])('a catalogue of %s is refused', (text, says) => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'catalogue.json');
  writeFileSync(path, text);
  expect(() => readCatalogue(path)).toThrow(says);
});
