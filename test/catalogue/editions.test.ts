import { expect, it } from 'vitest';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { needs } from '../fakes/needs.ts';
import { filledHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { compare } from '../oracle/oracle.ts';

it(
  'every language and currency that is configured is mirrored, and equals what the service shows in it',
  needs('time'),
  async () => {
    await using harness = await virtualHarness({ products: 30 });
    const { base_url } = harness.daemon.config.service;
    const service = {
      base_url,
      languages: ['en', 'nl'],
      currencies: ['EUR', 'JPY', 'KWD'],
      profile: { authorization: { header: null } },
    };
    await using both = await filledHarness({ products: 30 }, { service });
    const db = openMirrorAt(both.daemon.config.mirror.path, both.clock.now());
    const ids = harness.sandbox.world.visible().map(({ id }) => id);
    const only = (language: string, currency: string) => {
      // The oracle speaks of one edition: it sees a file through a filter of that edition.
      return {
        prepare: (sql: string) => {
          const view = /FROM (\w+)/.exec(sql)?.[1] ?? '';
          const columns = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(view);
          const filters = [
            columns.includes('language') ? `language = '${language}'` : '',
            columns.includes('currency') && view !== 'products' ? `currency = '${currency}'` : '',
          ].filter(Boolean);
          const where = sql.includes('WHERE') ? ' AND ' : ' WHERE ';
          return db.prepare(filters.length === 0 ? sql : `${sql}${where}${filters.join(' AND ')}`);
        },
      } as unknown as typeof db;
    };
    for (const [language, currency] of [
      ['en', 'EUR'],
      ['nl', 'EUR'],
      ['en', 'JPY'],
      ['en', 'KWD'],
    ] as const) {
      const state = async (id: number) => {
        const shown = both.sandbox.state(id, { language, currency, horizon: 92 });
        const primary = both.sandbox.state(id, { language, currency: 'EUR', horizon: 92 });
        if (shown === null || primary === null) throw new Error(`no product ${id}`);
        // Documents are read in the primary currency, variants are enriched in the primary language.
        const enriched = language === 'en' ? shown.availability_variants : [];
        const inEnglish = both.sandbox.state(id, { language: 'en', currency, horizon: 1 })?.listed_tags ?? [];
        // What the list in a language does not name has the names of the primary one.
        const listed_tags = (shown.listed_tags ?? []).map((tag, index) =>
          tag.name === null ? { ...inEnglish[index], shown: 'en' } : tag,
        );
        return { ...shown, entry: primary.entry, detail: primary.detail, availability_variants: enriched, listed_tags };
      };
      const found = await compare(only(language, currency), ids, state, {
        language,
        currency,
        now: both.clock.now(),
      });
      // Availability, and the names of groups with it, is read in the primary language.
      const expected = found.first.filter(
        (line) =>
          !/^(products\.(currency|from_price|prediscount_price|lowest_price|lowest_adult_price)|variants\.group_names) /.test(
            line,
          ),
      );
      expect(expected, `${language}/${currency}`).toEqual([]);
      expect(found.products).toBe(30);
    }
    db.close();
  },
);
