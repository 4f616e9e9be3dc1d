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
