/** A string, a quoted name, or the sign that a parameter begins with. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[?@]/g;

/**
 * Each parameter as an expression, `+?`. The SQLite of better-sqlite3 is built with STAT4: it plans a statement again each
 * time that a bare parameter of its conditions is bound, where that column has statistics or a partial index. That takes
 * ten times as long as to read a row by its key.
 */
export function plannedOnce(sql: string): string {
  return sql.replace(token, (found) => (found.length === 1 ? `+${found}` : found));
}
