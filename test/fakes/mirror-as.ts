import { flushCompileCache } from 'node:module';
import { openMirror } from '../../src/mirror/mirror.ts';
import { testMirrorOptions } from './test-mirror.ts';

/*
 * A daemon under another uid: `mirror-as.ts DIRECTORY UID GID` loads everything as root, becomes that user, opens the
 * mirror and writes. Ends with 0, or says why not.
 */
// As another user it may not: the next one starts in half the time.
flushCompileCache();
const [directory = '', uid, gid] = process.argv.slice(2);
process.setgroups?.([Number(gid)]);
process.setgid?.(Number(gid));
process.setuid?.(Number(uid));
using mirror = openMirror(testMirrorOptions(directory));
mirror.transaction(() => mirror.noteDelivery(mirror.lastDelivery() + 1));
