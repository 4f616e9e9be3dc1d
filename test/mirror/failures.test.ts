import { expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import type { AttemptFailure } from '../../src/domain/push/attempt-failure.ts';
import { testMirror } from '../fakes/test-mirror.ts';

/** Before the migration that gives failures a kind. */
const migrations = 19;

const attempts: readonly (readonly [words: string | null, kind: AttemptFailure | null])[] = [
  ['refused: the service has no such subscription', 'missing'],
  ['refused: subscriptions: not for this key (forbidden)', 'refused'],
  ['throttled: the service asks for less (429)', 'throttled'],
  ['unreachable: no connection in time (connect-timeout)', 'unreachable'],
  ['self-test: no answer in time', 'self-test'],
  ['failed: the service answered 500 (status-500)', 'failed'],
  ['words of a version that nobody remembers', 'failed'],
  [null, null],
];

it('a failed attempt that an older version stored in words has its kind, and keeps its words', () => {
  const rows = attempts.map(
    ([words], index) =>
      `INSERT INTO subscription (subscription_id, declared_id, type, failures, failure)
       VALUES ('${index}', '${index}', 'products_i_sell', 1, ${words === null ? 'NULL' : `'${words}'`});`,
  );
  using test = testMirror({ migrations, rows: rows.join('\n') });
  const found = attempts.map((_, index) => test.mirror.subscriptions.find(String(index)));
  expect(found.map((row) => [row?.failure, row?.failure_kind])).toEqual(attempts);
});

it('an image that an older version found gone is shown again by a later read, and one that failed is not touched', () => {
  using test = testMirror({
    migrations,
    rows: `INSERT INTO product (product_id, sale_status, first_seen_at, read_at, images_verified_at) VALUES (7, 'enabled', 0, 0, 2000);
      INSERT INTO image_file (product_id, image_key, size, url, checked_at, due_at, failures, failure) VALUES
        (7, 'a', 'large', 'https://h/a', 1000, 9000, 1, 'gone'),
        (7, 'b', 'large', 'https://h/b', 1000, 9000, 1, 'status-500: the host answered 500'),
        (7, 'c', 'large', 'https://h/c', 1000, 9000, 0, NULL)`,
  });
  const kinds = () =>
    test.all<{ failure_kind: string | null }>('SELECT failure_kind FROM _image_file ORDER BY image_key');
  expect(kinds().map(({ failure_kind }) => failure_kind)).toEqual(['gone', 'failed', null]);
  test.mirror.transaction(() => test.mirror.imageFiles.confirm(instant(3000)));
  expect(kinds().map(({ failure_kind }) => failure_kind)).toEqual([null, 'failed', null]);
});
