import Database from 'better-sqlite3';

/** Every text that is prepared while `work` runs, by whatever connection: what it asks of SQLite, word for word. */
export function recordedStatements(work: () => void): string[] {
  const texts = new Set<string>();
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function (this: Database.Database, text: string) {
    texts.add(text);
    return prepare.call(this, text);
  } as typeof prepare;
  try {
    work();
  } finally {
    Database.prototype.prepare = prepare;
  }
  return [...texts];
}

/** Every text that runs while `work` does, of whatever connection and whenever it was prepared. */
export function runStatements(work: () => void): string[] {
  const texts = new Set<string>();
  const db = new Database(':memory:');
  const statement: Database.Statement = Object.getPrototypeOf(db.prepare('SELECT 1'));
  db.close();
  const { run, get, all } = statement;
  const noted = (method: (...values: unknown[]) => unknown) =>
    function (this: Database.Statement, ...values: unknown[]) {
      texts.add(this.source);
      return method.apply(this, values);
    };
  Object.assign(statement, { run: noted(run), get: noted(get), all: noted(all) });
  try {
    work();
  } finally {
    Object.assign(statement, { run, get, all });
  }
  return [...texts];
}
