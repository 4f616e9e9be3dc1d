import type { Connection, Query } from '../connection.ts';
import type { Form } from './hits-sql.ts';

/** Each form's statement, prepared when it is first asked. */
export function statements<Row, Asked extends Form = Form>(
  connection: Connection,
  sql: (form: Asked) => string,
): (form: Asked) => Query<object, Row> {
  const known = new Map<string, Query<object, Row>>();
  return (form) => {
    const key = JSON.stringify(form);
    const query = known.get(key) ?? connection.query<object, Row>(sql(form));
    known.set(key, query);
    return query;
  };
}
