/** What schema/contract.json has of every version. */
export interface Contract {
  readonly contract_version: number;
  /** By view and column, what it means: `type, unit; null: why`. */
  readonly views: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly outputs: Readonly<Record<string, readonly string[]>>;
  readonly reader?: Readonly<Record<string, readonly string[]>>;
}

/** What somebody who relies on an older contract does not find in a newer one: gone, of another type, or null where it never was. */
export function takenAway(older: Contract, newer: Contract): string[] {
  const columns = Object.entries(older.views).flatMap(([view, meanings]) =>
    Object.entries(meanings).flatMap(([column, meaning]) => {
      const now = newer.views[view]?.[column];
      if (now === undefined) return [`${view}.${column} is gone`];
      if (typeOf(now) !== typeOf(meaning)) return [`${view}.${column} was ${typeOf(meaning)}, is ${typeOf(now)}`];
      return now.includes('null:') && !meaning.includes('null:') ? [`${view}.${column} was never null`] : [];
    }),
  );
  const lists = (['outputs', 'reader'] as const).flatMap((section) =>
    Object.entries(older[section] ?? {}).flatMap(([name, fields]) => {
      const now = newer[section]?.[name];
      if (now === undefined) return [`${section} ${name} is gone`];
      return fields.filter((field) => !now.includes(field)).map((field) => `${section} ${name}.${field} is gone`);
    }),
  );
  return [...columns, ...lists];
}

/** What its values are, of what a column means: integer, real or text. */
export function typeOf(meaning: string): string {
  return /^\w+/.exec(meaning)?.[0] ?? '';
}
