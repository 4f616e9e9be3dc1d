import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { type Bound, queryBuilder, readsOf, writesTo } from '../../src/kernel/sqlite/statements.ts';
import { preparedAtOnce } from '../fakes/prepared-when-used.ts';
import { recordedStatements } from '../fakes/recorded-statements.ts';

interface Tables {
  ticket: { ticket_id: number; holder: string | null; state: 'free' | 'sold' };
}

const query = queryBuilder<Tables>();

function database() {
  const db = new Database(':memory:');
  db.exec(`CREATE TABLE ticket (ticket_id INTEGER PRIMARY KEY, holder TEXT, state TEXT NOT NULL) STRICT;
    INSERT INTO ticket VALUES (1, NULL, 'free'), (2, 'Ada', 'sold')`);
  return db;
}

const byId = ({ ticket_id }: Bound<{ ticket_id: number }>) =>
  query.selectFrom('ticket').selectAll().where('ticket_id', '=', ticket_id);
const sell = ({ ticket_id, holder }: Bound<{ ticket_id: number; holder: string }>) =>
  query.updateTable('ticket').set({ holder, state: 'sold' }).where('ticket_id', '=', ticket_id);

describe('a statement', () => {
  it('binds each value as an expression, and has the constants of its query in its text', () => {
    using _ = preparedAtOnce();
    const db = database();
    const texts = recordedStatements(() => writesTo(db).change(sell));
    expect(texts).toEqual([`update "ticket" set "holder" = +?, "state" = 'sold' where "ticket_id" = +?`]);
  });

  it('does not take a value that is missing for NULL', () => {
    const statement = readsOf(database()).rows(byId);
    expect(() => statement({ ticket_id: undefined as never })).toThrow('no value for "ticket_id"');
  });

  it('that writes runs inside a transaction only', () => {
    const db = database();
    const writes = writesTo(db);
    const change = writes.change(sell);
    const returning = writes.returning(() => query.deleteFrom('ticket').returning('ticket_id'));
    expect(() => change({ ticket_id: 1, holder: 'Bo' })).toThrow('a write outside a transaction');
    expect(() => returning()).toThrow('a write outside a transaction');
    expect(writes.row(byId)({ ticket_id: 1 })?.state).toBe('free');
    writes.transaction(() => change({ ticket_id: 1, holder: 'Bo' }));
    expect(writes.row(byId)({ ticket_id: 1 })).toEqual({ ticket_id: 1, holder: 'Bo', state: 'sold' });
    expect(writes.transaction(() => returning())).toEqual([1, 2]);
  });

  it('that writes is no read, and the other way round', () => {
    using _ = preparedAtOnce();
    const db = database();
    expect(() => writesTo(db).rows(sell)).toThrow('it writes: update');
    expect(() => writesTo(db).change(byId)).toThrow('it writes nothing: select');
    expect(() => readsOf(db).rows(sell)({ ticket_id: 1, holder: 'Bo' })).toThrow('it writes: update');
  });

  it('is prepared at once where a daemon writes, and when it is first used where a command reads', () => {
    using _ = preparedAtOnce();
    const db = database();
    const wrong = () =>
      query
        .selectFrom('ticket')
        .select('ticket_id')
        .where('nothing' as 'holder', '=', 'x');
    expect(() => writesTo(db).rows(wrong)).toThrow('no such column');
    const statement = readsOf(db).rows(wrong);
    expect(() => statement()).toThrow('no such column');
  });
});
