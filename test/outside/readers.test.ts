import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli } from '../fakes/built-program.ts';
import { needs } from '../fakes/needs.ts';
import { type RunningCli, startProgram } from '../fakes/run-cli.ts';
import { happens, imported, Stage } from './stage.ts';

/*
 * Programs as storefronts write them: they read a file with nothing but what their language brings, all statements in one
 * transaction, and once more where that fails. They print the rows as a line of JSON each time they are others, until a
 * file tells them to stop; without one they read once.
 */
const php = `<?php
[, $file, $statements, $stop] = $argv;
$db = new PDO("sqlite:$file", options: [PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY, PDO::ATTR_TIMEOUT => 2]);
$rows = function () use ($db, $statements) {
    $db->exec('BEGIN');
    try {
        return json_encode(array_map(fn ($sql) => $db->query($sql)->fetchAll(PDO::FETCH_NUM), json_decode($statements)));
    } finally {
        $db->exec('COMMIT');
    }
};
for ($last = ''; ; usleep(2000)) {
    $isOver = $stop === '-' || file_exists($stop);
    try { $line = $rows(); } catch (PDOException) { $line = $rows(); }
    if ($line !== $last) echo $line, "\\n";
    $last = $line;
    if ($isOver) break;
}`;

const python = `
import json, os, sqlite3, sys, time
file, statements, stop = sys.argv[1:]
db = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=2, isolation_level=None)
def rows():
    db.execute("BEGIN")
    try:
        return json.dumps([db.execute(sql).fetchall() for sql in json.loads(statements)])
    finally:
        db.execute("COMMIT")
last = ""
while True:
    over = stop == "-" or os.path.exists(stop)
    try:
        line = rows()
    except sqlite3.Error:
        line = rows()
    if line != last:
        print(line, flush=True)
    last = line
    if over:
        break
    time.sleep(0.002)
`;

const node = `
const { DatabaseSync } = require('node:sqlite');
const { existsSync } = require('node:fs');
const [file, statements, stop] = process.argv.slice(1);
const db = new DatabaseSync(file, { readOnly: true, timeout: 2000 });
function rows() {
  db.exec('BEGIN');
  try {
    return JSON.stringify(JSON.parse(statements).map((sql) => {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      return statement.all();
    }));
  } finally {
    db.exec('COMMIT');
  }
}
let last = '';
function read() {
  const isOver = stop === '-' || existsSync(stop);
  let line;
  try { line = rows(); } catch { line = rows(); }
  if (line !== last) console.log(line);
  last = line;
  if (!isOver) setTimeout(read, 2);
}
read();
`;

const languages = ['php', 'python', 'node'] as const;
type Language = (typeof languages)[number];
type Rows = readonly (readonly (string | number | null)[])[];

const stack = new AsyncDisposableStack();
let stage: Stage;
let ids: readonly number[];
let product_id: number;
beforeAll(async () => {
  stage = stack.use(await Stage.open({ service: ['--products', '3'] }));
  writeFileSync(join(stage.directory, 'read.php'), php);
  await stage.filled();
  ids = await stage.service.get<readonly number[]>('/sandbox/products');
  [product_id] = ids as [number];
});
afterAll(() => stack.disposeAsync());

/** Starts a program that reads these statements, once or until the file `stop` is there. */
function reading(language: Language, statements: readonly string[], stop = '-'): RunningCli {
  const args = [stage.mirror, JSON.stringify(statements), stop];
  const commands: Readonly<Record<Language, readonly string[]>> = {
    php: ['php', join(stage.directory, 'read.php')],
    python: ['python3', '-c', python],
    node: [process.execPath, '--disable-warning=ExperimentalWarning', '-e', node, '--'],
  };
  return startProgram([...commands[language], ...args]);
}

async function linesOf(program: RunningCli): Promise<Rows[][]> {
  const { code, stdout, stderr } = await program.ended;
  expect([code, stderr]).toEqual([0, '']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Rows[]);
}

async function retitled(title: string): Promise<void> {
  await stage.service.post(`/sandbox/products/${product_id}/edit`, { field: 'title', value: title });
  await stage.reread(...ids);
  await stage.rowsOnce<{ title: string }>('SELECT title FROM products', (rows) =>
    rows.some((row) => row.title === title),
  );
}

describe('storefronts in PHP, Python and Node', needs('php', 'python3', 'sqlite3'), () => {
  it('read the same rows of every view as the sqlite3 shell, without settings', async () => {
    const { views } = JSON.parse(readFileSync(join(dirname(cli), '../schema/contract.json'), 'utf8')) as {
      views: Record<string, { key: string[]; columns: object }>;
    };
    const statements = Object.entries(views).map(
      ([view, { key, columns }]) => `SELECT ${Object.keys(columns)} FROM ${view} ORDER BY ${key} DESC LIMIT 100`,
    );
    const shell = async () => {
      const printed = await Promise.all(
        statements.map((sql) => startProgram(['sqlite3', '-readonly', '-json', stage.mirror, sql]).ended),
      );
      return printed.map(({ stdout }) => (JSON.parse(stdout || '[]') as Row[]).map((row) => Object.values(row)));
    };
    // The shell prints fifteen digits. Two that look in different seconds may see another state of the clock.
    const text = (rows: unknown) =>
      JSON.stringify(rows, (_, value) => (typeof value === 'number' ? Number(value.toPrecision(12)) : value));
    const all = () =>
      Promise.all([shell(), ...languages.map(async (each) => (await linesOf(reading(each, statements)))[0])]);
    const [first = []] = await happens(all, (read) => new Set(read.map(text)).size === 1);
    expect(first.flat().length).toBeGreaterThan(300);
    expect(text([...first, [[1]]])).not.toBe(text(first));
  });

  it('never see half an update, nor fail twice, while everything is read again', async () => {
    const stop = join(stage.directory, 'stop');
    const changes = `SELECT count(*) FROM changes WHERE kind = 'product_changed' AND product_id = ${product_id}`;
    const statements = [`SELECT title FROM products WHERE product_id = ${product_id}`, changes];
    const [before = 0] = stage.rows<Record<string, number>>(changes).flatMap((row) => Object.values(row));
    const programs = languages.map((each) => reading(each, statements, stop));
    await Promise.all(programs.map((each) => each.said('\n')));
    const titles = Array.from({ length: 6 }, (_, index) => `State ${index + 1}`);
    for (const title of titles) await retitled(title);
    writeFileSync(stop, '');
    for (const program of programs) {
      const states = (await linesOf(program)).map(([title, count]) => [title?.[0]?.[0], count?.[0]?.[0]]);
      expect(states.slice(1)).toEqual(whole(states.slice(1), before));
      expect(states.length).toBeGreaterThan(2);
    }
    // A title before the change that announces it is seen (control).
    const half = [['State 2', before + 1]];
    expect(whole(half, before)).not.toEqual(half);
  });
});

type Row = Readonly<Record<string, string | number | null>>;

/** Returns states with the number of changes that belongs to each title. */
const whole = (states: readonly (readonly unknown[])[], before: number) =>
  states.map(([title]) => [title, before + Number(String(title).split(' ')[1])]);

interface Reader extends Disposable {
  product(product_id: number): { readonly title: string } | null;
  search(question: object): { readonly hits: readonly { readonly product_id: number }[] };
  exact(question: object): readonly { readonly product_id: number }[];
  transaction<Result>(work: () => Result): Result;
}

interface ReaderModule {
  openReader(path: string, options: { readonly engine: typeof Database }): Reader;
}

describe('search', () => {
  it('finds what a product says in the transaction in which it says it, and no other', async () => {
    const { openReader } = await imported<ReaderModule>('storefront/reader.js');
    using reader = openReader(stage.mirror, { engine: Database });
    const words = ['zephyranth', 'quillwort', 'brimstone'];
    const isFound = (text: string) =>
      [reader.search({ text }).hits, reader.exact({ text })].map((hits) =>
        hits.some((hit) => hit.product_id === product_id),
      );
    const states = new Set<string>();
    const look = () =>
      reader.transaction(() => {
        const title = reader.product(product_id)?.title ?? '';
        const found = words.map(isFound);
        states.add(title);
        expect(found).toEqual(words.map((word) => Array(2).fill(title.includes(word))));
        return title;
      });
    look();
    for (const word of words) {
      const title = `The ${word} house`;
      await stage.service.post(`/sandbox/products/${product_id}/edit`, { field: 'title', value: title });
      await stage.reread(product_id);
      await happens(look, (seen) => seen === title);
    }
    expect(states.size).toBe(4);
  });

  it('takes whatever people type, and answers', async () => {
    const { openReader } = await imported<ReaderModule>('storefront/reader.js');
    using reader = openReader(stage.mirror, { engine: Database });
    const typed = [
      '',
      ' ',
      '"',
      '""',
      "'",
      '*',
      'a*',
      '-',
      'NOT',
      'NEAR(',
      'a AND',
      '(',
      ')',
      '^',
      ':',
      'title:',
      '%',
      '\\',
      '\0',
      '𝒂',
      '🎡',
      'ß',
      '東京',
      'x'.repeat(3000),
      'a '.repeat(500),
      '{',
      "'; DROP TABLE product; --",
    ];
    for (const text of typed) {
      expect(Array.isArray(reader.search({ text }).hits), text).toBe(true);
      expect(Array.isArray(reader.exact({ text })), text).toBe(true);
    }
    // An expression that is no text is refused (control).
    expect(() => reader.search({ text: 7 })).toThrow(expect.objectContaining({ code: 'bad-argument' }));
  });
});
