import { expect, it } from 'vitest';
import { plannedOnce } from '../../src/storefront/planned-once.ts';

it('a statement planned once has its parameters as expressions, and its strings and quoted names as they were', () => {
  expect(plannedOnce('SELECT a FROM t WHERE b = ? AND c = @c LIMIT @limit')).toBe(
    'SELECT a FROM t WHERE b = +? AND c = +@c LIMIT +@limit',
  );
  expect(plannedOnce(`SELECT 'who?', 'it''s @ noon', "a?" FROM t WHERE b = ?`)).toBe(
    `SELECT 'who?', 'it''s @ noon', "a?" FROM t WHERE b = +?`,
  );
});
