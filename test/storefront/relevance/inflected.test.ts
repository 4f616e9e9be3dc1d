import { describe, expect, it } from 'vitest';
import { openReader } from '../../fakes/reader.ts';
import { putProducts } from '../../fakes/stored-products.ts';
import { testMirror } from '../../fakes/test-mirror.ts';
import { inflected, inflectedEntries, inflectedId } from './inflected-products.ts';
import { inflectedQueries } from './inflected-queries.ts';

describe('a catalogue whose words are inflected', () => {
  it.each(inflected)('finds 23 of 25 queries among the first three: %s', (language) => {
    using test = testMirror();
    const [english, own] = inflectedEntries(language);
    expect(own).toHaveLength(240);
    putProducts(test.mirror, english);
    putProducts(test.mirror, own, { language });
    using reader = openReader(test.mirror.path);
    const missed = inflectedQueries[language].flatMap(([text, name, city]) => {
      const { hits } = reader.search({ text, language });
      const place = hits.findIndex(({ product_id }) => product_id === inflectedId(language, name, city));
      if (process.env['SHOW']) console.log(language, text, place, hits.slice(0, 3).map(({ title }) => title));
      return place >= 0 && place < 3 ? [] : [`${text}: ${place < 0 ? 'not found' : `place ${place + 1}`}`];
    });
    expect(inflectedQueries[language]).toHaveLength(25);
    expect(25 - missed.length, missed.join(', ')).toBeGreaterThanOrEqual(23);
  });
});
