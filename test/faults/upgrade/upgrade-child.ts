import Database from 'better-sqlite3';
import { openForWriting } from '../../../src/kernel/sqlite/database-file.ts';
import { versionOf } from '../../fakes/next-version.ts';
import { filesIn } from './upgrade.ts';

/*
 * Opens both files as the next version does at its start, and is killed before the n-th statement of the change; prints how many
 * there were. `straight` is the control: it commits each statement by itself.
 */
const [directory = '', schema = '', kill_at, manner] = process.argv.slice(2);
let count = 0;

const run = Database.prototype.exec;

/** The next whole statement of a text: triggers have semicolons of their own. */
function nextStatement(db: Database.Database, text: string): string {
  for (let end = text.indexOf(';'); end >= 0; end = text.indexOf(';', end + 1))
    try {
      db.prepare(text.slice(0, end + 1));
      return text.slice(0, end + 1);
    } catch (error) {
      if (!/incomplete input|unrecognized token/.test(String(error))) return text.slice(0, end + 1);
    }
  return text;
}

Database.prototype.exec = function (this: Database.Database, text: string) {
  // A text in memory is only compared with.
  if (this.memory) return run.call(this, text);
  for (let left = text.replace(/--.*$/gm, ''); left.trim() !== ''; ) {
    const statement = nextStatement(this, left);
    left = left.slice(statement.length);
    if (manner === 'straight' && /^\s*(BEGIN IMMEDIATE|COMMIT)/.test(statement)) continue;
    count += 1;
    if (count === Number(kill_at)) process.kill(process.pid, 'SIGKILL');
    run.call(this, statement);
  }
  return this;
};

const next = versionOf(schema);
for (const [kind, path] of filesIn(directory)) openForWriting(path, next[kind]).close();
process.stdout.write(String(count));
