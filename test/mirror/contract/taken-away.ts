interface Described {
  readonly type: string;
  /** What NULL means; absent: it never is. */
  readonly null?: string;
}

/** What schema/contract.json has of every version. */
export interface Contract {
  readonly contract_version: number;
  readonly views: Readonly<Record<string, { readonly columns: Readonly<Record<string, Described>> }>>;
  readonly outputs: Readonly<Record<string, readonly string[]>>;
  readonly reader?: Readonly<Record<string, readonly string[]>>;
}

/** What somebody who relies on an older contract does not find in a newer one: gone, of another type, or null where it never was. */
export function takenAway(older: Contract, newer: Contract): string[] {
  const columns = Object.entries(older.views).flatMap(([view, { columns: described }]) =>
    Object.entries(described).flatMap(([column, before]) => {
      const now = newer.views[view]?.columns[column];
      if (now === undefined) return [`${view}.${column} is gone`];
      if (now.type !== before.type) return [`${view}.${column} was ${before.type}, is ${now.type}`];
      return now.null !== undefined && before.null === undefined ? [`${view}.${column} was never null`] : [];
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
