import { expect, it } from 'vitest';
import { statusText } from '../../src/commands/status/status.ts';
import { known, now } from '../admin/known-status.ts';
import { document } from '../documents.ts';

it('status says why jobs do nothing, once for each reason, and how old the figures of a large mirror are', () => {
  const [lost] = known.jobs.map((job) => ({ ...job, failure: null, kept_from: 'the mirror is lost' }));
  if (lost === undefined) throw new Error('no job is known');
  const jobs = [
    lost,
    { ...lost, name: 'b' },
    { ...lost, name: 'c', kept_from: 'no key' },
    { ...lost, kept_from: null },
  ];
  const shown = { ...known, as_of: now - 8000, jobs, conditions: [], daemon_answers: true };
  const text = statusText(shown, now);
  expect(text).toMatch(/^Mirror .*; as of 8 s ago$/m);
  expect(text).toMatch(/^Jobs {6}2 wait: the mirror is lost\n {10}1 waits: no key\n\w/m);
  expect(document('docs/monitoring.md')).toContain(/^what .*\n.*$/m.exec(text)?.[0]);
  expect(statusText({ ...shown, as_of: now, jobs: [] }, now)).not.toMatch(/as of|^Jobs/m);
});
