import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keepBackups } from '../../../src/files/backup/keep.ts';
import { notFailing } from '../../../src/files/failing.rules.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { Attempts } from '../../../src/says/status/outcomes.store.ts';
import { cli } from '../../fakes/built-program.ts';
import { needs } from '../../fakes/needs.ts';
import { runMark } from '../../fakes/no-child-outlives.ts';
import { testLog } from '../../fakes/test-log.ts';
import { type FilledUp, fillUp } from './full-disk.ts';
import { host } from './hosts.ts';

describe('backup', () => {
  it('makes a directory that is missing, with what is missing above it, for this user alone', async () => {
    using here = host();
    const away = join(here.path, 'not/yet/there');
    expect(await here.run('backup', away)).toMatchObject({ code: 0 });
    expect(statSync(away).mode & 0o777).toBe(0o700);
  });

  it('says what stands where its directory should be', async () => {
    using here = host();
    writeFileSync(here.backups, 'no directory');
    expect(await here.run('backup')).toMatchObject({ code: 77, stderr: expect.stringContaining(here.backups) });
    expect(readFileSync(here.backups, 'utf8')).toBe('no directory');
  });

  it.each([
    ['on a full disk', 'mount -t tmpfs -o size=100k full', 74, /needs up to .* free/],
    ['on a read-only disk', 'mount -t tmpfs -o ro full', 77, /read-only|EROFS|permission/i],
  ])('%s fails in one line, and leaves nothing', needs('pod', 'time'), (_, mount, code, says) => {
    using here = host();
    mkdirSync(here.backups);
    const script = `${mount} ${here.backups} && "$0" "$@"; echo "rc $?"; ls -A ${here.backups}`;
    const args = ['--mount', 'sh', '-c', script, process.execPath, cli, '--config', here.config, 'backup'];
    const { stdout, stderr } = spawnSync('unshare', args, {
      encoding: 'utf8',
      env: { ...process.env, [runMark]: process.env[runMark] },
    });
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(stdout).toBe(`rc ${code}\n`);
  });
});

describe('the schedule', () => {
  it('tells why no backup can be made, and forgets it when one can', async () => {
    using here = host();
    const { signal } = new AbortController();
    const ports = { clock: systemClock, log: testLog('silent').log, inbox: { path: join(here.path, 'inbox.db') } };
    const mirror = { path: here.mirror, filledAt: () => 1 };
    writeFileSync(here.backups, 'no directory');
    const backups = keepBackups(
      {
        ...ports,
        mirror,
        attempts: new Attempts(notFailing, () => undefined),
        drills: new Attempts(notFailing, () => undefined),
      },
      { directory: here.backups, at: null, zone: 'UTC', keep: 2 },
    );
    await backups.make(signal);
    expect(backups.failing()).toEqual({
      failure: expect.stringContaining(here.backups),
      failing_since: expect.any(Number),
    });
    rmSync(here.backups);
    await backups.make(signal);
    expect(backups.failing()).toEqual(notFailing);
  });
});

describe('a disk that fills up', needs('unshare', 'time'), () => {
  const moments = ['half', 'copied'] as const;

  it.each(moments)(
    'while a backup is made leaves the last one and nothing of the new one, and says so: %s',
    (moment) => {
      const { failure, since, left, last, again, mirror } = fillUp('honest', moment);
      expect(failure).toMatch(/filled up while a backup was made/);
      expect(since).not.toBeNull();
      expect(left).toEqual(['first']);
      expect(last).toBeNull();
      expect(mirror).toBe('as it was');
      expect(again).toEqual({ failure: null, failing_since: null, copies: 2 });
    },
  );

  it('would leave half a backup under its name if that were given at once (control)', () => {
    expect(fillUp('straight', 'half')).toMatchObject({ left: ['first', 'half'] } satisfies Partial<FilledUp>);
  });

  it('keeps a backup from being tried, and says nothing against it', () => {
    const { failure, drill, since } = fillUp('drill', 'half');
    expect(failure).toMatch(/on trial needs up to .* free/);
    expect([drill, since]).toEqual([null, null]);
  });
});
