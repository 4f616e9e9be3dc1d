import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { LoadedConfig } from '../config/load.ts';
import { PublishedRows } from '../copies/follow/published-rows.ts';
import { connectPostgres, type Postgres, quoted } from '../copies/postgres/connect.ts';
import { type DatabaseLook, lookAtDatabase } from '../copies/postgres/look.ts';
import { Publication } from '../copies/postgres/publication.ts';
import { grant, makeSchema, publishedIn, rolesOf } from '../copies/postgres/schema.ts';
import { verifyPublished } from '../copies/postgres/verify.ts';
import { holdFiles } from '../files/locks.ts';
import { newId, systemClock, systemEntropy } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { counted } from '../kernel/format.ts';
import { openMirrorForReading } from '../mirror/sql/files.ts';
import { configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';

const examples = {
  init: ['database init', '--config norland.yaml database init'],
  check: ['database check', 'database check && catalogued run'],
  verify: ['database verify', '--config norland.yaml database verify'],
  import: ['database import', 'database import --replace'],
  export: ['database export /mnt/elsewhere/mirror.db', 'database export kept.db && sqlite3 kept.db .tables'],
} as const;

export function databaseCommand(io: Io): Command {
  const command = new Command('database').description(
    'Manages the PostgreSQL that the mirror is published into (database.url_file, or CATALOGUED_DATABASE_URL). Exit 69: it cannot be reached; 77: it refuses this user; 78: it is the wrong database.',
  );
  const add = (name: keyof typeof examples, description: string) => {
    const lines = examples[name].map((line) => `  catalogued ${line}`);
    return command
      .command(name)
      .description(description)
      .addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
  };
  const withDatabase =
    (work: (postgres: Postgres, loaded: LoadedConfig) => Promise<void>) => async (_: unknown, subcommand: Command) => {
      const loaded = configurationFor(io, subcommand);
      const url = loaded.secrets.database_url?.reveal();
      if (url === undefined) throw noDatabase();
      io.ifStopped('the database rolled back the transaction under way');
      await using postgres = await connectPostgres({
        url,
        schema: loaded.config.database.schema,
        connections: 1,
        signal: io.signal,
      });
      await work(postgres, loaded);
    };
  const say = (text: string) => void io.stdout.write(`${text}\n`);

  add(
    'init',
    'Creates the schema, and the roles for readers and followers; prints what this user may not create.',
  ).action(
    withDatabase(async (postgres, { config }) => {
      await postgres.transaction((statements) => makeSchema(statements, config.database.schema));
      say(`The schema ${config.database.schema} stands in ${postgres.address}.`);
      for (const role of rolesOf(config.database.schema)) say(await makeRole(postgres, role));
      if ((await postgres.transaction(publishedIn)) !== null) {
        await postgres.transaction((statements) => grant(statements, config.database.schema));
        say('Both roles may read what is published.');
        return;
      }
      say('Next: start the daemon (catalogued run), which publishes the whole mirror first.');
    }),
  );
  add('check', 'Shows the database, the permissions of this user, and the published state.').action(
    withDatabase(async (postgres, { config }) => say(await checked(postgres, config.database.schema))),
  );
  add('verify', 'Compares the published rows with the mirror, one by one. Exit 1: rows differ.').action(
    withDatabase(async (postgres, { config }) => {
      const found = await verifyPublished(postgres, config.mirror.path);
      if (found === null) throw nothingYet();
      const differing = Object.entries(found.differ).map(
        ([table, rows]) => `${table}: ${counted(rows, 'row')} ${rows === 1 ? 'differs' : 'differ'}`,
      );
      say([...differing, `${counted(found.rows, 'row')} compared, ${found.unpublished} not published yet.`].join('\n'));
      if (differing.length > 0) io.answerIsNo();
    }),
  );
  add('import', 'Publishes the whole mirror now, as the daemon does when it first starts with a database.')
    .option('--replace', 'replace the mirror of another installation in this schema')
    .action(async ({ replace }: { replace?: boolean }, subcommand: Command) =>
      withDatabase(async (postgres, { config }) => {
        const { schema } = config.database;
        const mirror_path = config.mirror.path;
        // Refuses a file that is no mirror, or of another version.
        openMirrorForReading(mirror_path).close();
        // A daemon publishes by itself, and would not know of it.
        using _ = holdFiles(config);
        const newOrigin = () => newId(systemEntropy);
        using publication = new Publication({ postgres, schema, mirror_path, now: systemClock.now, newOrigin });
        const { rows } = await publication.publishAll({ replace: replace === true });
        say(
          `The mirror is published in the schema ${schema} of ${postgres.address}: ${counted(rows, 'row')} ${rows === 1 ? 'was' : 'were'} written.`,
        );
      })({}, subcommand),
    );
  add('export', 'Makes a mirror file from the published rows: to go back to a file alone, or to keep.')
    .argument('<file>', 'the new file; it must not exist')
    .action(async (file: string, options: unknown, subcommand: Command) =>
      withDatabase(async (postgres, { config }) => {
        const path = resolve(file);
        if (existsSync(path)) throw exists(path);
        await new PublishedRows(postgres, config.database.schema).copy(path);
        say(`${path} is a mirror as it was published last.`);
      })(options, subcommand),
    );
  return command;
}

/** Nobody logs in as it: users are made members. */
async function makeRole(postgres: Postgres, role: string): Promise<string> {
  const create = `CREATE ROLE "${role}" NOLOGIN`;
  const [known] = await postgres.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role]);
  if (known !== undefined) return `The role ${role} stands.`;
  try {
    await postgres.query(create);
    return `The role ${role} stands.`;
  } catch (error) {
    if (!(error instanceof CataloguedError) || error.exitCode !== exitCodes.permission) throw error;
    return `The role ${role} is missing, and this user may not make it. An administrator types: ${create};`;
  }
}

async function checked(postgres: Postgres, schema: string): Promise<string> {
  const look = await lookAtDatabase(postgres, schema);
  const { published } = look;
  const user = `"${look.user}"`;
  const lacking = [
    ...(look.may_write ? [] : [`GRANT CREATE ON SCHEMA ${schema} TO ${user}`]),
    ...(look.may_stage ? [] : [`GRANT TEMPORARY ON DATABASE ${quoted(look.database)} TO ${user}`]),
  ];
  return [
    `Database   ${postgres.address}, PostgreSQL ${look.server}`,
    `User       ${look.user}, ${lacking.length === 0 ? 'may publish' : `may NOT publish: ${lacking.join('; ')}`}`,
    `Roles      ${look.roles_missing.length === 0 ? 'both stand' : `missing: ${look.roles_missing.join(', ')} (catalogued database init)`}`,
    `Rights     ${rightsIn(look.rights_missing)}`,
    `Standby    ${look.synchronous_standby ? 'commits wait for another server' : 'no commit waits for another server: one that is lost takes its last commits along'}`,
    `Published  ${published === null ? 'nothing yet' : `state ${published.state} of ${new Date(published.published_at).toISOString()}, schema ${published.schema_version}`}`,
  ].join('\n');
}

function rightsIn(missing: DatabaseLook['rights_missing']): string {
  if (missing.length === 0) return 'the roles that stand may read what they are for';
  const of = [...Map.groupBy(missing, ({ role }) => role)];
  const said = of.map(([role, each]) => `${role} may not use ${each.map(({ on }) => on ?? 'the schema').join(', ')}`);
  return `${said.join('; ')} (catalogued database init)`;
}

function noDatabase(): CataloguedError {
  return new CataloguedError('no-database-configured', 'no database is configured', {
    exitCode: exitCodes.configuration,
    hint: 'set database.url_file to a file with mode 0600, or CATALOGUED_DATABASE_URL',
  });
}

function nothingYet(): CataloguedError {
  return new CataloguedError('nothing-published', 'nothing is published yet', {
    exitCode: exitCodes.configuration,
    hint: 'start the daemon, or catalogued database import',
  });
}

function exists(path: string): CataloguedError {
  return new CataloguedError('file-exists', `${path} stands already`, {
    exitCode: exitCodes.configuration,
    hint: 'name a file that does not',
  });
}
