import type { Bound, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { ShownProducts } from './product/shown.ts';
import type { SearchTable } from './search.ts';

interface OfLanguage {
  readonly language: string;
}

/** The languages that are mirrored: the views have rows in each. */
export interface LanguageTable {
  /** Makes them these. */
  write(languages: readonly string[]): void;
}

export function languageTable(db: Writes, shown: Pick<ShownProducts, 'allAgain'>, search: SearchTable): LanguageTable {
  const all = db.values(() => query.selectFrom('_mirror_language').select('language'));
  const add = db.change(({ language }: Bound<OfLanguage>) => query.insertInto('_mirror_language').values({ language }));
  const drop = db.change(({ language }: Bound<OfLanguage>) =>
    query.deleteFrom('_mirror_language').where('language', '=', language),
  );
  return {
    write: (languages) => {
      const [known, wanted] = [new Set(all.all()), new Set(languages)];
      for (const language of wanted.difference(known)) add.run({ language });
      for (const language of known.difference(wanted)) drop.run({ language });
      if (known.symmetricDifference(wanted).size === 0) return;
      shown.allAgain();
      search.languagesChanged();
    },
  };
}
