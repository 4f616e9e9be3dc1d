import type { Postgres } from './connect.ts';
import { type MissingRight, missingRights, type Published, publishedIn, rolesOf } from './schema.ts';

/** Facts that the server tells about itself and its user. */
interface ServerFacts {
  readonly server: string;
  readonly user: string;
  readonly database: string;
  /** True if the user may create what is published. */
  readonly may_write: boolean;
  /** True if the user may create temporary tables, which a publication needs. */
  readonly may_stage: boolean;
  /** True if a commit waits until another server has it too. Without that, a lost server takes its last commits along. */
  readonly synchronous_standby: boolean;
}

/** Facts about the database that a person needs before and during publication. */
export interface DatabaseLook extends ServerFacts {
  /** Names of the two roles for others that do not exist. */
  readonly roles_missing: readonly string[];
  /** Rights on published tables and views that the two roles lack. */
  readonly rights_missing: readonly MissingRight[];
  readonly published: Published | null;
}

export function lookAtDatabase(postgres: Postgres, schema: string): Promise<DatabaseLook> {
  return postgres.transaction(async (statements) => {
    const [found] = await statements.query<ServerFacts>(
      `SELECT current_setting('server_version') AS server, current_user::text AS "user", current_database()::text AS database,
         CASE WHEN to_regnamespace($1) IS NULL THEN has_database_privilege(current_database(), 'CREATE')
           ELSE has_schema_privilege($1, 'CREATE') END AS may_write,
         has_database_privilege(current_database(), 'TEMPORARY') AS may_stage,
         current_setting('synchronous_standby_names') <> '' AS synchronous_standby`,
      [schema],
    );
    if (found === undefined) throw new Error('the database says nothing of itself');
    const roles = await statements.query<{ rolname: string }>('SELECT rolname FROM pg_roles');
    const known = new Set(roles.map(({ rolname }) => rolname));
    const roles_missing = rolesOf(schema).filter((role) => !known.has(role));
    const published = await publishedIn(statements);
    const rights_missing = published === null ? [] : await missingRights(statements, schema);
    return { ...found, roles_missing, rights_missing, published };
  });
}
