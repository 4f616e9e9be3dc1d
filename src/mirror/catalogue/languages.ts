import { type Bound, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import { checkoutFallbacks } from './checkout-information.ts';
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
  const all = db.values(() => query.selectFrom('languages').select('language'));
  const add = adding(db);
  const fallbacks = checkoutFallbacks(db);
  const drop = db.change(({ language }: Bound<OfLanguage>) =>
    query.deleteFrom('languages').where('language', '=', language),
  );
  return {
    write: (languages) => {
      const [known, wanted] = [new Set(all.all()), new Set(languages)];
      for (const language of wanted.difference(known)) add.run({ language });
      for (const language of known.difference(wanted)) drop.run({ language });
      if (known.symmetricDifference(wanted).size === 0) return;
      shown.allAgain();
      fallbacks.makeAgain();
      search.languagesChanged();
    },
  };
}

/** Mirrors the primary language of the mirror's own row, and marks it. */
export function makePrimary(db: Writes, language: string): void {
  const mark = db.change((bound: Bound<OfLanguage>) =>
    query
      .updateTable('languages')
      .set((of) => ({ is_primary: sql`${of.ref('language')} = ${bound.language}` }))
      .where((of) => sql<boolean>`${of.ref('is_primary')} <> (${of.ref('language')} = ${bound.language})`),
  );
  const changes = mark.run({ language }).changes + adding(db).run({ language }).changes;
  if (changes > 0) checkoutFallbacks(db).makeAgain();
}

function adding(db: Writes) {
  return db.change(({ language }: Bound<OfLanguage>) =>
    query
      .insertInto('languages')
      .orIgnore()
      .columns(['language', 'is_primary'])
      .expression(
        query
          .selectFrom('_mirror as m')
          .select([
            language.as('language'),
            (of) => sql<0 | 1>`${of.ref('m.language')} is ${language}`.as('is_primary'),
          ]),
      ),
  );
}
