import { cpSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sqliteVersion } from '../../src/kernel/sqlite/database-file.ts';
import { openMirror } from '../../src/mirror/mirror.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { testMirrorOptions } from './test-mirror.ts';

/*
 * A daemon under another uid: `mirror-as.ts DIRECTORY UID GID` loads everything as root, becomes that user, opens the
 * mirror and writes. Ends with 0, or says why not.
 */
// As another user it may not: the next one starts in half the time.
flushCompileCache();
const [directory = '', uid, gid] = process.argv.slice(2);
// That user may be unable to enter this checkout: SQLite is loaded before, and what opens a mirror lies beside it.
sqliteVersion();
const schema = pathToFileURL(`${join(directory, 'schema')}/`);
cpSync(mirrorFile.migrations, schema, { recursive: true });
const triggers = ['catalogue', 'search'].map((name) => new URL(`triggers/${name}.sql`, schema));
Object.assign(mirrorFile, { migrations: schema, views: new URL('views.sql', schema), triggers });
process.setgroups?.([Number(gid)]);
process.setgid?.(Number(gid));
process.setuid?.(Number(uid));
using mirror = openMirror(testMirrorOptions(directory));
mirror.transaction(() => mirror.noteDelivery({ last_delivery_id: mirror.lastDelivery() + 1 }));
