import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tryBackup } from '../../../src/files/backup/drill.ts';
import { type Manifest, readManifest, sha256Of } from '../../../src/files/backup/manifest.ts';
import { backupsIn, manifestOf, mirrorCopy } from '../../../src/files/backups.ts';
import { type Host, host } from './hosts.ts';

function amend(backup: string, change: (manifest: Manifest) => object): void {
  writeFileSync(manifestOf(backup), JSON.stringify(change(readManifest(backup))));
}

/** Another program's database, with a manifest that knows its bytes. */
function swap(backup: string): void {
  const path = mirrorCopy(backup);
  rmSync(path);
  const db = new Database(path);
  db.exec('CREATE TABLE bookmark (url TEXT)');
  db.close();
  const copy = { bytes: statSync(path).size, sha256: sha256Of(path), schema_version: 1 };
  amend(backup, (manifest) => ({ ...manifest, mirror: copy }));
}

function spoil(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 0xff;
  writeFileSync(path, bytes);
}

describe('a backup', () => {
  const stack = new DisposableStack();
  let here: Host;
  let sound = '';
  afterAll(() => stack.dispose());
  beforeAll(async () => {
    here = stack.use(host());
    expect(await here.run('backup')).toMatchObject({ code: 0 });
    sound = backupsIn(here.backups)[0] ?? '';
  });

  function harmed(harm: (backup: string) => void): string {
    const backup = join(here.path, 'harmed', 'backup');
    rmSync(backup, { recursive: true, force: true });
    cpSync(sound, backup, { recursive: true });
    chmodSync(mirrorCopy(backup), 0o600);
    chmodSync(manifestOf(backup), 0o600);
    harm(backup);
    return backup;
  }

  it.each<[string, (backup: string) => void, RegExp]>([
    ['whose mirror was cut', (backup) => truncateSync(mirrorCopy(backup), 8192), /has 8192 bytes, and had \d+/],
    ['whose mirror is empty', (backup) => truncateSync(mirrorCopy(backup), 0), /has 0 bytes/],
    ['in which a byte has changed', (backup) => spoil(mirrorCopy(backup)), /its SHA-256 differs/],
    ['whose manifest was cut', (backup) => truncateSync(manifestOf(backup), 40), /is no manifest/],
    ['with the file of another program', swap, /is no mirror of catalogued/],
    ['that lost its mirror', (backup) => rmSync(mirrorCopy(backup)), /has no mirror\.db/],
    [
      'of a newer version',
      (backup) =>
        amend(backup, (each) => ({
          ...each,
          made_by: 'catalogued 9',
          mirror: { ...each.mirror, schema_version: 999 },
        })),
      /made by catalogued 9, which is newer/,
    ],
    [
      'of a layout to come',
      (backup) => amend(backup, (each) => ({ ...each, format: 2 })),
      /is no manifest that this version can read/,
    ],
  ])('%s is found on trial, and restore refuses it (65) and leaves everything as it was', async (_, harm, says) => {
    const backup = harmed(harm);
    const before = readFileSync(here.mirror);
    expect(tryBackup({ backup, now: 5 }).failure).toMatch(says);
    expect(await here.run('restore', backup)).toMatchObject({
      code: 65,
      stdout: '',
      stderr: expect.stringMatching(says),
    });
    expect(readFileSync(here.mirror).equals(before)).toBe(true);
    expect(readdirSync(join(here.path, 'mirror')).filter((name) => name.includes('quarantine'))).toEqual([]);
  });

  it('with rows that it did not have is found on trial', () => {
    const backup = harmed((each) =>
      amend(each, (manifest) => ({ ...manifest, rows: { ...manifest.rows, _product: 7 } })),
    );
    expect(tryBackup({ backup, now: 5 }).failure).toMatch(/has 0 rows in _product, and had 7/);
  });

  it('that nobody has harmed passes both (control)', async () => {
    const backup = harmed(() => undefined);
    expect(tryBackup({ backup, now: 5 }).failure).toBeNull();
    expect(await here.run('restore', backup, '--dry-run')).toMatchObject({ code: 0 });
  });
});
