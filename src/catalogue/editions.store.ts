import { type Bound, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { minorUnitExponent } from '../kernel/values/money.ts';
import { dropBy, query } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { splitListEdition } from '../schedule/record.rules.ts';
import type { SearchTable } from '../storefront/search/search.store.ts';
import { CheckoutFallbacks } from './checkout-information.store.ts';
import type { ShownProducts } from './product-texts.store.ts';

type OfLanguage = { readonly language: string };

/** The languages that are mirrored: the views have rows in each. */
export class LanguageTable extends Store<Writes> {
  readonly #all = this.db.values(() => query.selectFrom('languages').select('language'));
  readonly #add = adding(this.db);
  readonly #drop = this.db.change(dropBy('languages', ['language']));
  readonly #fallbacks = new CheckoutFallbacks(this.db);
  readonly #shown: ShownProducts;
  readonly #search: SearchTable;

  constructor(db: Writes, shown: ShownProducts, search: SearchTable) {
    super(db);
    this.#shown = shown;
    this.#search = search;
  }

  /** Makes them these. */
  write(languages: readonly string[]): void {
    const [known, wanted] = [new Set(this.#all()), new Set(languages)];
    for (const language of wanted.difference(known)) this.#add({ language });
    for (const language of known.difference(wanted)) this.#drop({ language });
    if (known.symmetricDifference(wanted).size === 0) return;
    this.#shown.allAgain();
    this.#fallbacks.makeAgain();
    this.#search.languagesChanged();
  }
}

/** Mirrors the primary language of the mirror's own row, and marks it. */
export function makePrimary(db: Writes, language: string): void {
  const mark = db.change((bound: Bound<OfLanguage>) =>
    query
      .updateTable('languages')
      .set((of) => ({ is_primary: sql`${of.ref('language')} = ${bound.language}` }))
      .where((of) => sql<boolean>`${of.ref('is_primary')} <> (${of.ref('language')} = ${bound.language})`),
  );
  const changes = mark({ language }) + adding(db)({ language });
  if (changes > 0) new CheckoutFallbacks(db).makeAgain();
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

/** The mirrored currencies: the primary one, and those whose product list is walked. */
export class CurrencyTable extends Store<Writes> {
  readonly #primary = this.db.value(() =>
    query.selectFrom('_mirror').select('currency').where('currency', 'is not', null),
  );
  readonly #editions = this.db.values(() =>
    query.selectFrom('_record').select('edition').where('resource', '=', 'products').where('product_id', '=', 0),
  );
  readonly #stored = this.db.rows(() => query.selectFrom('currencies').selectAll());
  readonly #put = this.db.change(({ currency, is_primary, exponent }: Bound<Tables['currencies']>) =>
    query
      .insertInto('currencies')
      .values({ currency, is_primary, exponent })
      .onConflict((taken) => taken.doUpdateSet({ is_primary })),
  );
  readonly #drop = this.db.change(dropBy('currencies', ['currency']));

  /** Makes them those whose lists are walked now. */
  followWalks(): void {
    const known = new Map(this.#stored().map(({ currency, is_primary }) => [currency, is_primary]));
    const first = this.#primary();
    const walked = this.#editions().map((edition) => splitListEdition(edition).currency);
    for (const currency of new Set([...(first === null ? [] : [first]), ...walked])) {
      const is_primary = currency === first ? 1 : 0;
      if (known.get(currency) !== is_primary)
        this.#put({ currency, is_primary, exponent: minorUnitExponent(currency) ?? 2 });
      known.delete(currency);
    }
    for (const currency of known.keys()) this.#drop({ currency });
  }
}
