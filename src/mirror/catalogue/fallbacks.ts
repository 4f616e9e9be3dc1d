import { type Bound, pick, type RawBuilder, sql, type Writes } from '../../sqlite/statements.ts';
import type { Tables } from '../sql/tables.ts';

/*
 * Tables with a row in each mirrored language: the language's own read where there is one, or else a copy of the primary
 * language's. `language_shown` is the language of the read, so that the same statement marks a read and its copies.
 */

const columnsOf = {
  checkout: {
    key: ['product_id', 'language'],
    others: ['has_timeslots', 'has_dynamic_pricing', 'must_know', 'good_to_know', 'checked_at', 'changed_at', 'stale_at', 'held_at', 'document'],
  },
} as const; // biome-ignore format: lists of columns

type Shown = keyof typeof columnsOf;
type Names<Table extends Shown> = keyof Tables[Table] & string;

interface Read {
  readonly product_id: number;
  readonly language: string;
}

/** Returns an upsert of a language's own read; it is shown where the language is mirrored and the product visible. */
export function upsertShown<
  Table extends Shown,
  const Key extends readonly Names<Table>[],
  const Columns extends readonly Names<Table>[],
>(
  table: Table,
  key: Key,
  columns: Columns,
): (
  bound: Bound<Pick<Tables[Table], Key[number] | Columns[number] | ('product_id' & Names<Table>)>>,
) => RawBuilder<unknown> {
  const names = [...key, ...columns];
  return (bound) => {
    const values = pick(bound as never, names as never) as Record<string, RawBuilder<unknown>>;
    return sql`
      insert into ${sql.table(table)} (${refs(names)}, shown)
      select ${sql.join(names.map((name) => sql`${values[name]}`))},
        p.withdrawn_at is null and ${values.language} in (select l.language from languages l)
      from _product p where p.product_id = ${values.product_id}
      on conflict do update set ${taken([...columns, 'shown'])}`;
  };
}

/** Returns what shows a primary language's read in the mirrored languages that have none of their own. */
export function showInOtherLanguages(db: Writes, table: Shown): (read: Read) => void {
  const copy = db.change(({ product_id, language }: Bound<Read>) =>
    copies(table, sql`r.product_id = ${product_id} and r.language = ${language}`),
  );
  return (read) => {
    copy.run(read);
  };
}

/** Copies of the primary language's reads in other mirrored languages. */
export function fallbackRows(db: Writes): { makeAgain(): void } {
  const tables = Object.keys(columnsOf) as Shown[];
  const changes = tables.flatMap((table) => [
    db.change(() => sql`delete from ${sql.table(table)} where language_shown <> language`),
    db.change(
      () => sql`update ${sql.table(table)} as r set shown = not shown
        where shown <> (language in (select l.language from languages l)
          and exists (select 1 from _product p where p.product_id = r.product_id and p.withdrawn_at is null))`,
    ),
    db.change(() => copies(table, sql`true`)),
  ]);
  return {
    makeAgain: () => {
      for (const change of changes) change.run();
    },
  };
}

function copies(table: Shown, which: RawBuilder<unknown>) {
  const { key, others } = columnsOf[table];
  const said = [...key.filter((name) => name !== 'language'), ...others];
  return sql`
    insert into ${sql.table(table)} (language, ${refs(said)}, language_shown, shown)
    select l.language, ${sql.join(said.map((name) => sql.ref(`r.${name}`)))}, r.language, p.withdrawn_at is null
    from _mirror m
    cross join ${sql.table(table)} r on r.language = m.language
    cross join _product p on p.product_id = r.product_id
    cross join languages l on l.language <> m.language
    where ${which}
    on conflict do update set ${taken([...others, 'language_shown', 'shown'])} where language_shown <> language`;
}

function refs(names: readonly string[]) {
  return sql.join(names.map((name) => sql.ref(name)));
}

function taken(names: readonly string[]) {
  return sql.join(names.map((name) => sql`${sql.ref(name)} = excluded.${sql.ref(name)}`));
}
