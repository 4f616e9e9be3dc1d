import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { waitForLocks } from '../../src/kernel/sqlite/database-file.ts';
import { document } from '../documents.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';

const page = document('docs/clients.md');
const jdbc = '/usr/share/java/sqlite-jdbc.jar';

/**
 * Each client by a command that ends with 0 where it is installed. Only what stands in `tools.ts` must be: a machine of this
 * project has no Java, GDAL, Ruby and Lua, and its run says so.
 */
const clients = {
  odbc: [
    'python3',
    '-c',
    'import ctypes; ctypes.CDLL("libodbc.so.2"); ctypes.CDLL("/usr/lib/x86_64-linux-gnu/odbc/libsqlite3odbc.so")',
  ],
  gdal: ['ogrinfo', '--version'],
  jdbc: ['sh', '-c', `java --version && test -f ${jdbc}`],
  php: ['php', '-r', 'exit(extension_loaded("pdo_sqlite") && extension_loaded("sqlite3") ? 0 : 1);'],
  ruby: ['ruby', '-e', 'require "sqlite3"'],
  lua: ['lua5.4', '-e', 'require("luasql.sqlite3")'],
} as const;

function isHere(client: keyof typeof clients): boolean {
  const [command, ...args] = clients[client];
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    process.stdout.write(`not tried: ${client} is not installed\n`);
    return false;
  }
}

const before = 'Tower before';
const read_at = Date.parse('2026-11-27T12:00:00Z');

function filled(): TestMirror {
  const made = testMirror();
  putProducts(made, [productOf(1, { title: before }), productOf(2)], { sent_at: read_at });
  return made;
}

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** Asks through ODBC as programs do: by the type that the driver names. */
const odbc = `import ctypes, sys
odbc = ctypes.CDLL("libodbc.so.2")
env, db, query, kind = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_short()
odbc.SQLAllocHandle(1, None, ctypes.byref(env))
odbc.SQLSetEnvAttr(env, 200, ctypes.c_void_p(3), 0)
odbc.SQLAllocHandle(2, env, ctypes.byref(db))
assert odbc.SQLDriverConnect(db, None, sys.argv[1].encode(), -3, None, 0, None, 0) in (0, 1)
odbc.SQLAllocHandle(3, db, ctypes.byref(query))
assert odbc.SQLExecDirect(query, sys.argv[2].encode(), -3) in (0, 1)
odbc.SQLDescribeCol(query, 1, None, 0, None, ctypes.byref(kind), None, None, None)
odbc.SQLFetch(query)
value, size = (ctypes.c_longlong(), -25) if kind.value == -5 else (ctypes.c_int(), -16)
odbc.SQLGetData(query, 1, size, ctypes.byref(value), 0, None)
print(value.value)`;

test('ODBC cuts instants to 32 bits, and does not with BigInt=1', () => {
  if (!isHere('odbc')) return;
  using mirror = filled();
  const right = 'BigInt=1';
  const ask = (...more: string[]) =>
    Number(
      run(
        'python3',
        '-c',
        odbc,
        [`Driver=SQLite3;Database=${mirror.path}`, ...more].join(';'),
        'SELECT checked_at FROM products',
      ),
    );
  expect(page).toContain(`\`${right}\``);
  expect(new Date(ask()).getFullYear()).toBe(1970);
  expect(ask(right)).toBe(read_at);
});

test('GDAL shows the largest 32-bit number for an instant, and the instant for the column + 0', () => {
  if (!isHere('gdal')) return;
  using mirror = filled();
  const right = 'checked_at + 0';
  const ask = (column: string) =>
    run('ogrinfo', '-ro', '-q', mirror.path, '-sql', `SELECT ${column} AS n FROM products LIMIT 1`);
  expect(page).toContain(`\`${right}\``);
  expect(ask('checked_at')).toMatch(/= 2147483647$/);
  expect(ask(right)).toMatch(new RegExp(`= ${read_at}$`));
});

test('JDBC compares every date with a number after setDate, and with the date after setString', () => {
  if (!isHere('jdbc')) return;
  using mirror = filled();
  const right = 'setString(1, "2027-06-01")';
  expect(page).toContain(`\`${right}\``);
  otherWriter(mirror.path).exec(
    "CREATE TABLE dated (date TEXT); INSERT INTO dated VALUES ('2026-11-27'), ('2027-06-02')",
  );
  const source = `SELECT count(*) FROM dated WHERE date >= ?`;
  const counted = java(
    mirror,
    `
    for (int way = 0; way < 2; way++) {
      PreparedStatement query = db.prepareStatement("${source}");
      if (way == 0) query.setDate(1, Date.valueOf("2027-06-01")); else query.${right};
      ResultSet rows = query.executeQuery();
      rows.next();
      System.out.println(rows.getInt(1));
    }`,
  );
  expect(run('java', '-cp', jdbc, ...counted).split('\n')).toEqual(['2', '1']);
});

/** Writes a program of Java, and returns the arguments that run it over a mirror. */
function java({ path }: TestMirror, body: string): string[] {
  const file = join(dirname(path), 'Program.java');
  writeFileSync(
    file,
    `import java.sql.*; import java.util.Scanner;
public class Program {
  public static void main(String[] args) throws Exception {
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:file:" + args[0] + "?mode=ro")) {${body}
    }
  }
}`,
  );
  return [file, path];
}

const byKey = 'SELECT title FROM products WHERE product_id = 1';
const another = 'SELECT title FROM products WHERE product_id + 0 = 1';

/**
 * Programs that read a row by its key and keep the statement; then, for each line of their input, print what another
 * statement finds; before the second line they let go of the row.
 */
const keeping: Record<
  string,
  { client: keyof typeof clients; right: string; command: (mirror: TestMirror, right: string) => string[] }
> = {
  'PHP, PDO': {
    client: 'php',
    right: '$query->closeCursor();',
    command: ({ path }, right) => [
      'php',
      '-r',
      `
      $db = new PDO("sqlite:${path}", options: [PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY]);
      $query = $db->prepare("${byKey}"); $query->execute(); echo $query->fetchColumn(), "\\n";
      fgets(STDIN); echo $db->query("${another}")->fetchColumn(), "\\n";
      ${right}
      fgets(STDIN); echo $db->query("${another}")->fetchColumn(), "\\n";`,
    ],
  },
  'PHP, SQLite3': {
    client: 'php',
    right: '$rows->finalize();',
    command: ({ path }, right) => [
      'php',
      '-r',
      `
      $db = new SQLite3("${path}", SQLITE3_OPEN_READONLY);
      $query = $db->prepare("${byKey}"); $rows = $query->execute(); echo $rows->fetchArray()[0], "\\n";
      fgets(STDIN); echo $db->querySingle("${another}"), "\\n";
      ${right}
      fgets(STDIN); echo $db->querySingle("${another}"), "\\n";`,
    ],
  },
  'Ruby, sqlite3': {
    client: 'ruby',
    right: 'query.reset!',
    command: ({ path }, right) => [
      'ruby',
      '-e',
      `require "sqlite3"; $stdout.sync = true
      db = SQLite3::Database.new("${path}", readonly: true)
      query = db.prepare("${byKey}"); puts query.step[0]
      $stdin.gets; puts db.get_first_value("${another}")
      ${right}
      $stdin.gets; puts db.get_first_value("${another}")`,
    ],
  },
  'Lua, LuaSQL': {
    client: 'lua',
    right: 'rows:close()',
    command: ({ path }, right) => [
      'lua5.4',
      '-e',
      `io.stdout:setvbuf("no")
      local db = require("luasql.sqlite3").sqlite3():connect("${path}")
      local function ask() local found = db:execute("${another}"); print((found:fetch())); found:close() end
      local rows = db:execute("${byKey}"); print((rows:fetch()))
      io.read(); ask()
      ${right}
      io.read(); ask()`,
    ],
  },
  'Java, JDBC': {
    client: 'jdbc',
    right: 'rows.close();',
    command: (mirror, right) => [
      'java',
      '-cp',
      jdbc,
      ...java(
        mirror,
        `
      Scanner input = new Scanner(System.in);
      PreparedStatement query = db.prepareStatement("${byKey}");
      ResultSet rows = query.executeQuery(); rows.next(); System.out.println(rows.getString(1));
      for (int line = 0; line < 2; line++) {
        input.nextLine();
        try (Statement other = db.createStatement(); ResultSet found = other.executeQuery("${another}")) {
          found.next(); System.out.println(found.getString(1));
        }
        ${right}
      }`,
      ),
    ],
  },
};

test.for(Object.entries(keeping))(
  '$0: a statement that is kept after its first row shows the past and keeps the log, until it lets go of the row',
  async ([name, { client, right, command }]) => {
    if (!isHere(client)) return;
    using mirror = filled();
    expect(page).toContain(`| ${name} | \`${right}\` |`);
    const [program = '', ...args] = command(mirror, right);
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => (await lines.next()).value as string;
    const writer = otherWriter(mirror.path);
    waitForLocks(writer, 0);
    const isLogKept = () => Number((writer.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[])[0]?.busy) === 1;
    expect(await next()).toBe(before);
    putProducts(mirror, [productOf(1, { title: 'Tower after' })], { sent_at: read_at + 1 });
    expect(isLogKept()).toBe(true);
    child.stdin.write('\n');
    expect(await next()).toBe(before);
    child.stdin.write('\n');
    expect(await next()).toBe('Tower after');
    await once(child, 'close');
    expect(isLogKept()).toBe(false);
    writer.close();
  },
);
